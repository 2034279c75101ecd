import { hideSecrets } from "./hide_secrets.ts";

/** Characters that are shown. */
const SHOWN = 4_000;
/** Lines that are shown. */
const SHOWN_LINES = 10;
/** Characters that are kept: secrets are looked for before what is shown is cut out. */
const KEPT = 4 * SHOWN;

/** The end of a text that comes in chunks, for messages. */
export class TextTail {
  readonly #decoder = new TextDecoder();
  #text = "";

  /** Adds a chunk; what is older than the last few thousand characters is forgotten. */
  push(chunk: Uint8Array): void {
    const text = this.#text + this.#decoder.decode(chunk, { stream: true });
    this.#text = text.slice(-KEPT);
  }

  /** The last lines, without secrets; cut between words, since half of one is not recognised. */
  toString(): string {
    const text = hideSecrets(this.#text);
    const shown = text.length > SHOWN
      ? text.slice(-SHOWN).replace(/^\S*/, "")
      : text;
    return shown.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
  }
}
