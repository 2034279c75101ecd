import {
  plain,
  plainLines,
  shorten,
  textWidth,
} from "../../cli/terminal_text.ts";

/** The terminal that a {@linkcode Screen} draws on. */
export interface Canvas {
  /** Writes text and control sequences. */
  write(text: string): unknown;
  /** Its width. */
  readonly columns?: number;
  /** Its height. */
  readonly rows?: number;
  /** Adds a listener for changes of the size. */
  on(event: "resize", listener: () => void): unknown;
  /** Removes a listener. */
  off(event: "resize", listener: () => void): unknown;
}

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
  #drawn: readonly ScreenLine[] = [];

  /** Creates an empty screen. */
  constructor(canvas: Canvas) {
    this.#canvas = canvas;
  }

  /** Maximum width of a line: on some terminals, writing to the last column wraps. */
  get columns(): number {
    return Math.max(1, (this.#canvas.columns ?? 80) - 1);
  }

  /** Maximum height of the block: the cursor is below it. */
  get rows(): number {
    return Math.max(1, (this.#canvas.rows ?? 24) - 1);
  }

  /** Replaces the block, and prints text above it. */
  draw(block: readonly ScreenLine[], above = ""): void {
    const lines = [
      ...above === "" ? [] : above.split("\n"),
      ...block.map(({ coloured }) => coloured),
    ];
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
    const columns = this.#canvas.columns ?? 80;
    const rows = this.#drawn.reduce(
      (sum, { text }) =>
        sum + Math.max(1, Math.ceil(textWidth(text) / columns)),
      0,
    );
    return rows === 0 ? "\r" : `\r\x1b[${rows}A`;
  }
}

/** The meaning of a text, which determines its look. */
export type Style = "good" | "bad" | "busy" | "dim" | "bold";

/** A part of a line. */
export type Span = readonly [text: string, style?: Style];

/** A line, with and without colours. */
export interface ScreenLine {
  /** Plain text, at most as wide as the terminal. */
  readonly text: string;
  /** The text with colour codes. */
  readonly coloured: string;
}

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
): ScreenLine {
  let text = "";
  let coloured = "";
  for (const [span, style] of spans) {
    const rest = columns - textWidth(text);
    if (rest <= 0) break;
    const part = shorten(plain(span), rest);
    text += part;
    coloured += styled(part, style, colour);
  }
  return { text: text.trimEnd(), coloured };
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

/** Creates a view that prints lines, for files, pipes and journals. */
export const plainView = (print: (text: string) => void): View => ({
  note: (text) => print(plainLines(text)),
  asking: (question) => question(),
  close: () => {},
});
