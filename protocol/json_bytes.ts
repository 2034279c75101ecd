/**
 * JSON as bytes of UTF-8, read and edited where it stands: what is not replaced keeps its bytes, so that
 * numbers keep all their digits, and objects the order of their members and their duplicates. Nothing is
 * built but what is asked for. Every pass is linear in the size of what it passes.
 *
 * The text must be valid JSON, as a scanner has found it; on another one the results are undefined, but
 * all functions end.
 *
 * @module
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const ZERO = 0x30;
const LETTER_A = 0x41;
const LOWER_A = 0x61;
const LOWER_U = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

/** Where a value is in a text. */
export interface JsonSpan {
  /** Its first byte. */
  readonly start: number;
  /** The byte after its last one. */
  readonly end: number;
}

/** A member of an object in a text: where its value is, and its name. */
export interface JsonMember extends JsonSpan {
  /** The first quote of its name. */
  readonly keyStart: number;
  /** The byte after the last quote of its name. */
  readonly keyEnd: number;
}

/** Returns where the name of a member is. */
export const keyOf = ({ keyStart, keyEnd }: JsonMember): JsonSpan => ({
  start: keyStart,
  end: keyEnd,
});

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Returns whether the value at an offset is an object. */
export const isObjectAt = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === OPEN_OBJECT;

/** Returns whether the value at an offset is an array. */
export const isArrayAt = (bytes: Uint8Array, at: number): boolean =>
  bytes[at] === OPEN_ARRAY;

/** Returns the value of a span; `undefined` for one of more than `most` bytes, or without one. */
export function valueIn(
  bytes: Uint8Array,
  span: JsonSpan | undefined,
  most: number,
): unknown {
  if (span === undefined || span.end - span.start > most) return undefined;
  return JSON.parse(textIn(bytes, span));
}

/** Returns the text of a span as a name of at most 256 UTF-16 units; `undefined` for anything else. */
export function nameIn(
  bytes: Uint8Array,
  span: JsonSpan | undefined,
): string | undefined {
  if (span === undefined || bytes[span.start] !== QUOTE) return undefined;
  if (span.end - span.start > MAX_NAME_BYTES) return undefined;
  const text = textIn(bytes, span);
  const name = text.includes("\\") ? JSON.parse(text) : text.slice(1, -1);
  return typeof name === "string" && name.length <= MAX_NAME ? name : undefined;
}

/** Returns whether a member has a name, which is ASCII without what JSON escapes. */
export function isNamed(
  bytes: Uint8Array,
  { keyStart, keyEnd }: JsonMember,
  name: string,
): boolean {
  let at = keyStart + 1;
  const end = keyEnd - 1;
  if (end - at < name.length) return false;
  for (let i = 0; i < name.length; i++) {
    const c = name.charCodeAt(i);
    if (bytes[at] === c) at++;
    else if (isEscapeOf(bytes, at, c)) at += 6;
    else return false;
  }
  return at === end;
}

/** Whether an escape such as `\u0061` stands for a character. */
function isEscapeOf(bytes: Uint8Array, at: number, char: number): boolean {
  return bytes[at] === BACKSLASH && bytes[at + 1] === LOWER_U &&
    bytes[at + 2] === ZERO && bytes[at + 3] === ZERO &&
    16 * hexDigit(bytes[at + 4]!) + hexDigit(bytes[at + 5]!) === char;
}

const hexDigit = (c: number): number =>
  c < LETTER_A ? c - ZERO : (c | SPACE) - LOWER_A + 10;

/** The longest text that is read without the platform's decoder, whose call costs more than a short text. */
const MAX_PLAIN_BYTES = 64;

/** Returns a part of a text as it is. */
export function textIn(
  bytes: Uint8Array,
  { start, end }: JsonSpan,
): string {
  if (end - start <= MAX_PLAIN_BYTES) {
    let text = "";
    for (let at = start; at < end && bytes[at]! <= 0x7f; at++) {
      text += String.fromCharCode(bytes[at]!);
    }
    if (text.length === end - start) return text;
  }
  return decoder.decode(bytes.subarray(start, end));
}

/** The most units of an identifier (protocol §4). */
const MAX_NAME = 256;

/** The most bytes of its JSON: each unit may be an escape such as `\u0041`. */
const MAX_NAME_BYTES = 6 * MAX_NAME + 2;

/**
 * Calls a function with each member of the object at an offset, in order.
 *
 * @returns where the object ends
 */
