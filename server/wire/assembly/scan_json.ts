// AssemblyScript, compiled to WebAssembly by `deno task build:scan`: it handles many bytes at a time,
// without the bounds checks that cost JavaScript as much as the work itself.
//
// All positions are addresses. The caller has copied the text into memory, followed by NULs: they are
// invalid anywhere in JSON, so every function stops there.

import {
  byte,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  count,
  MAX_DEPTH,
  NO_JSON,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipScalar,
  space,
  values,
} from "./characters";
import { skipBlocks, skipStringBlocks } from "./blocks";

export { skipSpace, values } from "./characters";

/** Begins the count of values again. */
export function resetValues(): void {
  count(-values);
}


/** Values with more parts than this are scanned in blocks. */
const MAX_SINGLE_PARTS: i32 = 32;

/** Marks those of the 16 bytes at `at` that end a plain string: quotes, backslashes and control characters. */
@inline
function specials(at: i32): i32 {
  const chars = v128.load(at);
  return i8x16.bitmask(v128.or(
    v128.or(
      i8x16.eq(chars, i8x16.splat(0x22)),
      i8x16.eq(chars, i8x16.splat(0x5c)),
    ),
    i8x16.lt_u(chars, i8x16.splat(0x20)),
  ));
}

/** As skipString, with a fast path for short strings without escapes. */
@inline
function string(at: i32): i32 {
  if (byte(at) != QUOTE) return NO_JSON;
  const mask = specials(++at);
  const end = at + ctz(mask);
  return mask != 0 && byte(end) == QUOTE ? end + 1 : skipStringBlocks(at);
}

/** As skipKey. */
@inline
function key(at: i32): i32 {
  at = string(at);
  if (at == NO_JSON) return NO_JSON;
  at = space(at);
  count(1); // the colon
  return byte(at) == COLON ? space(at + 1) : NO_JSON;
}

/** Returns the start of the value of the member whose key is at `at`, or NO_JSON. */
export function skipKey(at: i32): i32 {
  return key(at);
}

/** Returns the end of the string at `at`, after its quote, or NO_JSON. */
export function skipString(at: i32): i32 {
  return string(at);
}

/** Returns the end of the value at `at`, inside `depth` brackets, or NO_JSON. */
export function skipValue(at: i32, depth: i32): i32 {
  const outside = depth;
  let kinds: u64 = 0; // one bit per open bracket, the lowest for the innermost: 1 for an object
  let parts = 0;
  while (true) {
    if (++parts > MAX_SINGLE_PARTS && depth > outside) {
      return skipBlocks(at, depth, outside, kinds);
    }
    const c = byte(at);
    if (c == QUOTE) at = string(at);
    else if (c == OPEN_OBJECT || c == OPEN_ARRAY) {
      if (++depth > MAX_DEPTH) return NO_JSON;
      count(1);
      const isObject = c == OPEN_OBJECT;
      kinds = kinds << 1 | <u64>isObject;
      at = space(at + 1);
      if (byte(at) != c + 2) { // its closing bracket, for both kinds
        if (isObject) at = key(at);
        if (at == NO_JSON) return NO_JSON;
        continue;
      }
      depth--;
      kinds >>= 1;
      at++;
    } else at = skipScalar(at);
    if (at == NO_JSON) return NO_JSON;
    // After a value: the ends of its containers, or the next value.
    while (true) {
      if (depth == outside) return at;
      at = space(at);
      const next = byte(at++);
      const inObject = (kinds & 1) != 0;
      if (next == COMMA) {
        count(1);
        at = space(at);
        if (inObject) at = key(at);
        if (at == NO_JSON) return NO_JSON;
        break;
      }
      if (next != (inObject ? CLOSE_OBJECT : OPEN_ARRAY + 2)) return NO_JSON;
      depth--;
      kinds >>= 1;
    }
  }
}

