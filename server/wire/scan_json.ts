/** A packet with more brackets open at once than this is refused, its own array included (spec §7). */
export const MAX_DEPTH = 64;

/** No JSON, or nested too deeply: whoever gave it to the scan has to ask another parser. */
export const NO_JSON = -1;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const MINUS = 0x2d;
const PLUS = 0x2b;
const DOT = 0x2e;
const ZERO = 0x30;
const ONE = 0x31;
const NINE = 0x39;
const UPPER_E = 0x45;
const LOWER_E = 0x65;
const LOWER_U = 0x75;

/** A string is read many bytes at a time from so many plain ones on; before that it does not pay. */
const LONG_RUN = 32;

/**
 * All bytes of strings since {@linkcode startScan}, one over the other: the high bits tell of
 * anything but ASCII. Shared, as is all state here: a scan runs to its end before the next one.
 */
let seen = 0;
let words: Int32Array | undefined;

/** What closes what is open, by depth. */
const closes = new Uint8Array(MAX_DEPTH + 1);

/** Begins a scan of other bytes. */
export function startScan(): void {
  seen = 0;
  words = undefined;
}

/** Whether every string since {@linkcode startScan} was of ASCII alone. */
export const isAscii = (): boolean => (seen & 0x80808080) === 0;

/** Where the whitespace at `at`, if any, ends. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  while (isSpace[bytes[at]!] === 1) at++;
  return at;
}

/**
 * Where the value that starts at `at` ends, or {@linkcode NO_JSON}: it accepts only what
 * `JSON.parse` accepts, and makes nothing of it. That text is UTF-8 is not looked at.
 *
 * What lies behind the end of a text is read too, when the text itself does not end the value:
 * the caller sees it in the result.
 *
 * @param at no whitespace
 * @param depth how many brackets are open around it
 */
export function skipValue(
  bytes: Uint8Array,
  at: number,
  depth: number,
): number {
  const outside = depth;
  while (true) {
    const c = bytes[at]!;
    if (c === QUOTE) at = skipString(bytes, at);
    else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      if (++depth > MAX_DEPTH) return NO_JSON;
      const close = c + 2; // of both kinds, in ASCII
      closes[depth] = close;
      at = skipSpace(bytes, at + 1);
      if (bytes[at] !== close) {
        if (close === CLOSE_OBJECT) at = skipKey(bytes, at);
        if (at === NO_JSON) return NO_JSON;
        continue;
      }
      depth--;
      at++;
    } else if (c === MINUS || c >= ZERO && c <= NINE) {
      at = skipNumber(bytes, at);
    } else at = skipWord(bytes, at);
    if (at === NO_JSON) return NO_JSON;
    // Behind a value: the ends of what it was the last of, or what comes next.
    while (true) {
      if (depth === outside) return at;
      at = skipSpace(bytes, at);
      const next = bytes[at++];
      if (next === COMMA) {
        at = skipSpace(bytes, at);
        if (closes[depth] === CLOSE_OBJECT) at = skipKey(bytes, at);
        if (at === NO_JSON) return NO_JSON;
        break;
      }
      if (next !== closes[depth]) return NO_JSON;
      depth--;
    }
  }
}

/** Where the value of the member whose key starts at `at` begins, or {@linkcode NO_JSON}. */
export function skipKey(bytes: Uint8Array, at: number): number {
  at = skipString(bytes, at);
  if (at === NO_JSON) return NO_JSON;
  at = skipSpace(bytes, at);
  return bytes[at] === COLON ? skipSpace(bytes, at + 1) : NO_JSON;
}

/** Where the string that starts at `at` ends, behind its quote, or {@linkcode NO_JSON}. */
export function skipString(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== QUOTE) return NO_JSON;
  let all = 0;
  let run = at + LONG_RUN;
  while (true) {
    let c: number;
    do all |= c = bytes[++at]!; while (isPlain[c] === 1 && at < run);
    if (c === QUOTE) {
      seen |= all;
      return at + 1;
    }
    if (isPlain[c] === 1) {
      at = skipRun(bytes, at + 1) - 1;
      run = at + LONG_RUN;
    } else if (c === BACKSLASH) {
      at = skipEscape(bytes, at);
      if (at === NO_JSON) return NO_JSON;
    } else return NO_JSON;
  }
}

