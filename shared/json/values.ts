/**
 * How much a JSON text, or what it was parsed to, takes to work on.
 *
 * Their bytes are no measure of that: 2.6 million `{}` are 8 MB of text and 150 MB of objects. So _values_ are
 * counted: the commas, colons and opening brackets outside of texts, which a scan finds without building
 * anything. A value and the name of a member count about one each; a long text counts as none.
 *
 * @module
 */
import { BACKSLASH, COLON, COMMA, LIST, OBJECT, QUOTE } from "./characters.ts";
import { textEnd } from "./pieces.ts";

const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/** Counts the values of a JSON text, chunk by chunk, in time linear in its bytes. */
export class ValueCounter {
  /** The values so far. */
  count = 0;
  #inText = false;
  #isEscaped = false;

  /** Counts in the next bytes of UTF-8, or of any encoding that contains ASCII; returns the values so far. */
  push(chunk: Uint8Array): number {
    let { count } = this;
    let at = 0;
    while (at < chunk.length) {
      if (this.#inText) {
        at = this.#skipText(chunk, at);
        continue;
      }
      const byte = chunk[at++];
      if (byte === QUOTE) this.#inText = true;
      else if (
        byte === COMMA || byte === COLON || byte === LIST || byte === OBJECT
      ) count++;
    }
    return this.count = count;
  }

  /** Starts over with the next JSON text. */
  reset(): void {
    this.count = 0;
    this.#inText = false;
    this.#isEscaped = false;
  }

  /** Returns where a text ends; a line does too, of which JSON has none in texts: what is before it counts nothing. */
  #skipText(chunk: Uint8Array, start: number): number {
    let at = start;
    let next: TextSearch | undefined;
    while (at < chunk.length) {
      if (at - start >= LONG_TEXT && !this.#isEscaped) {
        next ??= new TextSearch(chunk);
        at = next.from(at);
        if (at === chunk.length) return at;
      }
      const byte = chunk[at++];
      if (byte === LINE_FEED || byte === RETURN) {
        this.#isEscaped = false;
        this.#inText = false;
        return at;
      }
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#isEscaped = true;
      else if (byte === QUOTE) {
        this.#inText = false;
        return at;
      }
    }
    return at;
  }
}

/** Bytes of a text after which searching for its end takes less time than reading it. */
const LONG_TEXT = 64;

/** That of `Buffer` takes twice as long. */
const { indexOf } = Uint8Array.prototype;

/** Finds the bytes that mean something in a text; each is searched for once, so that the time stays linear. */
class TextSearch {
  readonly #chunk: Uint8Array;
  /** The next quote, the end of the chunk where there is none. */
  #quote = -1;
  /** The next end of a line before the quote, else the quote. */
  #end = -1;

  constructor(chunk: Uint8Array) {
    this.#chunk = chunk;
  }

  /** Returns where the next quote, backslash or end of a line is; the end of the chunk where there is none. */
  from(at: number): number {
    if (this.#quote < at) {
      this.#quote = this.#find(QUOTE, at, this.#chunk.length);
      this.#end = Math.min(
        this.#find(LINE_FEED, at, this.#quote),
        this.#find(RETURN, at, this.#quote),
      );
    }
    return this.#find(BACKSLASH, at, this.#end);
  }

  /** @returns `end` where the byte is not before it */
  #find(byte: number, start: number, end: number): number {
    const found = indexOf.call(this.#chunk.subarray(start, end), byte);
    return found < 0 ? end : start + found;
  }
}

/**
 * Counts the values of a JSON text, up to where `JSON.parse` would fail at least.
 *
 * @param most where counting may stop: what is returned is then more than that
 */
export function countValues(text: string, most = Infinity): number {
  let count = 0;
  for (let at = 0; at < text.length && count <= most; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = textEnd(text, at);
        break;
      case COMMA:
      case COLON:
      case LIST:
      case OBJECT:
        count++;
    }
  }
  return count;
}

/** What a value takes. */
export interface Weight {
  /** As {@linkcode countValues} counts them in its text. */
  values: number;
  /** UTF-16 units of its texts and names. */
  letters: number;
}

/**
 * Weighs what was parsed from JSON.
 *
 * @param most values where weighing may stop: what is returned has more than that then
 */
export function weigh(value: unknown, most = Infinity): Weight {
  const work = weighing(value, most);
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** What a value takes of a process's memory beside its text, in letters. */
const LETTERS_PER_VALUE = 8;

/** Returns how much memory what was parsed from JSON takes, about, in letters. */
export function roomOf(value: unknown): number {
  const { values, letters } = weigh(value);
  return letters + values * LETTERS_PER_VALUE;
}

/** Lists, objects and members that are looked at before there is a pause. */
const BETWEEN_PAUSES = 1_000;

/** Does as {@linkcode weigh}, and yields where its caller may do something else. */
export function* weighing(
  value: unknown,
  most = Infinity,
): Generator<void, Weight> {
  const weight: Weight = { values: 0, letters: 0 };
  const waiting: unknown[] = [value];
  let looked = 0;
  while (waiting.length > 0 && weight.values <= most) {
    const next = waiting.pop();
    if (typeof next === "string") weight.letters += next.length;
    if (typeof next !== "object" || next === null) continue;
    if (++looked % BETWEEN_PAUSES === 0) yield;
    if (Array.isArray(next)) {
      weight.values += Math.max(next.length, 1); // its bracket, and commas
      if (weight.values > most) break;
      for (const item of next) if (weighs(item)) waiting.push(item);
    } else {
      const before = weight.values;
      for (const name in next) {
        weight.values += 2; // its bracket or comma, and its colon
        weight.letters += name.length;
        if (weight.values > most) break;
        if (++looked % BETWEEN_PAUSES === 0) yield;
        const item: unknown = Reflect.get(next, name);
        if (weighs(item)) waiting.push(item);
      }
      if (weight.values === before) weight.values++;
    }
  }
  return weight;
}

const weighs = (value: unknown): boolean =>
  typeof value === "string" || typeof value === "object" && value !== null;
