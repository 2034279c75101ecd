// AssemblyScript, compiled to WebAssembly by `deno task build:scan`: many bytes at a time, and
// without the checks of bounds that cost a script as much as the work itself.
//
// All positions are addresses. Whoever calls has put the text into memory, with NULs behind it:
// they stand nowhere in JSON, so that everything here comes to an end there.

import {
  byte,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  MAX_DEPTH,
  NO_JSON,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  space,
} from "./characters";
import { skipBlocks, skipStringBlocks } from "./blocks";
import { skipScalar } from "./scalars";

export { skipSpace } from "./characters";
export { unmask } from "./unmask";
export { isUtf8 } from "./utf8";

/** Values of more parts than this are read by whole blocks. */
const FEW: i32 = 32;

/** Which of the 16 bytes at `at` a string can not simply run over, a bit each. */
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

/** As skipString; most strings are short and plain. */
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

/** Where the value of the member whose key starts at `at` begins, or NO_JSON. */
export function skipKey(at: i32): i32 {
  return key(at);
}

/** Where the string that starts at `at` ends, behind its quote, or NO_JSON. */
export function skipString(at: i32): i32 {
  return string(at);
}

/** Where the value that starts at `at`, inside so many brackets, ends, or NO_JSON. */
export function skipValue(at: i32, depth: i32): i32 {
  const outside = depth;
  let kinds: u64 = 0; // of the open brackets, the innermost the lowest bit: whether an object's
  let parts = 0;
  while (true) {
    if (++parts > FEW && depth > outside) {
      return skipBlocks(at, depth, outside, kinds);
    }
    const c = byte(at);
    if (c == QUOTE) at = string(at);
    else if (c == OPEN_OBJECT || c == OPEN_ARRAY) {
      if (++depth > MAX_DEPTH) return NO_JSON;
      const isObject = c == OPEN_OBJECT;
      kinds = kinds << 1 | <u64>isObject;
      at = space(at + 1);
      if (byte(at) != c + 2) { // what closes it, for both kinds in ASCII
        if (isObject) at = key(at);
        if (at == NO_JSON) return NO_JSON;
        continue;
      }
      depth--;
      kinds >>= 1;
      at++;
    } else at = skipScalar(at);
    if (at == NO_JSON) return NO_JSON;
    // Behind a value: the ends of what it was the last of, or what comes next.
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
