import { setImmediate } from "node:timers";

/** So many characters are written at once, however busy the process is. */
const MAX_BUFFERED_CHARS = 65_536;

/** Collects the lines of one turn of the event loop, and writes them at its end: one write for all. */
export class LineBuffer {
  readonly #write: (text: string, lines: number) => void;
  #text = "";
  #lines = 0;

  /** @param write gets how many lines a text has */
  constructor(write: (text: string, lines: number) => void) {
    this.#write = write;
  }

  /** Adds a line, with its end. */
  add(line: string): void {
    if (this.#text === "") setImmediate(() => this.flush());
    this.#text += line;
    this.#lines++;
    if (this.#text.length >= MAX_BUFFERED_CHARS) this.flush();
  }

  /** Writes what there is. */
  flush(): void {
    const text = this.#text;
    const lines = this.#lines;
    this.#text = "";
    this.#lines = 0;
    if (text !== "") this.#write(text, lines);
  }
}
