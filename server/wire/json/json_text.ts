import type { Buffer } from "node:buffer";
import { Payload } from "../../shared/payload.ts";

/** The findings of a scan about the members of an object. */
export interface Members {
  /** Offsets of large objects and arrays: start, end, start, end, … */
  readonly large: readonly number[];
  /** See {@linkcode Payload.mayBeError}. */
  readonly mayBeError: boolean;
}

/** Bytes in a buffer that came from a client. */
export interface ByteRange {
  readonly bytes: Buffer;
  /** Their first byte in the buffer. */
  readonly start: number;
  /** Their end in the buffer, exclusive. */
  readonly end: number;
  /** Whether the rest of the buffer is unused. */
  readonly ownsBuffer: boolean;
  /** The text that all of the buffer encodes, if it came as text; ASCII before {@linkcode start}. */
  readonly source?: string | undefined;
}

/** A JSON object from the wire: validated, but not parsed, so that the same bytes can be forwarded. */
export class JsonText extends Payload {
  /** The buffer that contains it. */
  readonly bytes: Buffer;
  /** Its first byte in the buffer. */
  readonly start: number;
  /** Its end in the buffer, exclusive. */
  readonly end: number;
  override readonly mayBeError: boolean;
  /** Offsets of the members that {@linkcode JsonText.peek} leaves empty: start, end, … */
  readonly large: readonly number[];
  #ownsBuffer: boolean;
  /** The text that all of the buffer encodes, if it came as text; ASCII before {@linkcode start}. */
  readonly #source: string | undefined;
  #outline: Record<string, unknown> | undefined;

  constructor(
    { bytes, start, end, ownsBuffer, source }: ByteRange,
    { large, mayBeError }: Members,
  ) {
    super();
    this.mayBeError = mayBeError;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.large = large;
    this.#ownsBuffer = ownsBuffer;
    this.#source = source;
  }

  /** Always true: the fast path accepts only objects. */
  override get isObject(): boolean {
    return true;
  }

  /** Its length in bytes. */
  get length(): number {
    return this.end - this.start;
  }

  override get size(): number {
    return this.length;
  }

  /** Claims the bytes around it for overwriting; returns `true` at most once. */
  claimPadding(before: number, after: number): boolean {
    const ownsBuffer = this.#ownsBuffer && this.start >= before &&
      this.end + after <= this.bytes.length;
    if (ownsBuffer) this.#ownsBuffer = false;
    return ownsBuffer;
  }

  /** Returns its members; large objects and arrays are empty, except those that describe failures. */
  override peek(): Record<string, unknown> {
    return this.#outline ??= JSON.parse(this.#outlineText());
  }

  /** Returns the whole value. */
  override parse(): unknown {
    return JSON.parse(this.text());
  }

  /** Returns the whole text; a part of the source, if there is one, costs nothing. */
  text(): string {
    const source = this.#source;
    if (source === undefined || !isAscii(this.bytes, this.end)) {
      return this.#slice(this.start, this.end);
    }
    return source.slice(
      this.start,
      source.length - (this.bytes.length - this.end),
    );
  }

  #outlineText(): string {
    let text = "";
    let from = this.start;
    for (let i = 0; i < this.large.length; i += 2) {
      // Keep its opening and closing brackets, omit the content between them.
      text += this.#slice(from, this.large[i]! + 1);
      from = this.large[i + 1]! - 1;
    }
    return text + this.#slice(from, this.end);
  }

  #slice(start: number, end: number): string {
    return this.bytes.toString("utf8", start, end);
  }
}

/** Whether the rest of a buffer is ASCII; mostly that is a bracket. */
function isAscii(bytes: Buffer, start: number): boolean {
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at]! > 0x7f) return false;
  }
  return true;
}
