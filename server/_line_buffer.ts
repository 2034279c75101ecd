import { setImmediate } from "node:timers";

/** So many characters are written at once, however busy the process is. */
const FULL = 65_536;

/** Collects the lines of one turn of the event loop, and writes them at its end: one write for all. */
export class LineBuffer {
  readonly #write: (text: string) => void;
  #text = "";

  /** @param write synchronous, so that what it was given is safe */
  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  /** Adds a line, with its end. */
  add(line: string): void {
    if (this.#text === "") setImmediate(() => this.flush());
    this.#text += line;
    if (this.#text.length >= FULL) this.flush();
  }

  /** Writes what there is. */
  flush(): void {
    const text = this.#text;
    this.#text = "";
    if (text !== "") this.#write(text);
  }
}