/** Removes a client's mask from a frame; also changes up to 15 bytes after `end`. */
export function unmask(at: i32, end: i32, mask: i32): void {
  const block = i32x4.splat(mask);
  for (; at < end; at += 16) {
    v128.store(at, v128.xor(v128.load(at), block));
  }
}

// The possible errors of two consecutive bytes; the names and tables are those of
// Keiser and Lemire, "Validating UTF-8 In Less Than One Instruction Per Byte" (2020).
const TOO_SHORT: u8 = 1 << 0;
const TOO_LONG: u8 = 1 << 1;
const OVERLONG_3: u8 = 1 << 2;
const TOO_LARGE: u8 = 1 << 3;
const SURROGATE: u8 = 1 << 4;
const OVERLONG_2: u8 = 1 << 5;
const TOO_LARGE_1000: u8 = 1 << 6;
const OVERLONG_4: u8 = 1 << 6;
const TWO_CONTS: u8 = 1 << 7;
const CARRY: u8 = TOO_SHORT | TOO_LONG | TWO_CONTS;
const LARGE: u8 = CARRY | TOO_LARGE | TOO_LARGE_1000;
const SECOND: u8 = TOO_LONG | OVERLONG_2 | TWO_CONTS;

/** Returns whether the bytes are UTF-8; the 16 bytes before and after them must be ASCII. */
export function isUtf8(at: i32, end: i32): bool {
  const byFirstHigh = i8x16(
    TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
    TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
    TWO_CONTS, TWO_CONTS, TWO_CONTS, TWO_CONTS,
    TOO_SHORT | OVERLONG_2,
    TOO_SHORT,
    TOO_SHORT | OVERLONG_3 | SURROGATE,
    TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4,
  );
  const byFirstLow = i8x16(
    CARRY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4,
    CARRY | OVERLONG_2,
    CARRY, CARRY,
    CARRY | TOO_LARGE,
    LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE,
    LARGE | SURROGATE,
    LARGE, LARGE,
  );
  const bySecondHigh = i8x16(
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
    SECOND | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4,
    SECOND | OVERLONG_3 | TOO_LARGE,
    SECOND | SURROGATE | TOO_LARGE,
    SECOND | SURROGATE | TOO_LARGE,
    TOO_SHORT, TOO_SHORT, TOO_SHORT, TOO_SHORT,
  );
  const low = i8x16.splat(0x0f);
  const top = i8x16.splat(<i8>0x80);
  let wrong = i8x16.splat(0);
  // Fast path: most texts are ASCII.
  while (at + 64 <= end && isAscii(at)) at += 64;
  // Includes the block after the end, which reveals an incomplete last character.
  for (; at < end + 16; at += 16) {
    const block = v128.load(at);
    const before1 = v128.load(at - 1);
    if (i8x16.bitmask(v128.or(block, v128.load(at - 3))) == 0) continue;
    const pairs = v128.and(
      v128.and(
        v128.swizzle(byFirstHigh, i8x16.shr_u(before1, 4)),
        v128.swizzle(byFirstLow, v128.and(before1, low)),
      ),
      v128.swizzle(bySecondHigh, i8x16.shr_u(block, 4)),
    );
    const third = i8x16.sub_sat_u(v128.load(at - 2), i8x16.splat(<i8>(0xe0 - 0x80)));
    const fourth = i8x16.sub_sat_u(v128.load(at - 3), i8x16.splat(<i8>(0xf0 - 0x80)));
    const continues = v128.and(v128.or(third, fourth), top);
    wrong = v128.or(wrong, v128.xor(continues, pairs));
  }
  return !v128.any_true(wrong);
}

/** Returns whether 64 bytes are ASCII. */
@inline
function isAscii(at: i32): bool {
  const first = v128.or(v128.load(at), v128.load(at, 16));
  const second = v128.or(v128.load(at, 32), v128.load(at, 48));
  return i8x16.bitmask(v128.or(first, second)) == 0;
}
