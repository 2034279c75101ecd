/** Returned instead of a position for text that is invalid or nested too deeply. */
export const NO_JSON: i32 = -1;

/** Maximum nesting: the kinds of the open brackets are the bits of a 64-bit number. */
export const MAX_DEPTH: i32 = 64;

export const SPACE: u32 = 0x20;
export const QUOTE: u32 = 0x22;
export const PLUS: u32 = 0x2b;
export const COMMA: u32 = 0x2c;
export const MINUS: u32 = 0x2d;
export const DOT: u32 = 0x2e;
export const ZERO: u32 = 0x30;
export const COLON: u32 = 0x3a;
export const OPEN_ARRAY: u32 = 0x5b;
export const BACKSLASH: u32 = 0x5c;
export const CLOSE_ARRAY: u32 = 0x5d;
export const LOWER_A: u32 = 0x61;
export const LOWER_E: u32 = 0x65;
export const LOWER_U: u32 = 0x75;
export const OPEN_OBJECT: u32 = 0x7b;
export const CLOSE_OBJECT: u32 = 0x7d;

/** The commas, colons and opening brackets that were passed outside of strings, since the caller last set it. */
export let values: i32 = 0;

/** Adds to the count of values. */
@inline
export function count(more: i32): void {
  values += more;
}

@inline
export function byte(at: i32): u32 {
  return load<u8>(at);
}

@inline
export function isDigit(c: u32): bool {
  return c - ZERO < 10;
}

/** As skipSpace, for positions where whitespace is rare. */
@inline
export function space(at: i32): i32 {
  return byte(at) > SPACE ? at : skipSpace(at);
}

/** Returns the end of the whitespace at `at`, if any. */
export function skipSpace(at: i32): i32 {
  let c = byte(at);
  while (c == SPACE || c == 0x0a || c == 0x0d || c == 0x09) c = byte(++at);
  return at;
}

/** Words as four little-endian characters; FALS is the beginning of `false`. */
const TRUE: u32 = 0x65757274;
const NULL: u32 = 0x6c6c756e;
const FALS: u32 = 0x736c6166;

/** Returns the end of the number, `true`, `false` or `null` at `at`, or NO_JSON. */
@inline
export function skipScalar(at: i32): i32 {
  const c = byte(at);
  if (c == MINUS || isDigit(c)) return skipNumber(at);
  const length = wordLength(at);
  return length != 0 ? at + <i32>length : NO_JSON;
}

export function skipNumber(at: i32): i32 {
  if (byte(at) == MINUS) at++;
  at = byte(at) == ZERO ? at + 1 : skipDigits(at);
  if (at != NO_JSON && byte(at) == DOT) at = skipDigits(at + 1);
  if (at == NO_JSON) return NO_JSON;
  if ((byte(at) | 0x20) != LOWER_E) return at;
  const sign = byte(at + 1);
  return skipDigits(at + (sign == PLUS || sign == MINUS ? 2 : 1));
}

/** Skips at least one digit. */
function skipDigits(at: i32): i32 {
  const first = at;
  while (isDigit(byte(at))) at++;
  return at == first ? NO_JSON : at;
}

/** Returns the length of the `true`, `false` or `null` at `at`, or 0. */
@inline
export function wordLength(at: i32): u64 {
  const four = load<u32>(at);
  const isFour = <u64>(four == TRUE) | <u64>(four == NULL);
  const isFive = <u64>(four == FALS) & <u64>(byte(at + 4) == LOWER_E);
  return isFour * 4 + isFive * 5;
}
