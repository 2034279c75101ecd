import { setImmediate } from "node:timers";

/** Characters after which the buffer is written at once. */
const MAX_BUFFERED_CHARS = 65_536;

/** Collects the lines of one turn of the event loop and writes them at its end, in one write. */
export class LineBuffer {
  readonly #write: (text: string, lines: number) => void;
  #text = "";
  #lines = 0;

  /** @param write writes a text with the given number of lines */
  constructor(write: (text: string, lines: number) => void) {
    this.#write = write;
  }

  /** Adds a line, with its line break. */
  add(line: string): void {
    if (this.#text === "") setImmediate(() => this.flush());
    this.#text += line;
    this.#lines++;
    if (this.#text.length >= MAX_BUFFERED_CHARS) this.flush();
  }

  /** Writes the collected lines. */
  flush(): void {
    const text = this.#text;
    const lines = this.#lines;
    this.#text = "";
    this.#lines = 0;
    if (text !== "") this.#write(text, lines);
  }
}
