import process from "node:process";
import { shorten } from "../../cli/terminal_text.ts";

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const TICK_MS = 100;
/** Columns left free for `^C`, which must not wrap to a new line. */
const RESERVED_COLUMNS = 3;

/**
 * Prints to stderr what is in progress: on a terminal with the elapsed time, until the work is done,
 * else as one line.
 *
 * Does not change the cursor, so that nothing has to be restored when the program ends.
 *
 * @param what the current text; asked again for each frame
 */
export async function waitingFor<T>(
  what: () => string,
  work: Promise<T>,
): Promise<T> {
  const { stderr, env } = process;
  if (!stderr.isTTY || env.TERM === "dumb") {
    stderr.write(`${what()}\n`);
    return await work;
  }
  const start = performance.now();
  let frame = 0;
  const draw = () => {
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const line = `${FRAMES[frame++ % FRAMES.length]} ${seconds} s  ${what()}`;
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
