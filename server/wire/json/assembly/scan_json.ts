// AssemblyScript, compiled to WebAssembly by `deno task build:scan`: it handles many bytes at a time,
// without the bounds checks that cost JavaScript as much as the work itself.
//
// All positions are addresses. The caller has copied the text into memory, followed by NULs: they are
// invalid anywhere in JSON, so every function stops there.

import { byte, COLON, space } from "./characters.ts";
import { CLOSE_OBJECT, COMMA, MAX_DEPTH, NO_JSON, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./characters";
import { skipBlocks, skipStringBlocks } from "./blocks.ts";
import { skipScalar } from "./scalars.ts";

export { skipSpace } from "./characters.ts";
export { unmask } from "./unmask";
export { isUtf8 } from "./utf8.ts";

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
