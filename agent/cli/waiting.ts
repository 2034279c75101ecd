import process from "node:process";
import { shorten } from "../../cli/terminal_text.ts";

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const TICK_MS = 100;
/** Columns that are left free: a terminal writes `^C` there, which must not begin a new line. */
const RESERVED_COLUMNS = 3;

/**
 * Says on stderr what is waited for: on a terminal with the time that passed, until the work is
 * done, else in one line.
 *
 * The cursor stays as it is, so that nothing has to be restored however the program ends.
 */
export async function waitingFor<T>(
  what: string,
  work: Promise<T>,
): Promise<T> {
  const { stderr, env } = process;
  if (!stderr.isTTY || env.TERM === "dumb") {
    stderr.write(`${what}\n`);
    return await work;
  }
  const start = performance.now();
  let frame = 0;
  const draw = () => {
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const line = `${FRAMES[frame++ % FRAMES.length]} ${seconds} s  ${what}`;
    stderr.write(
      `\r\x1b[2K${shorten(line, (stderr.columns ?? 80) - RESERVED_COLUMNS)}`,
    );
  };
  draw();
  const timer = setInterval(draw, TICK_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    stderr.write("\r\x1b[2K");
  }
}
