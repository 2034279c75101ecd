/**
 * Splits a stream of bytes into lines of text.
 *
 * Memory is bounded by the limit of a line: an unfinished line is kept in one buffer that doubles
 * when it is full, so that the cost of a line is linear in its length, however small the chunks are.
 * A line above the limit is skipped up to its end; only its first and last bytes are kept, by which
 * its receiver may find out what it was (`envelopeOf` in `json/envelope.ts`).
 *
 * @module
 */
import { isUtf8 } from "node:buffer";
import { joined } from "./bytes.ts";
import { MIN_WRITTEN_BYTES } from "./json/written.ts";

/** How to decode text; the fields of a stdio configuration (protocol §4). */
export interface TextOptions {
  /** A label of the Encoding Standard, or Python's spelling of it (`latin_1`). */
  readonly encoding: string;
  /** How to handle bytes that are invalid in `encoding`. */
  readonly encoding_error_handler: "strict" | "ignore" | "replace";
}

/** One line of text, without its line end. */
export interface Line {
  /** The text, with U+FFFD for invalid bytes unless those are ignored. */
  readonly text: string;
  /** False when `strict` is set and bytes are invalid in the encoding. */
  readonly valid: boolean;
  /** Its bytes, where it is long, and they are UTF-8. */
  readonly bytes?: Uint8Array;
}

/** The ends of a line above the limit, each of at most {@linkcode END_BYTES}. */
export interface LongLine {
  /** Its beginning. */
  readonly head: string;
  /** Its end, or its last bytes so far. */
  readonly tail: string;
  /** How long it is, or was until now. */
  readonly bytes: number;
  /** False for a line so long that no end can be expected; the rest of it is skipped, too. */
  readonly ended: boolean;
}

/** Bytes of a long line that are kept at either end. */
export const END_BYTES = 4_096;

/** Bytes of a buffer that is kept for the next line: to allocate one for each keeps the garbage collector busy. */
const KEPT_BYTES = 2 ** 18;

/** Bytes after which a line counts as endless. */
const ENDLESS_BYTES = 2 ** 30;

const NEWLINE = 0x0a;

/** That of `Buffer` takes twice as long. */
const { indexOf } = Uint8Array.prototype;

/** Decodes bytes, chunk by chunk. */
export class LineDecoder {
  /** Whether text can be sent unescaped; otherwise non-ASCII characters must be escaped. */
  readonly isUtf8: boolean;
  readonly #lenient: TextDecoder;
  readonly #strict: TextDecoder | undefined;
  readonly #ignore: boolean;
  readonly #limit: number;
  #buffer: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #length = 0;
  /** What is kept of the line that is being skipped. */
  #skipped: SkippedLine | undefined;

  /**
   * @param limit the maximum bytes of a line
   * @throws {TypeError} when the encoding is unknown, or its line ends are not a single byte
   */
  constructor(
    { encoding, encoding_error_handler }: TextOptions,
    limit: number,
  ) {
    this.#lenient = decoderOf(encoding);
    this.isUtf8 = this.#lenient.encoding === "utf-8";
    this.#strict = encoding_error_handler === "strict"
      ? new TextDecoder(this.#lenient.encoding, { fatal: true })
      : undefined;
    this.#ignore = encoding_error_handler === "ignore";
    this.#limit = limit;
  }

  /** Whether the line that is being read exceeds the limit. */
  get isSkipping(): boolean {
    return this.#skipped !== undefined;
  }

  /** Decodes a chunk; returns the lines that it completes, and the ends of one that never ends. */
  push(chunk: Uint8Array): (Line | LongLine)[] {
    const lines: (Line | LongLine)[] = [];
    let start = 0;
    let end: number;
    while ((end = indexOf.call(chunk, NEWLINE, start)) !== -1) {
      const line = this.#finish(chunk.subarray(start, end));
      if (line) lines.push(line);
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    const endless = this.#skipped?.becomesEndless();
    if (endless) lines.push(this.#ends(endless, false));
    return lines;
  }

  /** Decodes the line that ends with the given bytes; an endless one was returned before. */
  #finish(last: Uint8Array): Line | LongLine | undefined {
    if (this.#length === 0 && !this.#skipped && last.length <= this.#limit) {
      return this.#decode(last);
    }
    this.#keep(last);
    const skipped = this.#skipped;
    if (skipped) {
      this.#skipped = undefined;
      return skipped.isEndless ? undefined : this.#ends(skipped, true);
    }
    const line = this.#decode(this.#buffer.subarray(0, this.#length));
    this.#drop();
    return line;
  }

  #keep(bytes: Uint8Array): void {
    if (this.#skipped) return this.#skipped.add(bytes);
    const length = this.#length + bytes.length;
    if (length > this.#limit) {
      this.#skipped = new SkippedLine();
      this.#skipped.add(this.#buffer.subarray(0, this.#length));
      this.#skipped.add(bytes);
      return this.#drop();
    }
    if (length > this.#buffer.length) {
      const size = Math.min(Math.max(length, 2 * this.#length), this.#limit);
      this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(size));
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
  }

  /** Frees a large buffer at once, since it should not wait for the garbage collector. */
  #drop(): void {
    if (this.#buffer.length > KEPT_BYTES) {
      this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(0));
    }
    this.#length = 0;
  }

  #ends({ head, tail, bytes }: SkippedLine, ended: boolean): LongLine {
    return {
      head: this.#lenient.decode(head),
      tail: this.#lenient.decode(tail),
      bytes,
      ended,
    };
  }

  #decode(bytes: Uint8Array): Line {
    // Deno's strict decoder makes text of two bytes a character first: four times the memory.
    if (this.#strict && !(this.isUtf8 && isUtf8(bytes))) {
      try {
        return { text: this.#strict.decode(bytes), valid: true };
      } catch {
        return { text: this.#lenient.decode(bytes), valid: false };
      }
    }
    const text = this.#lenient.decode(bytes);
    if (this.#strict && bytes.length >= MIN_WRITTEN_BYTES) {
      return { text, valid: true, bytes: new Uint8Array(bytes) };
    }
    return {
      text: this.#ignore ? text.replaceAll("\ufffd", "") : text,
      valid: true,
    };
  }
}

/** What is kept of a line while it is skipped. */
class SkippedLine {
  head: Uint8Array = new Uint8Array(0);
  tail: Uint8Array = new Uint8Array(0);
  bytes = 0;
  isEndless = false;

  add(bytes: Uint8Array): void {
    this.bytes += bytes.length;
    if (this.head.length < END_BYTES) {
      this.head = joined([this.head, bytes]).slice(0, END_BYTES);
    }
    // A copy: `slice()` of a Buffer is none.
    this.tail = bytes.length >= END_BYTES
      ? new Uint8Array(bytes.subarray(-END_BYTES))
      : joined([this.tail, bytes]).slice(-END_BYTES);
  }

  /** Returns this, once, when it has become too long to end. */
  becomesEndless(): SkippedLine | undefined {
    if (this.isEndless || this.bytes <= ENDLESS_BYTES) return undefined;
    this.isEndless = true;
    return this;
  }
}

function decoderOf(label: string): TextDecoder {
  const bare = label.replaceAll(/[-_]/g, "");
  const decoder = [label, label.replaceAll("_", "-"), bare].map(tryDecoder)
    .find((found) => found !== undefined);
  if (decoder && !decoder.encoding.startsWith("utf-16")) return decoder;
  throw new TypeError(
    `Cannot read text in encoding ${
      JSON.stringify(label)
    }: expected a name such as "utf-8", "gbk" or "latin1"`,
  );
}

function tryDecoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}
