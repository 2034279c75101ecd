import {
  BACKSLASH,
  byte,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  count,
  DOT,
  isDigit,
  LOWER_A,
  LOWER_U,
  MAX_DEPTH,
  MINUS,
  NO_JSON,
  OPEN_OBJECT,
  QUOTE,
  skipNumber,
  SPACE,
  wordLength,
  ZERO,
} from "./characters";

/** Returns the end, after its quote, of the string whose content starts at `at`, or NO_JSON. */
export function skipStringBlocks(at: i32): i32 {
  const quote = splat(QUOTE);
  const backslash = splat(BACKSLASH);
  const lastControl = splat(SPACE - 1);
  let escaped: u64 = 0;
  while (true) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    let quotes = equal(a, b, c, d, quote);
    let bad = atMost(a, b, c, d, lastControl);
    const backslashes = equal(a, b, c, d, backslash);
    if ((backslashes | escaped) != 0) {
      const chars = escapedOf(backslashes, escaped);
      escaped = escapesNext(backslashes, escaped);
      quotes &= ~chars;
      bad |= badEscapes(at, a, b, c, d, chars);
    }
    if (quotes != 0) {
      const end = ctz(quotes);
      return (bad & upTo(end)) == 0 ? at + <i32>end + 1 : NO_JSON;
    }
    if (bad != 0) return NO_JSON;
    at += 64;
  }
}

/**
 * Continues skipValue within a value of many parts, at a position where a nested value must start.
 *
 * Checks 64 bytes at once; only brackets need a loop. Which token may follow which is computed from
 * masks: an addition carries a bit through runs of whitespace, or of everything that is not a
 * bracket, comma or colon.
 *
 * @param kinds one bit per open bracket, the lowest for the innermost: 1 for an object, 0 for an array
 */
export function skipBlocks(
  at: i32,
  depth: i32,
  outside: i32,
  kinds: u64,
): i32 {
  const quote = splat(QUOTE);
  const backslash = splat(BACKSLASH);
  const lastControl = splat(SPACE - 1);
  const blank = splat(SPACE);
  const comma = splat(COMMA);
  const colon = splat(COLON);
  const openObject = splat(OPEN_OBJECT);
  const closeObject = splat(CLOSE_OBJECT);
  // State carried from block to block: all bits or none for `inString`, one bit for the others.
  let inString: u64 = 0;
  let escaped: u64 = 0;
  // Whether the first byte, after whitespace, follows one of these.
  let afterOpen: u64 = 0;
  let afterSeparator: u64 = 1;
  let afterValue: u64 = 0;
  let afterString: u64 = 0;
  // Whether the first bracket, comma or colon follows one of these.
  let afterComma: u64 = 0;
  let afterObject: u64 = 0;
  while (true) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    let quotes = equal(a, b, c, d, quote);
    let control: u64 = 0;
    let bad: u64 = 0;
    if (escaped != 0 || anySpecial(a, b, c, d, backslash, lastControl)) {
      control = atMost(a, b, c, d, lastControl);
      const backslashes = equal(a, b, c, d, backslash);
      const chars = escapedOf(backslashes, escaped);
      escaped = escapesNext(backslashes, escaped);
      quotes &= ~chars;
      bad = badEscapes(at, a, b, c, d, chars);
    }
    if (quotes == 0 && inString != 0) {
      if ((bad | control) != 0) return NO_JSON;
      at += 64;
      continue;
    }
    // Includes the opening quote of a string, excludes the closing one.
    const strings = prefixXor(quotes) ^ inString;
    inString = <u64>(<i64>strings >> 63);
    bad |= strings & control;
    const open = ~(strings | quotes);
    let spaces = equal(a, b, c, d, blank) & open;
    if ((control & open) != 0) {
      spaces |= open & (equal(a, b, c, d, splat(0x09)) |
        equal(a, b, c, d, splat(0x0a)) | equal(a, b, c, d, splat(0x0d)));
    }
    const commas = equal(a, b, c, d, comma) & open;
    const colons = equal(a, b, c, d, colon) & open;
    const objects = equal(a, b, c, d, openObject) & open;
    // Setting one bit maps the brackets of arrays to those of objects, and no other character.
    const a1 = v128.or(a, blank);
    const b1 = v128.or(b, blank);
    const c1 = v128.or(c, blank);
    const d1 = v128.or(d, blank);
    const opens = equal(a1, b1, c1, d1, openObject) & open;
    const closes = equal(a1, b1, c1, d1, closeObject) & open;
    const separators = commas | colons;
    const structure = separators | opens | closes;
    // A scalar that may continue after the block is left to the next one, which starts there.
    let scalars = open & ~(structure | spaces);
    const tail = clz(~scalars);
    const size = 64 - tail;
    if (size == 0) return NO_JSON; // a number of 64 digits is left to another parser
    const last = <u64>(tail != 0) << size;
    scalars &= last - 1;
    const starts = scalars & ~(scalars << 1);
    if (scalars != 0) {
      bad |= badScalars(at, a, b, c, d, scalars, starts);
    }

    // Check which token follows which, ignoring whitespace.
    const strung = quotes & ~strings;
    const values = strung | closes;
    const x1 = opens << 1 | afterOpen;
    const y1 = x1 + spaces;
    afterOpen = opens >> 63 | <u64>(y1 < x1);
    const x2 = separators << 1 | afterSeparator;
    const y2 = x2 + spaces;
    afterSeparator = separators >> 63 | <u64>(y2 < x2);
    const x3 = values << 1 | afterValue | (scalars << 1 & ~scalars);
    const y3 = x3 + spaces;
    afterValue = values >> 63 | <u64>(y3 < x3);
    const x4 = strung << 1 | afterString;
    const y4 = x4 + spaces;
    afterString = strung >> 63 | <u64>(y4 < x4);
    const valueStarts = (quotes & strings) | starts | opens | last;
    bad |= ((y1 & ~(valueStarts | closes)) | (y2 & ~valueStarts) |
      (y3 & ~(separators | closes))) & ~spaces;
    bad |= colons & ~y4; // only strings are keys

    // Find the bracket, comma or colon that follows a comma, or the start of an object.
    const x5 = commas << 1 | afterComma;
    const y5 = x5 + ~structure;
    afterComma = commas >> 63 | <u64>(y5 < x5);
    const x6 = objects << 1 | afterObject;
    const y6 = x6 + ~structure;
    afterObject = objects >> 63 | <u64>(y6 < x6);
    bad |= colons & ~(y5 | y6);
    bad |= y6 & structure & ~(colons | (closes & y1));
    const keyless = y5 & structure & ~colons;

    // Arrays must not have colons, objects must not have commas without a following key.
    let seen: u64 = 0;
    for (let left = opens | closes; left != 0; left &= left - 1) {
      const index = ctz(left);
      const part = upTo(index);
      const wrong = (kinds & 1) != 0 ? keyless : colons;
      if ((wrong & (part ^ seen)) != 0) return NO_JSON;
      seen = part;
      const bracket = byte(at + <i32>index);
      const kind = <u64>(bracket >> 5 & 1);
      if ((bracket & 4) == 0) {
        if (++depth > MAX_DEPTH) return NO_JSON;
        kinds = kinds << 1 | kind;
      } else {
        if ((kinds & 1) != kind) return NO_JSON;
        kinds >>= 1;
        if (--depth == outside) {
          count(<i32>popcnt((separators | opens) & part));
          return (bad & part) == 0 ? at + <i32>index + 1 : NO_JSON;
        }
      }
    }
    const wrong = (kinds & 1) != 0 ? keyless : colons;
    if ((bad | (wrong & ~seen)) != 0) return NO_JSON;
    count(<i32>popcnt(separators | opens));
    at += <i32>size;
  }
}

