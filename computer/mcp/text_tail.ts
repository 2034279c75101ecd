/** How many characters of a child's diagnostics are kept. */
const KEPT = 4_000;
/** How many lines of them an error message shows. */
const SHOWN = 10;

/** Keeps the end of a stream of text, such as a child's stderr. */
export class TextTail {
  readonly #decoder = new TextDecoder();
  #text = "";

  /** Adds a chunk; what is older than the last few thousand characters is forgotten. */
  push(chunk: Uint8Array): void {
    const text = this.#text + this.#decoder.decode(chunk, { stream: true });
    // Cut between words: half a secret would not be recognised as one.
    this.#text = text.length > KEPT
      ? text.slice(-KEPT).replace(/^\S*/, "")
      : text;
  }

  /** The last lines. */
  toString(): string {
    return this.#text.trimEnd().split("\n").slice(-SHOWN).join("\n");
  }
}
