import { byte, DOT, isDigit, LOWER_E, MINUS, PLUS, ZERO } from "./characters.ts";
import { NO_JSON } from "./characters";
import { equal, mask, splat } from "./block.ts";

/** Words as four little-endian characters; FALS is the beginning of `false`. */
const TRUE: u32 = 0x65757274;
const NULL: u32 = 0x6c6c756e;
const FALS: u32 = 0x736c6166;

/** Returns the end of the number, `true`, `false` or `null` at `at`, or NO_JSON. */
@inline
export function skipScalar(at: i32): i32 {
  const c = byte(at);
  return c == MINUS || isDigit(c) ? skipNumber(at) : skipWord(at);
}

function skipNumber(at: i32): i32 {
  if (byte(at) == MINUS) at++;
  if (byte(at) == ZERO) at++;
  else {
    at = skipDigits(at);
    if (at == NO_JSON) return NO_JSON;
  }
  if (byte(at) == DOT) {
    at = skipDigits(at + 1);
    if (at == NO_JSON) return NO_JSON;
  }
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

@inline
function skipWord(at: i32): i32 {
  const length = wordLength(at);
  return length != 0 ? at + <i32>length : NO_JSON;
}

/** Returns the length of the `true`, `false` or `null` at `at`, or 0. */
@inline
function wordLength(at: i32): u64 {
  const four = load<u32>(at);
  const isFour = <u64>(four == TRUE) | <u64>(four == NULL);
  const isFive = <u64>(four == FALS) & <u64>(byte(at + 4) == LOWER_E);
  return isFour * 4 + isFive * 5;
}

@inline
function digit(chars: v128): v128 {
  const values = i8x16.sub(chars, splat(ZERO));
  return i8x16.eq(i8x16.min_u(values, splat(9)), values);
}

/**
 * Marks the start or another byte of each invalid scalar in a block of 64 bytes.
 *
 * @param scalars bytes that can only be part of scalars; never includes the last byte
 * @param starts the first byte of each scalar
 */
@inline
export function badScalars(
  at: i32,
  a: v128,
  b: v128,
  c: v128,
  d: v128,
  scalars: u64,
  starts: u64,
): u64 {
  let bad: u64 = 0;
  let rest = scalars;
  const digits = mask(digit(a), digit(b), digit(c), digit(d));
  const signs = equal(a, b, c, d, splat(MINUS)) & scalars;
  let numbers = starts & (digits | signs);
  for (let words = starts ^ numbers; words != 0; words &= words - 1) {
    const start = words & -words;
    const index = ctz(words);
    const behind = start << wordLength(at + <i32>index);
    rest &= ~(behind - start);
    bad |= behind & scalars; // also if the word is invalid, which has length 0
  }
  const dots = equal(a, b, c, d, splat(DOT)) & rest;
  if ((rest & ~(digits | signs | dots)) != 0) {
    for (; numbers != 0; numbers &= numbers - 1) {
      const end = skipNumber(at + <i32>ctz(numbers));
      if (end == NO_JSON || (scalars >> (end - at) & 1) != 0) {
        bad |= numbers & -numbers;
      }
    }
    return bad;
  }
  const minus = numbers & signs;
  const leading = (numbers ^ minus) | minus << 1;
  const zeros = equal(a, b, c, d, splat(ZERO)) & leading;
  const decimals = dots << 1;
  return bad | (signs ^ minus) | (leading & ~digits) | (zeros << 1 & digits) |
    (decimals & ~digits) |
    // The digits after a dot must not be followed by another dot.
    ((decimals + digits) & ~digits & dots);
}
