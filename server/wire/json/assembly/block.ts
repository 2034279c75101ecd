import { byte, isDigit, LOWER_A, LOWER_U } from "./characters.ts";

// Each function classifies 64 bytes at once and returns a mask: bit i stands for byte i.
// The bytes are in four vectors of 16, the largest that WebAssembly has.

/** Combines the results of four comparisons into one mask. */
@inline
export function mask(a: v128, b: v128, c: v128, d: v128): u64 {
  return (<u64>i8x16.bitmask(a)) | (<u64>i8x16.bitmask(b)) << 16 |
    (<u64>i8x16.bitmask(c)) << 32 | (<u64>i8x16.bitmask(d)) << 48;
}

/** All ASCII characters, by code. */
const ascii: usize = memory.data<u8>([
  0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
  0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
  0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
  0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
  0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
  0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,
  0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37,
  0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f,
  0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47,
  0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f,
  0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57,
  0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f,
  0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67,
  0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f,
  0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77,
  0x78, 0x79, 0x7a, 0x7b, 0x7c, 0x7d, 0x7e, 0x7f,
]);

/** Returns a character 16 times; loaded from memory, since V8 would rebuild a constant at every use. */
@inline
export function splat(char: u32): v128 {
  return v128.load_splat<u8>(ascii + char);
}

/** Marks the bytes equal to `char`. */
@inline
export function equal(a: v128, b: v128, c: v128, d: v128, char: v128): u64 {
  return mask(
    i8x16.eq(a, char),
    i8x16.eq(b, char),
    i8x16.eq(c, char),
    i8x16.eq(d, char),
  );
}

/** Marks the bytes less than or equal to `char`. */
@inline
export function atMost(a: v128, b: v128, c: v128, d: v128, char: v128): u64 {
  return mask(
    i8x16.eq(i8x16.min_u(a, char), a),
    i8x16.eq(i8x16.min_u(b, char), b),
    i8x16.eq(i8x16.min_u(c, char), c),
    i8x16.eq(i8x16.min_u(d, char), d),
  );
}

/** Prefix XOR: marks everything from the first bit of each pair up to, but excluding, the second. */
@inline
export function prefixXor(bits: u64): u64 {
  bits ^= bits << 1;
  bits ^= bits << 2;
  bits ^= bits << 4;
  bits ^= bits << 8;
  bits ^= bits << 16;
  return bits ^ bits << 32;
}

/** Returns a mask of all bits up to and including `index`. */
@inline
export function upTo(index: u64): u64 {
  return (<u64>2 << index) - 1;
}

/** All odd-numbered bits. */
const ODD_BITS: u64 = 0xaaaaaaaaaaaaaaaa;

/**
 * Marks, of each run of backslashes, those that escape another character, and the byte after a run of
 * odd length. A subtraction borrows through each run; whether a run begins at an odd or even bit
 * decides (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019).
 */
@inline
function escaping(backslashes: u64): u64 {
  return ((backslashes << 1 | ODD_BITS) - backslashes) ^ ODD_BITS;
}

/**
 * Marks the escaped bytes.
 *
 * @param first 1 if the first byte is escaped by the previous block
 */
@inline
export function escapedOf(backslashes: u64, first: u64): u64 {
  return escaping(backslashes & ~first) ^ (backslashes | first);
}

/** Returns 1 if the first byte of the next block is escaped; parameters as in `escapedOf`. */
@inline
export function escapesNext(backslashes: u64, first: u64): u64 {
  return (escaping(backslashes & ~first) & backslashes) >> 63;
}

/** Indexed by the low nibble of a valid escape character: one bit for each high nibble 2, 5, 6 and 7. */
const escapesByLow: usize = memory.data<u8>(
  [0, 0, 0x0d, 0, 0x08, 0, 0x04, 0, 0, 0, 0, 0, 0x02, 0, 0x04, 0x01],
);

/** Indexed by the high nibble: its bit in the other table. */
const escapesByHigh: usize = memory.data<u8>(
  [0, 0, 0x01, 0, 0, 0x02, 0x04, 0x08, 0, 0, 0, 0, 0, 0, 0, 0],
);

/** Marks the bytes that must not follow a backslash; includes `u`, which is checked separately. */
@inline
function noEscape(chars: v128): v128 {
  const half = splat(0x0f);
  const kinds = v128.and(
    v128.swizzle(v128.load(escapesByLow), v128.and(chars, half)),
    v128.swizzle(v128.load(escapesByHigh), v128.and(i16x8.shr_u(chars, 4), half)),
  );
  return i8x16.eq(kinds, splat(0));
}

/** Marks the bytes of `escaped` that do not form a valid escape. */
@inline
export function badEscapes(
  at: i32,
  a: v128,
  b: v128,
  c: v128,
  d: v128,
  escaped: u64,
): u64 {
  let bad = escaped &
    mask(noEscape(a), noEscape(b), noEscape(c), noEscape(d));
  for (let left = bad; left != 0; left &= left - 1) {
    if (isUnicodeEscape(at + <i32>ctz(left))) bad ^= left & -left;
  }
  return bad;
}

/** Returns whether `u` and four hexadecimal digits are at `at`. */
function isUnicodeEscape(at: i32): bool {
  if (byte(at) != LOWER_U) return false;
  for (let i = at + 1; i < at + 5; i++) {
    const digit = byte(i);
    if (!isDigit(digit) && (digit | 0x20) - LOWER_A >= 6) return false;
  }
  return true;
}
