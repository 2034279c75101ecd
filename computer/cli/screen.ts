import type { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import process from "node:process";
import { setImmediate } from "node:timers";
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
    return Math.max(1, canvasWidth(this.#canvas) - 1);
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
    const columns = canvasWidth(this.#canvas);
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

/** The width of a terminal; those that do not report it, such as serial consoles, have 0. */
const canvasWidth = ({ columns }: Canvas): number => columns || 80;

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

/**
 * Prints lines as {@linkcode plainView}, but those of one turn of the event loop at once: each write takes as
 * long as many lines.
 */
export class TurnView implements View {
  readonly #print: (text: string) => unknown;
  #lines: string[] = [];
  #isClosed = false;
  readonly #flush = (): void => {
    const lines = this.#lines;
    this.#lines = [];
    if (lines.length > 0) this.#print(lines.join("\n"));
  };

  /** @param print prints lines, without a delay */
  constructor(print: (text: string) => unknown) {
    this.#print = print;
    process.on("exit", this.#flush);
  }

  /** Prints lines, at the end of this turn; after the end at once, since the process may end in this turn. */
  note(text: string): void {
    if (this.#lines.length === 0 && !this.#isClosed) setImmediate(this.#flush);
    this.#lines.push(plainLines(startOfNote(text)));
    if (this.#isClosed) this.#flush();
  }

  /** Prints what is noted, and asks. */
  asking<T>(question: () => Promise<T>): Promise<T> {
    this.#flush();
    return question();
  }

  /** Prints what is noted. */
  close(): void {
    this.#isClosed = true;
    this.#flush();
    process.off("exit", this.#flush);
  }
}

/** Changes within this time are drawn together. */
const REDRAW_DELAY_MS = 50;

/** The content of a {@linkcode LiveBlock}. */
export interface BlockContent {
  /** Its lines. */
  readonly lines: readonly string[];
  /** When it is drawn again without a change, in milliseconds: it shows a duration. */
  readonly againIn?: number | undefined;
}

/**
 * Keeps a block at the end of a terminal's output that is drawn again as it changes; it is removed
 * while a question is asked, and at the end.
 */
export class LiveBlock {
  /** Where it is drawn. */
  readonly screen: Screen;
  readonly #canvas: Canvas;
  readonly #describe: (screen: Screen) => BlockContent;
  /** Lines to print above the block when it is drawn next. */
  #above: string[] = [];
  /** The number of open questions. */
  #questions = 0;
  #isClosed = false;
  #isDue = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #onResize = (): void => this.changed();
  readonly #onResume = (): void => {
    this.screen.leave(); // the shell wrote below the block after Ctrl-Z
    this.changed();
  };

  /**
   * Draws the block.
   *
   * @param describe returns its content
   */
  constructor(canvas: Canvas, describe: (screen: Screen) => BlockContent) {
    this.#canvas = canvas;
    this.#describe = describe;
    this.screen = new Screen(canvas);
    canvas.on("resize", this.#onResize);
    process.on("SIGCONT", this.#onResume);
    this.#draw();
  }

  /** Draws the block again, soon. */
  changed(): void {
    if (this.#isDue || this.#questions > 0 || this.#isClosed) return;
    this.#isDue = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#draw(), REDRAW_DELAY_MS);
  }

  /** Prints lines above the block. */
  print(lines: string): void {
    this.#above.push(...lines.split("\n"));
    if (this.#isClosed) this.#show([]);
    else this.changed();
  }

  /** Hands the terminal over to a question until it is answered. */
  async asking<T>(question: () => Promise<T>): Promise<T> {
    if (this.#questions++ === 0) this.#show([]);
    try {
      return await question();
    } finally {
      this.#questions--;
      this.changed();
    }
  }

  /** Removes the block; printed lines stay visible. */
  close(): void {
    if (this.#isClosed) return;
    this.#show([]);
    this.#isClosed = true;
    this.#canvas.off("resize", this.#onResize);
    process.off("SIGCONT", this.#onResume);
  }

  #draw(): void {
    const { lines, againIn } = this.#describe(this.screen);
    this.#show(lines);
    if (againIn === undefined) return;
    this.#timer = setTimeout(() => this.#draw(), againIn);
  }

  #show(block: readonly string[]): void {
    clearTimeout(this.#timer);
    this.#isDue = false;
    this.screen.draw(block, this.#above);
    this.#above = [];
  }
}
