import process from "node:process";
import { plain, shorten } from "../../cli/terminal_text.ts";
import { paint } from "./live/paint.ts";
import { Screen } from "./live/screen.ts";

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const TICK_MS = 100;
/** Servers that are waited for and shown one by one. */
const MOST = 5;

/** Where `check` says what it finds out, as it finds it out. */
export interface CheckView {
  /** Whether what settles late is shown late, or where the file has it: for files and other programs. */
  readonly keepsOrder: boolean;
  /** Shows lines that stay. */
  print(lines: readonly string[]): void;
  /** Says what is still waited for; nothing once there is nothing. */
  waitFor(names: readonly string[]): void;
  /** Leaves the terminal to a question until that is answered. */
  asking<T>(question: () => Promise<T>): Promise<T>;
  /** Ends it; what was printed stays. */
  close(): void;
}

/** Prints lines, and shows nothing that moves. */
export const plainCheckView = (
  print: (line: string) => void,
): CheckView => ({
  keepsOrder: true,
  print: (lines) => lines.forEach(print),
  waitFor: () => {},
  asking: (question) => question(),
  close: () => {},
});

/** Prints lines above a block that shows what is waited for, with the time that passed. */
export function liveCheckView(): CheckView {
  const screen = new Screen(process.stdout);
  const colour = !process.env.NO_COLOR;
  const start = performance.now();
  let waiting: readonly string[] = [];
  let asked = 0;
  let frame = 0;
  let above: string[] = [];
  const draw = () => {
    if (asked > 0) return;
    const text = above.join("\n");
    above = [];
    screen.draw(
      waiting.length === 0
        ? []
        : block(waiting, frame, start).map((line) =>
          paint([[line, "busy"]], { columns: screen.columns, colour })
        ),
      text,
    );
  };
  const timer = setInterval(() => {
    frame++;
    if (waiting.length > 0) draw();
  }, TICK_MS);
  return {
    keepsOrder: false,
    print: (lines) => {
      above.push(...lines);
      draw();
    },
    waitFor: (names) => {
      waiting = names;
      draw();
    },
    asking: async (question) => {
      if (asked === 0) screen.draw([]);
      asked++;
      try {
        return await question();
      } finally {
        asked--;
        draw();
      }
    },
    close: () => {
      clearInterval(timer);
      asked = 0;
      waiting = [];
      draw();
    },
  };
}

function block(
  waiting: readonly string[],
  frame: number,
  start: number,
): string[] {
  const sign = FRAMES[frame % FRAMES.length];
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const names = waiting.slice(0, MOST).map((name) => shorten(plain(name), 40));
  const more = waiting.length - names.length;
  return [
    ...names.map((name) => `${sign} ${name}  starting, ${seconds} s`),
    ...more > 0 ? [`  … and ${more} more`] : [],
  ];
}
