/**
 * The content of a question, as a list: the arguments of a call with every name at every depth, and how a
 * long text is cut.
 *
 * Values of JSON become lines of `name: value`. An object or a list with objects in it has a line for
 * each of its parts, so that no name hides in a text that is cut; what has no names is one text.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { endOf, startOf, textWidth } from "../../cli/terminal_text.ts";
import { isRecord } from "../../protocol/names.ts";
import { nameText, quoted } from "../../shared/shown_text.ts";

/** A line of a question: a name, and a text in which odd characters are named. */
export interface Fact {
  /** Words of ours; or the name of an argument as it is shown, or its place in a list. */
  readonly name: string;
  /** 0 with words of ours, 1 for an argument, more for what is in it. */
  readonly depth: number;
  /** The text, with the breaks of its lines; empty where the name is enough. */
  readonly text: string;
  /** The number of characters that it stands for. */
  readonly length: number;
}

/** The most bytes of arguments, as JSON, that a person can allow. */
export const MAX_BYTES = 2 ** 18;
/** The most names in them, at all depths. */
export const MAX_NAMES = 200;
/** How deep they may be nested, as in a message. */
const MAX_DEPTH = 64;

/** The least bytes of an object or list, with what separates it. */
const MIN_VALUE = 3;

/**
 * Describes the arguments of a call; reads little more than {@linkcode MAX_BYTES} of them.
 *
 * @returns with why they cannot be allowed, where only the beginning is shown
 */
export function describeArguments(params: Readonly<Record<string, unknown>>) {
  const measure = new Measure();
  measure.add(params, 0);
  const { excess } = measure;
  return excess === undefined
    ? { facts: [...partsOf(params, 0, measure)] }
    : { facts: beginning(params), excess };
}

/** Returns why the texts of a question are too much to be read, or nothing. */
export function describeExcess(texts: readonly string[]): string | undefined {
  const measure = new Measure();
  measure.add(texts, 0);
  return measure.excess;
}

/** Counts what values have, and stops where that is too much. */
class Measure {
  /** Why it is too much. */
  excess: string | undefined;
  /** Those of the values that have names in them. */
  readonly named = new Set<object>();
  #bytes = 0;
  #names = 0;

  /** Counts a value. */
  add(value: unknown, depth: number): void {
    if (typeof value === "string") return this.#count(value);
    this.#grow(MIN_VALUE);
    if (typeof value !== "object" || value === null) {
      return this.#count(String(value));
    }
    if (depth > MAX_DEPTH) {
      this.excess ??= `nested more than ${MAX_DEPTH} levels deep`;
      return;
    }
    const names = Array.isArray(value) ? [] : Object.keys(value);
    this.#names += names.length;
    if (this.#names > MAX_NAMES) {
      this.excess ??= `more than ${MAX_NAMES} names`;
    }
    if (names.length > 0) this.named.add(value);
    for (const each of Array.isArray(value) ? value : names) {
      if (this.excess !== undefined) return;
      const part: unknown = Array.isArray(value)
        ? each
        : Reflect.get(value, each);
      if (!Array.isArray(value)) this.#count(each);
      this.add(part, depth + 1);
      if (isObject(part) && this.named.has(part)) this.named.add(value);
    }
  }

  #count(text: string): void {
    const isLong = text.length > MAX_BYTES;
    this.#grow(isLong ? text.length : Buffer.byteLength(JSON.stringify(text)));
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MAX_BYTES) {
      this.excess ??= `more than ${MAX_BYTES / 1024} KiB`;
    }
  }
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null;

/** Describes the parts of an object or a list that has names in it. */
function* partsOf(
  whole: object,
  depth: number,
  measure: Measure,
): Generator<Fact> {
  if (!Array.isArray(whole)) {
    for (const [name, part] of Object.entries(whole)) {
      yield* factsOf(nameText(name), part, depth + 1, measure);
    }
    return;
  }
  let from = 0;
  for (const [at, part] of whole.entries()) {
    if (!isObject(part) || !measure.named.has(part)) continue;
    yield* itemsOf(whole, from, at, depth + 1);
    yield* factsOf(`[${at}]`, part, depth + 1, measure);
    from = at + 1;
  }
  yield* itemsOf(whole, from, whole.length, depth + 1);
}

