/** How to turn bytes into text; the fields of a stdio configuration (spec §4). */
export interface TextOptions {
  /** A label of the Encoding Standard; Python's spelling (`latin_1`) is understood. */
  readonly encoding: string;
  /** What to do about bytes that are not in `encoding`. */
  readonly encoding_error_handler: "strict" | "ignore" | "replace";
}

/** One line of text, without its end. */
export interface Line {
  /** With U+FFFD in place of bytes that could not be read, unless those are ignored. */
  readonly text: string;
  /** False when `strict` was asked for and the bytes are not in the encoding. */
  readonly valid: boolean;
}

const NEWLINE = 0x0a;

/**
 * Cuts a stream of bytes into lines of text.
 *
 * Bytes wait in a list of chunks and are joined once per line, so that a line of any size costs
 * its length and not its square.
 */
export class LineDecoder {
  readonly #lenient: TextDecoder;
  readonly #strict: TextDecoder | undefined;
  readonly #ignore: boolean;
  #pieces: Uint8Array[] = [];

  /** @throws {TypeError} for an encoding that is unknown, or whose line ends are no single byte */
  constructor({ encoding, encoding_error_handler }: TextOptions) {
    this.#lenient = decoderOf(encoding);
    this.#strict = encoding_error_handler === "strict"
      ? new TextDecoder(this.#lenient.encoding, { fatal: true })
      : undefined;
    this.#ignore = encoding_error_handler === "ignore";
  }

  /** Whether text can be sent as it is; else everything beyond ASCII has to be escaped. */
  get isUtf8(): boolean {
    return this.#lenient.encoding === "utf-8";
  }

  /** Takes a chunk; returns the lines that it completes. */
  push(chunk: Uint8Array): Line[] {
    const lines: Line[] = [];
    let start = 0;
    let end: number;
    while ((end = chunk.indexOf(NEWLINE, start)) !== -1) {
      this.#pieces.push(chunk.subarray(start, end));
      lines.push(this.#take());
      start = end + 1;
    }
    if (start < chunk.length) this.#pieces.push(chunk.subarray(start));
    return lines;
  }

  #take(): Line {
    const bytes = join(this.#pieces);
    this.#pieces = [];
    if (this.#strict) {
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

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  if (pieces.length === 1 && only) return only;
  const bytes = new Uint8Array(pieces.reduce((sum, p) => sum + p.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
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
