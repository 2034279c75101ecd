/**
 * What the scanner of JSON promises, and the scanner in JavaScript; that in WebAssembly is compiled from
 * `assembly/`.
 *
 * @module
 */
import { Buffer, isUtf8 } from "node:buffer";

/** Characters of JSON, as bytes and as UTF-16 units. */
export const Char = {
  QUOTE: 0x22,
  COMMA: 0x2c,
  COLON: 0x3a,
  OPEN_ARRAY: 0x5b,
  BACKSLASH: 0x5c,
  CLOSE_ARRAY: 0x5d,
  OPEN_OBJECT: 0x7b,
  CLOSE_OBJECT: 0x7d,
} as const;

/** Limit of brackets open at once in a packet, its own array included (protocol §7). */
export const MAX_DEPTH = 64;

/** Result for text that is invalid or nested too deeply: the caller falls back to another parser. */
export const NO_JSON = -1;

/**
 * Scans JSON without parsing it; offsets are those of {@linkcode load}. It accepts what `JSON.parse`
 * accepts, except for nesting beyond {@linkcode MAX_DEPTH}.
 */
export interface Scanner {
  readonly memory: {
    readonly buffer: ArrayBufferLike;
    /** Adds pages of 64 KiB, with another buffer. */
    grow(pages: number): unknown;
  };
  /** Returns where the whitespace at `at`, if any, ends. */
  skipSpace(at: number): number;
  /** Returns where the string at `at` ends, after its quote, or {@linkcode NO_JSON}. */
  skipString(at: number): number;
  /** Returns where the value of the member with the key at `at` begins, or {@linkcode NO_JSON}. */
  skipKey(at: number): number;
  /** Returns where the value at `at`, inside `depth` brackets, ends, or {@linkcode NO_JSON}. */
  skipValue(at: number, depth: number): number;
  /**
   * The values that were passed since {@linkcode Scanner.resetValues}, and the names of members: the
   * commas, colons and opening brackets outside of strings.
   */
  readonly values: { readonly value: number };
  /** Begins that count again. */
  resetValues(): void;
  /** Returns 1 when the text is valid UTF-8. */
  isUtf8(at: number, end: number): number;
  /** Removes a client's mask: four bytes, little-endian. May change up to 15 bytes after `end`. */
  unmask(at: number, end: number, mask: number): void;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const LOWER_E = 0x65;
const LOWER_U = 0x75;

const WORDS = ["true", "false", "null"].map((word) => Buffer.from(word));

const PAGE = 65_536;

/**
 * The scanner in JavaScript, for platforms that allow no WebAssembly that is made at run time.
 *
 * The caller has put NULs behind the text: they are invalid anywhere in JSON, so every function stops
 * there.
 */
export class ScriptScanner implements Scanner {
  #bytes: Uint8Array<ArrayBuffer> = new Uint8Array(PAGE);
  /** Which of the open brackets are those of objects. */
  readonly #kinds: boolean[] = [];

  readonly memory: Scanner["memory"] = ((scanner: ScriptScanner) => ({
    get buffer() {
      return scanner.#bytes.buffer;
    },
    grow: (pages) => scanner.#grow(pages),
  }))(this);

  readonly values = { value: 0 };

  resetValues(): void {
    this.values.value = 0;
  }

  skipSpace(at: number): number {
    const bytes = this.#bytes;
    let c = bytes[at];
    while (c === SPACE || c === LINE_FEED || c === RETURN || c === TAB) {
      c = bytes[++at];
    }
    return at;
  }

  skipString(at: number): number {
    const bytes = this.#bytes;
    if (bytes[at] !== Char.QUOTE) return NO_JSON;
    for (at++;; at++) {
      let c = bytes[at]!;
      while (c > Char.QUOTE && c !== Char.BACKSLASH) c = bytes[++at]!;
      if (c === Char.QUOTE) return at + 1;
      if (c < SPACE) return NO_JSON;
      if (c !== Char.BACKSLASH) continue;
      const escaped = bytes[++at]!;
      if (escaped === LOWER_U) {
        for (let digits = 0; digits < 4; digits++) {
          if (!isHex(bytes[++at]!)) return NO_JSON;
        }
      } else if (!isEscape[escaped]) return NO_JSON;
    }
  }

