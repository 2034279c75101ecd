import type { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import process from "node:process";
import {
  brief,
  plainLines,
  shorten,
  textWidth,
} from "../../cli/terminal_text.ts";

/** The size of a terminal. */
export interface Size {
  /** Its width. */
  readonly columns: number;
  /** Its height. */
  readonly rows: number;
}

/** The terminal that a {@linkcode Screen} draws on. */
export type Canvas = Writable & Partial<Size>;

/** Synchronized output: terminals that support it draw everything in between at once. */
const BEGIN_UPDATE = "\x1b[?2026h";
const END_UPDATE = "\x1b[?2026l";
const CLEAR_BELOW = "\x1b[J";

/**
 * Keeps a block of lines at the end of a terminal's output; other output is printed above it.
 *
 * Redraws in one write, without flicker. Cursor and keyboard modes are not changed, so nothing has to
 * be restored however the program ends.
 */
export class Screen {
  readonly #canvas: Canvas;
  #drawn: readonly string[] = [];

  /** Creates an empty screen. */
  constructor(canvas: Canvas) {
    this.#canvas = canvas;
  }

  /** Maximum width of a line: on some terminals, writing to the last column wraps. */
  get columns(): number {
    return Math.max(1, widthOf(this.#canvas) - 1);
  }

  /** Maximum height of the block: the cursor is below it. */
  get rows(): number {
    return Math.max(1, (this.#canvas.rows || 24) - 1);
  }

  /** Replaces the block, and prints text above it. */
  draw(block: readonly string[], above: readonly string[] = []): void {
    const lines = [...above, ...block];
    // Cleared first: terminals still treat overwritten rows as wrapped when they are resized.
    this.#canvas.write(
      BEGIN_UPDATE + this.#toTop() + CLEAR_BELOW +
        lines.map((line) => `${line}\n`).join("") + END_UPDATE,
    );
    this.#drawn = block;
  }

  /** Leaves the block as it is; the next one is drawn below the output that followed it. */
  leave(): void {
    this.#drawn = [];
  }

  /** Returns the sequence that moves the cursor to the top of the block, whose lines may have wrapped. */
  #toTop(): string {
    const columns = widthOf(this.#canvas);
    const rows = this.#drawn.reduce(
      (sum, line) => {
        const width = textWidth(stripVTControlCharacters(line).trimEnd());
        return sum + Math.max(1, Math.ceil(width / columns));
      },
      0,
    );
    return rows === 0 ? "\r" : `\r\x1b[${rows}A`;
  }
}

/** The width of a terminal; those that do not say it, such as serial consoles, say 0. */
const widthOf = ({ columns }: Canvas): number => columns || 80;

/** The meaning of a text, which determines its look. */
export type Style = "good" | "bad" | "busy" | "dim" | "bold";

/** A part of a line; `isShown` if odd characters of its text are named already. */
export type Span = readonly [
  text: string,
  style?: Style | undefined,
  isShown?: boolean,
];

const STYLE_CODES: Readonly<Record<Style, number>> = {
  good: 32,
  bad: 31,
  busy: 33,
  dim: 2,
  bold: 1,
};

/** Styles a text, if colours are enabled. */
export const styled = (
  text: string,
  style: Style | undefined,
  colour: boolean,
): string =>
  colour && style && text !== ""
    ? `\x1b[${STYLE_CODES[style]}m${text}\x1b[0m`
    : text;

/** How lines are drawn. */
export interface Look {
  /** The maximum width. */
  readonly columns: number;
  /** Whether to use colours. */
  readonly colour: boolean;
}

/** Joins spans to a line, truncated to the width; control characters are escaped. */
export function paint(
  spans: readonly Span[],
  { columns, colour }: Look,
): string {
  let line = "";
  let room = columns;
  for (const [span, style, isShown = false] of spans) {
    if (room <= 0) break;
    const part = isShown ? shorten(span, room) : brief(span, room);
    room -= textWidth(part);
    line += styled(part, style, colour);
  }
  return line;
}

/** Shows the user what a Computer does. */
export interface View {
  /** Prints one or more lines. */
  note(text: string): void;
  /** Hands the terminal over to a question until it is answered. */
  asking<T>(question: () => Promise<T>): Promise<T>;
  /** Ends the view; printed notes stay visible. */
  close(): void;
}

/** The most characters of a note: an MCP server may give an error of any length. */
const MAX_NOTE = 65_536;

/** Returns as much of a note as is printed. */
export const startOfNote = (text: string): string =>
  text.length <= MAX_NOTE ? text : `${text.slice(0, MAX_NOTE)} …`;

/** Creates a view that prints lines, for files, pipes and journals. */
export const plainView = (print: (text: string) => unknown): View => ({
  note: (text) => print(plainLines(startOfNote(text))),
  asking: (question) => question(),
  close: () => {},
});

/** Changes within this time are drawn together. */
const REDRAW_DELAY_MS = 50;

/** What a live block shows now. */
interface LiveBlock {
  readonly lines: readonly string[];
  /** When it is drawn again without a change, in milliseconds: it shows a duration. */
  readonly againIn?: number | undefined;
}

/**
 * Keeps a block at the end of a terminal's output that is drawn again as it changes; it is removed
 * while a question is asked, and at the end.
 *
 * @param blockOf describes the block
 */
export function liveBlock(
  canvas: Canvas,
  blockOf: (screen: Screen) => LiveBlock,
) {
  const screen = new Screen(canvas);
  let above: string[] = [];
  let asked = 0;
  let closed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isDue = false;
  const show = (block: readonly string[]) => {
    clearTimeout(timer);
    isDue = false;
    screen.draw(block, above);
    above = [];
  };
  const draw = () => {
    const { lines, againIn } = blockOf(screen);
    show(lines);
    if (againIn !== undefined) timer = setTimeout(draw, againIn);
  };
  const changed = () => {
    if (isDue || asked > 0 || closed) return;
    isDue = true;
    clearTimeout(timer);
    timer = setTimeout(draw, REDRAW_DELAY_MS);
  };
  const resumed = () => {
    screen.leave(); // the shell wrote below the block after Ctrl-Z
    changed();
  };
  canvas.on("resize", changed);
  process.on("SIGCONT", resumed);
  draw();
  return {
    screen,
    /** Draws the block again, soon. */
    changed,
    /** Prints lines above the block. */
    print: (lines: string) => {
      above.push(...lines.split("\n"));
      if (closed) show([]);
      else changed();
    },
    /** Hands the terminal over to a question until it is answered. */
    asking: async <T>(question: () => Promise<T>): Promise<T> => {
      if (asked++ === 0) show([]);
      try {
        return await question();
      } finally {
        asked--;
        changed();
      }
    },
    /** Removes the block; printed lines stay visible. */
    close: () => {
      if (closed) return;
      show([]);
      closed = true;
      canvas.off("resize", changed);
      process.off("SIGCONT", resumed);
    },
  };
}
