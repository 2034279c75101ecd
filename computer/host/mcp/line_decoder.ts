import { isUtf8 } from "node:buffer";
import {
  ContainerCounter,
  DEFAULT_MESSAGE_BYTES,
  MessageTooLargeError,
} from "./message_limit.ts";

/** How to decode text; the fields of a stdio configuration (spec §4). */
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
}

const NEWLINE = 0x0a;
/** Size of a line from which its lists and objects are counted. */
const COUNTED_FROM_BYTES = 1_000_000;

/**
 * Splits a stream of bytes into lines of text.
 *
 * An unfinished line is kept in one buffer that doubles when it is full, so that the cost of a line
 * is linear in its length, however small the chunks are.
 */
export class LineDecoder {
  readonly #lenient: TextDecoder;
  readonly #strict: TextDecoder | undefined;
  readonly #ignore: boolean;
  readonly #limit: number;
  #buffer: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #length = 0;

  /**
   * @param limit the maximum bytes of a line
   * @throws {TypeError} when the encoding is unknown, or its line ends are not a single byte
   */
  constructor(
    { encoding, encoding_error_handler }: TextOptions,
    limit: number = DEFAULT_MESSAGE_BYTES,
  ) {
    this.#lenient = decoderOf(encoding);
    this.#strict = encoding_error_handler === "strict"
      ? new TextDecoder(this.#lenient.encoding, { fatal: true })
      : undefined;
    this.#ignore = encoding_error_handler === "ignore";
    this.#limit = limit;
  }

  /** Whether text can be sent unescaped; otherwise non-ASCII characters must be escaped. */
  get isUtf8(): boolean {
    return this.#lenient.encoding === "utf-8";
  }

  /**
   * Decodes a chunk; returns the lines that it completes.
   *
   * @throws {MessageTooLargeError} when a line exceeds the limit; the decoder is unusable then
   */
  push(chunk: Uint8Array): Line[] {
    const lines: Line[] = [];
    let start = 0;
    let end: number;
    while ((end = chunk.indexOf(NEWLINE, start)) !== -1) {
      lines.push(this.#take(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return lines;
  }

  /** Decodes the line that ends with the given bytes. */
  #take(last: Uint8Array): Line {
    if (this.#length === 0) {
      if (last.length > this.#limit) throw this.#tooLarge();
      return this.#decode(last);
    }
    this.#keep(last);
    const line = this.#decode(this.#buffer.subarray(0, this.#length));
    this.#drop();
    return line;
  }

  #keep(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#limit) throw this.#tooLarge();
    if (length > this.#buffer.length) {
      const size = Math.min(Math.max(length, 2 * this.#length), this.#limit);
      this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(size));
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
  }

  #tooLarge(): MessageTooLargeError {
    this.#drop();
    return new MessageTooLargeError(this.#limit);
  }

  /** Frees the buffer at once, since a large one should not wait for the garbage collector. */
  #drop(): void {
    this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(0));
    this.#length = 0;
  }

  #decode(bytes: Uint8Array): Line {
    if (bytes.length > COUNTED_FROM_BYTES) new ContainerCounter().push(bytes);
    // Deno's strict decoder makes text of two bytes a character first: four times the memory.
    if (this.#strict && !(this.isUtf8 && isUtf8(bytes))) {
      try {
        return { text: this.#strict.decode(bytes), valid: true };
      } catch {
        return { text: this.#lenient.decode(bytes), valid: false };
      }
    }
    const text = this.#lenient.decode(bytes);
    return {
      text: this.#ignore ? text.replaceAll("\ufffd", "") : text,
      valid: true,
    };
  }
}

function decoderOf(label: string): TextDecoder {
  for (const spelling of [label, label.replaceAll("_", "-"), bare(label)]) {
    const decoder = tryDecoder(spelling);
    if (!decoder) continue;
    if (decoder.encoding.startsWith("utf-16")) break;
    return decoder;
  }
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

const bare = (label: string): string => label.replaceAll(/[-_]/g, "");
