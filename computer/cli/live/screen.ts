import { textWidth } from "../../../cli/terminal_text.ts";
import type { ScreenLine } from "./paint.ts";

/** What a {@linkcode Screen} draws on; a terminal. */
export interface Canvas {
  /** Takes text and control sequences. */
  write(text: string): unknown;
  /** Its width. */
  readonly columns?: number;
  /** Its height. */
  readonly rows?: number;
  /** Tells when its size changes. */
  on(event: "resize", listener: () => void): unknown;
  /** Takes a listener away. */
  off(event: "resize", listener: () => void): unknown;
}

/** Terminals that know it show all that is between at once; the others ignore it. */
const BEGIN = "\x1b[?2026h";
const END = "\x1b[?2026l";
const CLEAR_BELOW = "\x1b[J";

/**
 * A block of lines at the end of a terminal's output, with all that was printed above it.
 *
 * Drawn over itself in one write: nothing flickers. Neither cursor nor keyboard are
 * changed, so that nothing has to be restored, whatever ends the program.
 */
export class Screen {
  readonly #canvas: Canvas;
  #drawn: readonly ScreenLine[] = [];

  /** Makes a screen on which nothing is drawn yet. */
  constructor(canvas: Canvas) {
    this.#canvas = canvas;
  }

  /** How wide a line may be: the last column would begin a new line on some terminals. */
  get columns(): number {
    return Math.max(1, (this.#canvas.columns ?? 80) - 1);
  }

  /** How many lines a block may have: the cursor is below it. */
  get rows(): number {
    return Math.max(1, (this.#canvas.rows ?? 24) - 1);
  }

  /** Replaces the block, and puts text above it. */
  draw(block: readonly ScreenLine[], above = ""): void {
    const lines = [
      ...above === "" ? [] : above.split("\n"),
      ...block.map(({ coloured }) => coloured),
    ];
    // Cleared first: a row that is only written over still counts as wrapped when windows change.
    this.#canvas.write(
      BEGIN + this.#toTop() + CLEAR_BELOW +
        lines.map((line) => `${line}\n`).join("") + END,
    );
    this.#drawn = block;
  }

  /** Leaves what is drawn where it is, and draws below whatever came after it. */
  leave(): void {
    this.#drawn = [];
  }

  /** Where the cursor goes to draw over the block; a window that became narrower wrapped its lines. */
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
