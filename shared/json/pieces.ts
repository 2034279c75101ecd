/**
 * Parses a long JSON text in pieces, between which its caller may do something else.
 *
 * One scan finds where values, containers and their members begin and end. When a piece is full, the
 * members that have ended in each open container are parsed together, by `JSON.parse`, and put into it;
 * containers that are still open are made, and filled as the scan goes on. The result is that of
 * `JSON.parse` for the whole text.
 *
 * @module
 */
import {
  BACKSLASH,
  COMMA,
  LIST,
  LIST_END,
  OBJECT,
  OBJECT_END,
  QUOTE,
} from "./characters.ts";

/** Values of a piece: `JSON.parse` takes some milliseconds for them. */
const PIECE_VALUES = 10_000;
/** UTF-16 units of a piece, which are scanned and parsed in about the same time. */
const PIECE_LENGTH = 2 ** 18;

/** A container that the scan is in. */
interface Open {
  readonly isList: boolean;
  /** Where its bracket is. */
  readonly start: number;
  /** Where the member begins that the scan is in. */
  member: number;
  /** Where the first member begins that is not put into `made`; -1 where there is none. */
  pending: number;
  /** Where the last member ends that was made by itself. */
  filled: number;
  /** What its members are put into; absent while all of it may be parsed as a member of another one. */
  made?: unknown[] | Record<string, unknown>;
}

/**
 * Parses a JSON text, and yields after each piece.
 *
 * @returns what `JSON.parse` returns
 * @throws {SyntaxError} for a text that is no JSON
 */
export function* parsePieces(text: string): Generator<void, unknown> {
  const open: Open[] = [];
  let values = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = textEnd(text, at);
        break;
      case LIST:
      case OBJECT: {
        const isList = text.charCodeAt(at) === LIST;
        const first = at + 1;
        open.push({
          isList,
          start: at,
          member: first,
          pending: first,
          filled: 0,
        });
        values++;
        break;
      }
      case COMMA: {
        const within = open.at(-1);
        if (within === undefined) break;
        within.member = at + 1;
        if (within.pending < 0) {
          checkBlank(text, within.filled, at);
          within.pending = at + 1;
        }
        values++;
        break;
      }
      case LIST_END:
      case OBJECT_END: {
        const ended = open.pop();
        if (ended?.made === undefined) break;
        if (ended.isList !== (text.charCodeAt(at) === LIST_END)) fail(at);
        put(text, ended, at);
        const within = open.at(-1);
        if (within === undefined) {
          checkBlank(text, at + 1, text.length);
          return ended.made;
        }
        within.filled = at + 1;
        break;
      }
    }
    if (values < PIECE_VALUES && at - from < PIECE_LENGTH) continue;
    make(text, open);
    values = 0;
    from = at;
    yield;
  }
  return JSON.parse(text);
}

/** Parses all members that have ended, and makes the containers that have not. */
function make(text: string, open: readonly Open[]): void {
  open.forEach((container, depth) => {
    if (depth === 0) checkBlank(text, 0, container.start);
    container.made ??= container.isList ? [] : {};
    if (container.pending >= 0 && container.pending < container.member) {
      put(text, container, container.member - 1);
    }
    const inner = open[depth + 1];
    // Of a member that is filled already, nothing is pending.
    const isPending = inner === undefined && container.pending >= 0;
    container.pending = isPending ? container.member : -1;
    if (inner === undefined || inner.made) return;
    inner.made = inner.isList ? [] : {};
    const { member } = container;
    if (container.isList) checkBlank(text, member, inner.start);
    const [key = ""] = container.isList
      ? []
      : Object.keys(JSON.parse(`{${text.slice(member, inner.start)}""}`));
    add(container.made, key, inner.made);
  });
}

/** Parses the pending members of a container up to the comma or bracket at `end`, and puts them into it. */
function put(
  text: string,
  { start, pending, filled, isList, made }: Open,
  end: number,
): void {
  if (made === undefined) return;
  if (pending < 0) return checkBlank(text, filled, end);
  const members = text.slice(pending, end);
  const mayBeEmpty = pending === start + 1 && text.charCodeAt(end) !== COMMA;
  if (!mayBeEmpty && BLANK.test(members)) fail(end);
  const parsed = JSON.parse(isList ? `[${members}]` : `{${members}}`);
  if (isList) { for (const item of parsed) add(made, "", item); }
  else for (const key of Object.keys(parsed)) add(made, key, parsed[key]);
}

const BLANK = /^[ \t\n\r]*$/;

function checkBlank(text: string, from: number, to: number): void {
  if (from < to && !BLANK.test(text.slice(from, to))) fail(from);
}

function fail(at: number): never {
  throw new SyntaxError(`Invalid JSON at position ${at}`);
}

function add(
  made: unknown[] | Record<string, unknown>,
  key: string,
  value: unknown,
): void {
  if (Array.isArray(made)) made.push(value);
  else if (key !== "__proto__") made[key] = value;
  // An assignment would change the prototype.
  else {
    Object.defineProperty(made, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
}

/** Returns where the text that begins at a quote ends, at its other quote; the end of all where it has none. */
export function textEnd(text: string, start: number): number {
  for (let from = start + 1;;) {
    const end = text.indexOf('"', from);
    if (end < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
    from = end + 1;
  }
}