/** Returns whether there is a backslash or a control character. */
@inline
function anySpecial(
  a: v128,
  b: v128,
  c: v128,
  d: v128,
  backslash: v128,
  lastControl: v128,
): bool {
  return v128.any_true(v128.or(
    v128.or(
      special(a, backslash, lastControl),
      special(b, backslash, lastControl),
    ),
    v128.or(
      special(c, backslash, lastControl),
      special(d, backslash, lastControl),
    ),
  ));
}

@inline
function special(chars: v128, backslash: v128, lastControl: v128): v128 {
  return v128.or(
    i8x16.eq(chars, backslash),
    i8x16.eq(i8x16.min_u(chars, lastControl), chars),
  );
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
function badScalars(
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

// Each function classifies 64 bytes at once and returns a mask: bit i stands for byte i.
// The bytes are in four vectors of 16, the largest that WebAssembly has.

/** Combines the results of four comparisons into one mask. */
@inline
function mask(a: v128, b: v128, c: v128, d: v128): u64 {
  return (<u64>i8x16.bitmask(a)) | (<u64>i8x16.bitmask(b)) << 16 |
    (<u64>i8x16.bitmask(c)) << 32 | (<u64>i8x16.bitmask(d)) << 48;
}

/** All ASCII characters, by code. */
const ascii: usize = memory.data(128);
for (let code: u32 = 0; code < 128; code++) store<u8>(ascii + code, code);

/** Returns a character 16 times; loaded from memory, since V8 would rebuild a constant at every use. */
@inline
function splat(char: u32): v128 {
  return v128.load_splat<u8>(ascii + char);
}

/** Marks the bytes equal to `char`. */
@inline
function equal(a: v128, b: v128, c: v128, d: v128, char: v128): u64 {
  return mask(
    i8x16.eq(a, char),
    i8x16.eq(b, char),
    i8x16.eq(c, char),
    i8x16.eq(d, char),
  );
}

/** Marks the bytes less than or equal to `char`. */
@inline
function atMost(a: v128, b: v128, c: v128, d: v128, char: v128): u64 {
  return mask(
    i8x16.eq(i8x16.min_u(a, char), a),
    i8x16.eq(i8x16.min_u(b, char), b),
    i8x16.eq(i8x16.min_u(c, char), c),
    i8x16.eq(i8x16.min_u(d, char), d),
  );
}

/** Prefix XOR: marks everything from the first bit of each pair up to, but excluding, the second. */
@inline
function prefixXor(bits: u64): u64 {
  bits ^= bits << 1;
  bits ^= bits << 2;
  bits ^= bits << 4;
  bits ^= bits << 8;
  bits ^= bits << 16;
  return bits ^ bits << 32;
}

/** Returns a mask of all bits up to and including `index`. */
@inline
function upTo(index: u64): u64 {
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
function escapedOf(backslashes: u64, first: u64): u64 {
  return escaping(backslashes & ~first) ^ (backslashes | first);
}

/** Returns 1 if the first byte of the next block is escaped; parameters as in `escapedOf`. */
@inline
function escapesNext(backslashes: u64, first: u64): u64 {
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
function badEscapes(
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
