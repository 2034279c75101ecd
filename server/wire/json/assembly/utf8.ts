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