export function eachMember(
  bytes: Uint8Array,
  at: number,
  visit: (member: JsonMember) => void,
): number {
  at = skipSpace(bytes, at + 1);
  while (bytes[at] === QUOTE) {
    const keyStart = at;
    const keyEnd = skipText(bytes, at);
    const start = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    const end = skipJsonValue(bytes, start);
    visit({ keyStart, keyEnd, start, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return at + 1;
}

/**
 * Calls a function with the start of each item of the array at an offset, in order; it returns where the
 * item ends ({@linkcode skipJsonValue} does), so that an item is passed once.
 *
 * @returns where the array ends
 */
export function eachItem(
  bytes: Uint8Array,
  at: number,
  visit: (start: number) => number,
): number {
  at = skipSpace(bytes, at + 1);
  while (at < bytes.length && bytes[at] !== CLOSE_ARRAY) {
    at = skipSpace(bytes, visit(at));
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return at + 1;
}

/** Returns where the value at an offset ends. */
export function skipJsonValue(bytes: Uint8Array, at: number): number {
  let depth = 0;
  while (at < bytes.length) {
    const c = bytes[at]!;
    if (c <= SPACE || c === COMMA || c === COLON) {
      at++;
      continue;
    }
    if (c === QUOTE) at = skipText(bytes, at);
    else if (c === OPEN_ARRAY || c === OPEN_OBJECT) {
      depth++;
      at++;
    } else if (c === CLOSE_ARRAY || c === CLOSE_OBJECT) {
      depth--;
      at++;
    } else at = skipWord(bytes, at);
    if (depth <= 0) return at;
  }
  return at;
}

/** The bytes of a text that are looked at one by one before the platform looks for its end. */
const NEAR_BYTES = 64;

function skipText(bytes: Uint8Array, at: number): number {
  at++;
  while (at < bytes.length) {
    const near = Math.min(at + NEAR_BYTES, bytes.length);
    while (at < near) {
      const c = bytes[at++];
      if (c === QUOTE) return at;
      if (c === BACKSLASH) at++;
    }
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) break;
    let slash = quote;
    while (slash > at && bytes[slash - 1] === BACKSLASH) slash--;
    at = quote + 1;
    // An odd number of backslashes escapes the quote.
    if ((quote - slash) % 2 === 0) return at;
  }
  return bytes.length;
}

/** Skips a number, `true`, `false` or `null`. */
function skipWord(bytes: Uint8Array, at: number): number {
  at++;
  while (at < bytes.length) {
    const c = bytes[at]!;
    const isEnd = c <= SPACE || c === COMMA || c === CLOSE_ARRAY ||
      c === CLOSE_OBJECT;
    if (isEnd) break;
    at++;
  }
  return at;
}

function skipSpace(bytes: Uint8Array, at: number): number {
  while (at < bytes.length && bytes[at]! <= SPACE) at++;
  return at;
}

/** Thrown when an edited text becomes larger than it may. */
export class JsonTooLargeError extends Error {
  override name = "JsonTooLargeError";
}

/**
 * What becomes of a member: a JSON text in place of its value, `null` to remove it, or a function that
 * edits its value; without, it stays.
 */
export type JsonChange = string | null | (() => void) | undefined;

/** Writes a changed copy of a JSON text: edits come in the order of the text, all else is copied. */
export class JsonEdit {
  readonly #bytes: Uint8Array;
  readonly #most: number;
  /** Up to where the text is copied, or left out. */
  #from: number;
  #out: Uint8Array<ArrayBuffer>;
  #length = 0;

  /**
   * Begins a copy.
   *
   * @param text what to copy
   * @param most the most bytes of the result
   */
  constructor(bytes: Uint8Array, text: JsonSpan, most: number) {
    this.#bytes = bytes;
    this.#most = most;
    this.#from = text.start;
    this.#out = new Uint8Array(Math.min(most, text.end - text.start + 1024));
  }

  /**
   * Writes a text in place of a part of the original.
   *
   * @throws {JsonTooLargeError} when the result has more bytes than it may
   */
  replace({ start, end }: JsonSpan, text: string): void {
    this.#copy(start);
    this.#from = end;
    this.#reserve(3 * text.length);
    const out = this.#out;
    let at = 0;
    // Most are short ASCII, for which the platform's encoder would take longer.
    while (at < text.length && text.charCodeAt(at) <= 0x7f) {
      out[this.#length++] = text.charCodeAt(at++);
    }
    if (at < text.length) {
      const rest = out.subarray(this.#length);
      this.#length += encoder.encodeInto(text.slice(at), rest).written;
    }
    this.#check();
  }

  /**
   * Changes members of the object at an offset.
   *
   * @param change decides about each member
   * @param added returns what to append, `"name":value` without a comma, after all members were seen
   * @returns where the object ends in the original
   * @throws {JsonTooLargeError} as {@linkcode JsonEdit.replace}
   */
  object(
    at: number,
    change: (member: JsonMember) => JsonChange,
    added?: () => string | undefined,
  ): number {
    /** The end of the last member that stays, or the opening bracket's. */
    let kept = at + 1;
    let isEmpty = true;
    let isCut = false;
    const end = eachMember(this.#bytes, at, (member) => {
      const text = change(member);
      if (text === null) {
        isCut = true;
        return;
      }
      if (isCut) {
        const gap = { start: kept, end: member.keyStart };
        this.replace(gap, isEmpty ? "" : ",");
        isCut = false;
      }
      if (typeof text === "string") this.replace(member, text);
      else text?.();
      kept = member.end;
      isEmpty = false;
    });
    const more = added?.();
    if (isCut || more !== undefined) {
      const comma = isEmpty || more === undefined ? "" : ",";
      const gap = { start: kept, end: isCut ? end - 1 : kept };
      this.replace(gap, `${comma}${more ?? ""}`);
    }
    return end;
  }

  /**
   * Returns the copy, up to the end of the text.
   *
   * @throws {JsonTooLargeError} as {@linkcode JsonEdit.replace}
   */
  finish(end: number): Uint8Array<ArrayBuffer> {
    this.#copy(end);
    this.#check();
    return this.#out.subarray(0, this.#length);
  }

  #copy(end: number): void {
    const from = this.#from;
    this.#from = end;
    this.#reserve(end - from);
    if (end - from > MAX_PLAIN_BYTES) {
      this.#out.set(this.#bytes.subarray(from, end), this.#length);
      this.#length += end - from;
      return;
    }
    const bytes = this.#bytes;
    const out = this.#out;
    for (let at = from; at < end; at++) out[this.#length++] = bytes[at]!;
  }

  /** Makes room for so many more bytes. */
  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#out.length) return;
    const grown = new Uint8Array(Math.ceil(1.5 * needed));
    grown.set(this.#out.subarray(0, this.#length));
    this.#out = grown;
  }

  #check(): void {
    if (this.#length <= this.#most) return;
    throw new JsonTooLargeError(
      `Cannot edit a JSON text: it would become larger than ${this.#most} bytes`,
    );
  }
}
