/**
 * The JSON text that a value was parsed from, kept beside it: where nothing has changed the value, the text
 * is sent on as it came, which takes a fraction of writing it anew.
 *
 * Whoever changes a value, or makes another one of it, needs to know nothing of this: a text is given out
 * only for a value that is still what it was parsed to.
 *
 * @module
 */
import { copyAsJson } from "./copy.ts";
import { weigh } from "./values.ts";

/** A text, and what it was parsed to. */
interface Written {
  readonly bytes: Uint8Array;
  /** A copy of its own; it shares its texts with the value, and they are compared at once. */
  readonly value: unknown;
}

/** By value. */
const texts = new WeakMap<object, Written>();

/** Bytes from which it is worth to keep a text: a shorter one is written in no time. */
export const MIN_WRITTEN_BYTES = 2 ** 13;

/** The most values of what has its text kept: to see that many are unchanged takes as long as writing them. */
const MAX_VALUES = 1_000;

/** Bytes of a text that a letter may take, such as the one of `\u0041`, and those of a value and the space around it. */
const MAX_LETTER_BYTES = 6;
const MAX_VALUE_BYTES = 2 ** 8;

/** Characters of a number that a Server's scanner leaves to a parser, which takes far less of a packet. */
const LONG_NUMBER = 64;

/** How many of its digits are in a row at least: of its characters, four may be others. */
const DIGITS_IN_ROW = 20;

/**
 * Keeps the UTF-8 of the text that a value was parsed from, unless it has many values, or is mostly space,
 * or has something that JSON readers differ in: a name that is given twice, a number above all, or one of very
 * many digits.
 *
 * @param count counts the values of the text, as `values.ts` does; it may stop above the number that it gets
 */
export function keepWritten(
  value: object,
  bytes: Uint8Array,
  count: (most: number) => number,
): void {
  const { values, letters } = weigh(value, MAX_VALUES);
  // A name that is given twice counts twice in the text.
  if (values > MAX_VALUES || count(values) !== values) return;
  // Whoever keeps a small value must not keep megabytes of space with it.
  const most = letters * MAX_LETTER_BYTES + values * MAX_VALUE_BYTES;
  if (bytes.length > most || hasLongNumber(bytes)) return;
  const copy = copyAsJson(value); // without infinite numbers, such as that of 1e400
  if (isSame(value, copy)) texts.set(value, { bytes, value: copy });
}

/** Whether a text has a number of many characters; it may be one within a text, too. */
function hasLongNumber(bytes: Uint8Array): boolean {
  const { length } = bytes;
  for (let at = 0; at < length; at += DIGITS_IN_ROW) {
    const byte = bytes[at]!;
    if (byte < ZERO || byte > NINE) continue;
    let start = at;
    while (start > 0 && isOfNumber(bytes[start - 1]!)) {
      if (at - --start >= LONG_NUMBER) return true;
    }
    let end = at + 1;
    while (end < length && isOfNumber(bytes[end]!)) {
      if (++end - start >= LONG_NUMBER) return true;
    }
  }
  return false;
}

const ZERO = 0x30;
const NINE = 0x39;

/** Whether a byte is a digit, or one of `.+-eE`. */
const isOfNumber = (byte: number): boolean =>
  byte >= ZERO && byte <= NINE || byte === 0x2e || byte === 0x2b ||
  byte === 0x2d || (byte | 0x20) === 0x65;

/** Lets a value that was made of another one have its text, if it is the same. */
export function passWritten(from: unknown, to: unknown): void {
  const written = texts.get(Object(from));
  if (written) texts.set(Object(to), written);
}

/** Returns the text that a value was parsed from, if it is kept, and the value is still the same. */
export function writtenOf(value: object): Uint8Array | undefined {
  const written = texts.get(value);
  return written && isSame(value, written.value) ? written.bytes : undefined;
}

/** Whether two values are the same as JSON. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object") return false;
  if (one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length &&
    names.every((name) =>
      Object.hasOwn(other, name) &&
      isSame(Reflect.get(one, name), Reflect.get(other, name))
    );
}
