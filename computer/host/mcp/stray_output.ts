/** How many lines are kept, and characters of each: more than an error quotes. */
const MAX_LINES = 20;
const MAX_LINE = 1_000;
/** Characters that an error quotes. */
const MAX_QUOTED = 200;

/**
 * The last output of a child process that is no message: often it is the answer that
 * is missing elsewhere.
 */
export class StrayOutput {
  readonly #lines: string[] = [];
  #count = 0;

  /** The number of lines so far. */
  get count(): number {
    return this.#count;
  }

  /** Keeps a line. */
  push(line: string): void {
    this.#count++;
    this.#lines.push(line.slice(0, MAX_LINE));
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }

  /**
   * Quotes the lines after the first n, to end a sentence about the child; empty if there are none.
   *
   * @param hide hides secrets in a text, before it is cut
   */
  quote(hide: (text: string) => string, first = 0): string {
    const dropped = this.#count - this.#lines.length;
    const lines = this.#lines.slice(Math.max(0, first - dropped));
    if (lines.length === 0) return "";
    const all = hide(lines.join("\n")).trim();
    const shown = all.length > MAX_QUOTED
      ? `${all.slice(0, MAX_QUOTED)}…`
      : all;
    return `; on its output, which is for messages of MCP alone, it printed ${
      JSON.stringify(shown)
    }`;
  }
}
