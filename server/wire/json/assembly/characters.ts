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
