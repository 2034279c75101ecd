// AssemblyScript, compiled to WebAssembly by `deno task build:scan`: sixteen bytes at a time, and
// without the checks of bounds that cost a script as much as the work itself.
//
// All positions are addresses. Whoever calls has put the text into memory, with NULs behind it:
// they stand nowhere in JSON, so that everything here comes to an end there.

const NO_JSON: i32 = -1;
const MAX_DEPTH: i32 = 64;

const QUOTE: u32 = 0x22;
const PLUS: u32 = 0x2b;
const COMMA: u32 = 0x2c;
const MINUS: u32 = 0x2d;
const DOT: u32 = 0x2e;
const ZERO: u32 = 0x30;
const COLON: u32 = 0x3a;
const OPEN_ARRAY: u32 = 0x5b;
const BACKSLASH: u32 = 0x5c;
const LOWER_A: u32 = 0x61;
const LOWER_E: u32 = 0x65;
const LOWER_U: u32 = 0x75;
const OPEN_OBJECT: u32 = 0x7b;
const CLOSE_OBJECT: u32 = 0x7d;

/** Four characters as one number, little-endian. */
const TRUE: u32 = 0x65757274;
const NULL: u32 = 0x6c6c756e;
const FALS: u32 = 0x736c6166;

/** What closes what is open, by depth. */
const closes: usize = memory.data(MAX_DEPTH + 1);

@inline
function byte(at: i32): u32 {
  return load<u8>(at);
}

/** As skipSpace, where there is hardly ever any. */
@inline
function space(at: i32): i32 {
  return byte(at) > 0x20 ? at : skipSpace(at);
}

/** Which of the 16 bytes at `at` a string can not simply run over, a bit each. */
@inline
function specials(at: i32): i32 {
  const block = v128.load(at);
  return i8x16.bitmask(v128.or(
    v128.or(
      i8x16.eq(block, i8x16.splat(0x22)),
      i8x16.eq(block, i8x16.splat(0x5c)),
    ),
    i8x16.lt_u(block, i8x16.splat(0x20)),
  ));
}

/** As skipString; most strings are short and plain. */
@inline
function string(at: i32): i32 {
  if (byte(at) != QUOTE) return NO_JSON;
  const mask = specials(at + 1);
  const end = at + 1 + ctz(mask);
  return mask != 0 && byte(end) == QUOTE ? end + 1 : skipString(at);
}

/** As skipKey. */
@inline
function key(at: i32): i32 {
  at = string(at);
  if (at == NO_JSON) return NO_JSON;
  at = space(at);
  return byte(at) == COLON ? space(at + 1) : NO_JSON;
}

@inline
function isDigit(c: u32): bool {
  return c - ZERO < 10;
}

/** Where the whitespace at `at`, if any, ends. */
export function skipSpace(at: i32): i32 {
  let c = byte(at);
  while (c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09) c = byte(++at);
  return at;
}

/** Where the value of the member whose key starts at `at` begins, or NO_JSON. */
export function skipKey(at: i32): i32 {
  return key(at);
}

/** Where the string that starts at `at` ends, behind its quote, or NO_JSON. */
export function skipString(at: i32): i32 {
  if (byte(at) != QUOTE) return NO_JSON;
  let mask = specials(++at);
  while (true) {
    if (mask == 0) {
      at += 16;
      mask = specials(at);
      continue;
    }
    const found = at + ctz(mask);
    const c = byte(found);
    if (c == QUOTE) return found + 1;
    if (c != BACKSLASH) return NO_JSON;
    const next = skipEscape(found);
    if (next == NO_JSON) return NO_JSON;
    const done = next - at;
    if (done < 16) mask &= -1 << done;
    else {
      at = next;
      mask = specials(at);
    }
  }
}

/** Of characters below 64, and of those from there on: which may stand behind a backslash, a bit each. */
const LOW_ESCAPES: u64 = <u64>1 << 0x22 | <u64>1 << 0x2f;
const HIGH_ESCAPES: u64 = <u64>1 << 0x1c | <u64>1 << 0x22 | <u64>1 << 0x26 |
  <u64>1 << 0x2e | <u64>1 << 0x32 | <u64>1 << 0x34;

@inline
function isEscape(c: u32): bool {
  const escapes = c < 64 ? LOW_ESCAPES : HIGH_ESCAPES;
  return c < 128 && (escapes >> (c & 63) & 1) == 1;
}

/** Where the escape that starts at `at` ends, or NO_JSON. */
function skipEscape(at: i32): i32 {
  const c = byte(at + 1);
  if (isEscape(c)) return at + 2;
  if (c != LOWER_U) return NO_JSON;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = byte(i);
    if (!isDigit(digit) && (digit | 0x20) - LOWER_A >= 6) return NO_JSON;
  }
  return at + 6;
}

/** Where the value that starts at `at`, inside so many brackets, ends, or NO_JSON. */
export function skipValue(at: i32, depth: i32): i32 {
  const outside = depth;
  while (true) {
    const c = byte(at);
    if (c == QUOTE) at = string(at);
    else if (c == OPEN_OBJECT || c == OPEN_ARRAY) {
      if (++depth > MAX_DEPTH) return NO_JSON;
      const close = c + 2; // of both kinds, in ASCII
      store<u8>(closes + depth, close as u8);
      at = space(at + 1);
      if (byte(at) != close) {
        if (close == CLOSE_OBJECT) at = key(at);
        if (at == NO_JSON) return NO_JSON;
        continue;
      }
      depth--;
      at++;
    } else if (c == MINUS || isDigit(c)) at = skipNumber(at);
    else at = skipWord(at);
    if (at == NO_JSON) return NO_JSON;
    // Behind a value: the ends of what it was the last of, or what comes next.
    while (true) {
      if (depth == outside) return at;
      at = space(at);
      const next = byte(at++);
      const close: u32 = load<u8>(closes + depth);
      if (next == COMMA) {
        at = space(at);
        if (close == CLOSE_OBJECT) at = key(at);
        if (at == NO_JSON) return NO_JSON;
        break;
      }
      if (next != close) return NO_JSON;
      depth--;
    }
  }
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

/** At least one. */
function skipDigits(at: i32): i32 {
  const first = at;
  while (isDigit(byte(at))) at++;
  return at == first ? NO_JSON : at;
}

function skipWord(at: i32): i32 {
  const four = load<u32>(at);
  if (four == TRUE || four == NULL) return at + 4;
  return four == FALS && byte(at + 4) == LOWER_E ? at + 5 : NO_JSON;
}

// What can be wrong with two bytes that follow each other; the names and tables are those of
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

/** Whether the bytes are UTF-8; 16 bytes in front of them and behind them must be ASCII. */
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
  // One block further: what the last bytes lack is seen in those behind them.
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

/** Takes a client's mask off a frame; some bytes behind `end` change as well. */
export function unmask(at: i32, end: i32, mask: i32): void {
  const block = i32x4.splat(mask);
  for (; at < end; at += 16) {
    v128.store(at, v128.xor(v128.load(at), block));
  }
}