/** Where the last byte of the escape that starts at `at` is, or {@linkcode NO_JSON}. */
function skipEscape(bytes: Uint8Array, at: number): number {
  const c = bytes[at + 1]!;
  if (isEscape[c] === 1) return at + 1;
  if (c !== LOWER_U) return NO_JSON;
  for (let i = at + 2; i < at + 6; i++) {
    if (isHex[bytes[i]!] !== 1) return NO_JSON;
  }
  return at + 5;
}

/** Runs over plain bytes of a string, eight at a time; stops at or before any other. */
function skipRun(bytes: Uint8Array, at: number): number {
  const { buffer, byteOffset } = bytes;
  words ??= new Int32Array(buffer, 0, buffer.byteLength >> 2);
  while ((byteOffset + at & 3) !== 0) {
    if (isPlain[bytes[at]!] !== 1) return at;
    seen |= bytes[at++]!;
  }
  const last = words.length - 1;
  let i = byteOffset + at >> 2;
  let all = 0;
  for (; i < last; i += 2) {
    const a = words[i]!;
    const b = words[i + 1]!;
    const aQuotes = a ^ 0x22222222;
    const bQuotes = b ^ 0x22222222;
    const aSlashes = a ^ 0x5c5c5c5c;
    const bSlashes = b ^ 0x5c5c5c5c;
    // The classical tests for a byte below 0x20, and for a byte of zero.
    const special = (a - 0x20202020) & ~a | (b - 0x20202020) & ~b |
      (aQuotes - 0x01010101) & ~aQuotes | (bQuotes - 0x01010101) & ~bQuotes |
      (aSlashes - 0x01010101) & ~aSlashes | (bSlashes - 0x01010101) & ~bSlashes;
    if ((special & 0x80808080) !== 0) break;
    all |= a | b;
  }
  seen |= all;
  return (i << 2) - byteOffset;
}

function skipNumber(bytes: Uint8Array, at: number): number {
  if (bytes[at] === MINUS) at++;
  let c = bytes[at]!;
  if (c === ZERO) c = bytes[++at]!;
  else {
    if (c < ONE || c > NINE) return NO_JSON;
    do c = bytes[++at]!; while (c >= ZERO && c <= NINE);
  }
  if (c === DOT) {
    at = skipDigits(bytes, at + 1);
    if (at === NO_JSON) return NO_JSON;
    c = bytes[at]!;
  }
  if (c !== LOWER_E && c !== UPPER_E) return at;
  const sign = bytes[at + 1];
  return skipDigits(bytes, at + (sign === PLUS || sign === MINUS ? 2 : 1));
}

/** At least one. */
function skipDigits(bytes: Uint8Array, at: number): number {
  const first = at;
  let c = bytes[at]!;
  while (c >= ZERO && c <= NINE) c = bytes[++at]!;
  return at === first ? NO_JSON : at;
}

function skipWord(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  const word = first === 0x74 ? TRUE : first === 0x66 ? FALSE : NULL;
  for (let i = 0; i < word.length; i++) {
    if (bytes[at + i] !== word[i]) return NO_JSON;
  }
  return at + word.length;
}

const codes = (text: string): number[] =>
  [...text].map((char) => char.charCodeAt(0));

const TRUE = codes("true");
const FALSE = codes("false");
const NULL = codes("null");

/** Which bytes are of a kind. */
const table = (isOf: (byte: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => isOf(byte) ? 1 : 0);

const oneOf = (text: string): Uint8Array =>
  table((byte) => text.includes(String.fromCharCode(byte)));

const isSpace = oneOf(" \t\n\r");
const isEscape = oneOf('"\\/bfnrt');
const isHex = oneOf("0123456789abcdefABCDEF");
const isPlain = table((byte) =>
  byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH
);
