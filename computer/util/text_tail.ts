import { hideSecrets } from "./hide_secrets.ts";

const SHOWN_CHARACTERS = 4_000;
const SHOWN_LINES = 10;
/** More than is shown, so that a secret at the cut is still recognised before the text is cut. */
const KEPT_CHARACTERS = 4 * SHOWN_CHARACTERS;

/** Keeps the end of a text that comes in chunks, for messages. */
export class TextTail {
  readonly #decoder = new TextDecoder();
  #text = "";

  /** Adds a chunk; only the last few thousand characters are kept. */
  push(chunk: Uint8Array): void {
    const text = this.#text + this.#decoder.decode(chunk, { stream: true });
    this.#text = text.slice(-KEPT_CHARACTERS);
  }

  /** Returns the last lines without secrets; cut between words, since half a secret is not recognised. */
  toString(): string {
    const text = hideSecrets(this.#text);
    const shown = text.length > SHOWN_CHARACTERS
      ? text.slice(-SHOWN_CHARACTERS).replace(/^\S*/, "")
      : text;
    return shown.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
  }
}