/** Describes the items between those that have names, as one text. */
function* itemsOf(
  list: readonly unknown[],
  from: number,
  to: number,
  depth: number,
): Generator<Fact> {
  if (from === to) return;
  const text = list.slice(from, to).map(valueText).join(", ");
  const name = to - from === 1 ? `[${from}]` : `[${from} to ${to - 1}]`;
  yield { name, depth, text, length: text.length };
}

function* factsOf(
  name: string,
  value: unknown,
  depth: number,
  measure: Measure,
): Generator<Fact> {
  if (isObject(value) && measure.named.has(value)) {
    yield { name, depth, text: sizeText(value), length: 0 };
    yield* partsOf(value, depth, measure);
  } else if (typeof value === "string") {
    yield { name, depth, text: quoted(value, true), length: value.length };
  } else {
    const text = valueText(value);
    yield { name, depth, text, length: text.length };
  }
}

/** Writes a value that has no names in it. */
const valueText = (value: unknown): string =>
  typeof value === "string"
    ? quoted(value)
    : Array.isArray(value)
    ? `[${value.map(valueText).join(", ")}]`
    : isRecord(value)
    ? "{}"
    : String(value);

const sizeText = (value: object): string =>
  Array.isArray(value)
    ? `(${counted(value.length, "item")})`
    : `(${counted(Object.keys(value).length, "name")})`;

const counted = (number: number, what: string): string =>
  `${number} ${what}${number === 1 ? "" : "s"}`;

/** How much is shown of a name, and of a value, that cannot be allowed. */
const MAX_BEGINNING = 24;

/** Describes the first of arguments that are too many or too large. */
function beginning(params: Readonly<Record<string, unknown>>): Fact[] {
  const names = Object.keys(params);
  const facts = names.slice(0, MAX_NAMES).map((name): Fact => {
    const value = params[name];
    const first = firstUnits(name, MAX_BEGINNING);
    const text = typeof value === "string"
      ? `${quoted(firstUnits(value, MAX_BEGINNING))}${
        value.length > MAX_BEGINNING
          ? ` … (${counted(value.length, "character")})`
          : ""
      }`
      : isObject(value)
      ? sizeText(value)
      : String(value);
    return {
      // Names with the same beginning do not look like the same name; no name has a bare `…`.
      name: `${nameText(first)}${first === name ? "" : "…"}`,
      depth: 1,
      text,
      length: text.length,
    };
  });
  const more = names.length - facts.length;
  if (more === 0) return facts;
  const name = `… and ${more} more arguments`;
  return [...facts, { name, depth: 0, text: "", length: 0 }];
}

/**
 * Cuts a text to so many columns at its beginning and at its end; line breaks become spaces.
 *
 * @returns both without what is between them; undefined for a text of one line that has no more
 */
export function cutText(text: string, head: number, tail: number) {
  const isLine = text.length <= 2 * (head + tail) && !text.includes("\n");
  if (isLine && textWidth(text) <= head + tail) return undefined;
  const first = firstUnits(text, 4 * head).replaceAll("\n", " ");
  const last = lastUnits(text, 4 * tail).replaceAll("\n", " ");
  return { head: startOf(first, head), tail: endOf(last, tail) };
}

/** Returns at most so many units of the beginning of a text: half a character would be shown as another. */
export const firstUnits = (text: string, units: number): string =>
  text.slice(0, isInCharacter(text, units) ? units - 1 : units);

/** Returns at most so many units of its end. */
function lastUnits(text: string, units: number): string {
  const from = Math.max(0, text.length - units);
  return text.slice(isInCharacter(text, from) ? from + 1 : from);
}

/** Whether a place in a text is between the two units of a character. */
const isInCharacter = (text: string, at: number): boolean =>
  (text.codePointAt(at - 1) ?? 0) > 0xffff;
