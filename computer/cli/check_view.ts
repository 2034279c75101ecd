import process from "node:process";
import { plain, shorten } from "../../cli/terminal_text.ts";
import { paint } from "./live/paint.ts";
import { Screen } from "./live/screen.ts";

const FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
const TICK_MS = 100;
/** Maximum number of pending servers to show. */
const MAX_SHOWN_SERVERS = 5;

/** Shows the progress and the findings of `check`. */
export interface CheckView {
  /** Whether servers are shown in the order of the file instead of as they settle. */
  readonly keepsOrder: boolean;
  /** Prints lines. */
  print(lines: readonly string[]): void;
  /** Shows the pending servers; nothing when there are none. */
  waitFor(names: readonly string[]): void;
  /** Pauses the view while a question is asked. */
  asking<T>(question: () => Promise<T>): Promise<T>;
  /** Closes the view; printed lines stay. */
  close(): void;
}

/** Creates a view that only prints lines. */
export const plainCheckView = (
  print: (line: string) => void,
): CheckView => ({
  keepsOrder: true,
  print: (lines) => lines.forEach(print),
  waitFor: () => {},
  asking: (question) => question(),
  close: () => {},
});

/** Creates a view that prints lines above a live block of the pending servers. */
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
  const names = waiting.slice(0, MAX_SHOWN_SERVERS).map((name) =>
    shorten(plain(name), 40)
  );
  const more = waiting.length - names.length;
  return [
    ...names.map((name) => `${sign} ${name}  starting, ${seconds} s`),
    ...more > 0 ? [`  … and ${more} more`] : [],
  ];
}
