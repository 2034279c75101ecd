import { textWidth } from "../../../cli/terminal_text.ts";
import type { ScreenLine } from "./paint.ts";

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