  skipKey(at: number): number {
    const end = this.skipString(at);
    if (end === NO_JSON) return NO_JSON;
    const colon = this.skipSpace(end);
    this.values.value++;
    return this.#bytes[colon] === Char.COLON
      ? this.skipSpace(colon + 1)
      : NO_JSON;
  }

  skipValue(at: number, depth: number): number {
    const bytes = this.#bytes;
    const kinds = this.#kinds;
    const outside = depth;
    while (true) {
      const c = bytes[at]!;
      if (c === Char.OPEN_OBJECT || c === Char.OPEN_ARRAY) {
        if (++depth > MAX_DEPTH) return NO_JSON;
        this.values.value++;
        const isObject = kinds[depth] = c === Char.OPEN_OBJECT;
        at = this.skipSpace(at + 1);
        if (bytes[at] !== c + 2) { // its closing bracket, for both kinds
          if (isObject) at = this.skipKey(at);
          if (at === NO_JSON) return NO_JSON;
          continue;
        }
        depth--;
        at++;
      } else at = c === Char.QUOTE ? this.skipString(at) : this.#skipScalar(at);
      if (at === NO_JSON) return NO_JSON;
      // After a value: the ends of its containers, or the next value.
      while (true) {
        if (depth === outside) return at;
        at = this.skipSpace(at);
        const next = bytes[at++];
        const inObject = kinds[depth];
        if (next === Char.COMMA) {
          this.values.value++;
          at = this.skipSpace(at);
          if (inObject) at = this.skipKey(at);
          if (at === NO_JSON) return NO_JSON;
          break;
        }
        if (next !== (inObject ? Char.CLOSE_OBJECT : Char.CLOSE_ARRAY)) {
          return NO_JSON;
        }
        depth--;
      }
    }
  }

  isUtf8(at: number, end: number): number {
    return Number(isUtf8(this.#bytes.subarray(at, end)));
  }

  unmask(at: number, end: number, mask: number): void {
    const bytes = this.#bytes;
    for (let shift = 0; at < end; shift = shift + 8 & 31) {
      bytes[at++]! ^= mask >> shift;
    }
  }

  /** Skips a number, `true`, `false` or `null`. */
  #skipScalar(at: number): number {
    const c = this.#bytes[at]!;
    if (c === MINUS || isDigit(c)) return this.#skipNumber(at);
    const word = WORDS.find((word) =>
      word.every((char, i) => this.#bytes[at + i] === char)
    );
    return word ? at + word.length : NO_JSON;
  }

  #skipNumber(at: number): number {
    const bytes = this.#bytes;
    if (bytes[at] === MINUS) at++;
    at = bytes[at] === ZERO ? at + 1 : this.#skipDigits(at);
    if (at !== NO_JSON && bytes[at] === DOT) at = this.#skipDigits(at + 1);
    if (at === NO_JSON || (bytes[at]! | 0x20) !== LOWER_E) return at;
    const sign = bytes[at + 1];
    return this.#skipDigits(at + (sign === PLUS || sign === MINUS ? 2 : 1));
  }

  /** Skips at least one digit. */
  #skipDigits(at: number): number {
    const first = at;
    while (isDigit(this.#bytes[at]!)) at++;
    return at === first ? NO_JSON : at;
  }

  #grow(pages: number): void {
    const grown = new Uint8Array(this.#bytes.length + pages * PAGE);
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

/** Marks what may follow a backslash, besides `u`: a search would cost more than all else. */
const isEscape = new Uint8Array(256);
for (const c of Buffer.from('"\\/bfnrt')) isEscape[c] = 1;

const isDigit = (c: number): boolean => c >= ZERO && c < ZERO + 10;

const isHex = (c: number): boolean => {
  const lower = c | 0x20;
  return isDigit(c) || lower >= 0x61 && lower <= 0x66;
};
