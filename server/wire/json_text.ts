import type { Buffer } from "node:buffer";
import { Payload } from "./payload.ts";

/** What was seen of the members of an object. */
export interface Members {
  /** Starts and ends, in turns, of objects and arrays that are large. */
  readonly large: readonly number[];
  /** See {@linkcode Payload.mayBeError}. */
  readonly mayBeError: boolean;
}

/**
 * A JSON object as it came from the wire: checked to be JSON, but never made into values, so that
 * it goes on as it is.
 */
export class JsonText extends Payload {
  /** What it is part of. */
  readonly bytes: Buffer;
  /** Where it starts in there. */
  readonly start: number;
  /** Where it ends, exclusive. */
  readonly end: number;
  override readonly mayBeError: boolean;
  /** Starts and ends of the members, in turns, that {@linkcode JsonText.peek} leaves out. */
  readonly #large: readonly number[];
  #ownsBuffer: boolean;
  #outline: Record<string, unknown> | undefined;

  /**
   * @param ownsBuffer whether nobody else needs the rest of `bytes`
   */
  constructor(
    bytes: Buffer,
    start: number,
    end: number,
    { large, mayBeError }: Members,
    ownsBuffer: boolean,
  ) {
    super();
    this.mayBeError = mayBeError;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.#large = large;
    this.#ownsBuffer = ownsBuffer;
  }

  /** Always: the fast path takes nothing else. */
  override get isObject(): boolean {
    return true;
  }

  /** How many bytes it has. */
  get length(): number {
    return this.end - this.start;
  }

  /** Gives the bytes around it away, once: whether they may be written over. */
  claimPadding(before: number, after: number): boolean {
    const ownsBuffer = this.#ownsBuffer && this.start >= before &&
      this.end + after <= this.bytes.length;
    if (ownsBuffer) this.#ownsBuffer = false;
    return ownsBuffer;
  }

  /** Its members, but large objects and arrays are empty, except those that tell of failures. */
  override peek(): Record<string, unknown> {
    return this.#outline ??= JSON.parse(this.#outlineText());
  }

  /** All of it, as a value. */
  override parse(): unknown {
    return JSON.parse(this.text());
  }

  /** All of it, as text. */
  text(): string {
    return this.#slice(this.start, this.end);
  }

  #outlineText(): string {
    let text = "";
    let from = this.start;
    for (let i = 0; i < this.#large.length; i += 2) {
      // Up to the bracket that opens it, then on from the one that closes it.
      text += this.#slice(from, this.#large[i]! + 1);
      from = this.#large[i + 1]! - 1;
    }
    return text + this.#slice(from, this.end);
  }

  #slice(start: number, end: number): string {
    return this.bytes.toString("utf8", start, end);
  }
}
