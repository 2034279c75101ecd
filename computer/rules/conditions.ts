/**
 * The conditions of rules about an argument of a call. Each has three outcomes: it holds, it does not, or
 * that cannot be said, as of a relative path. A rule that allows needs conditions that hold; one that asks or
 * denies matches as long as none is known not to hold.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { isPlainObject } from "../../protocol/validation.ts";

/** What an argument must be; several conditions must all hold. */
export interface Conditions {
  /** Equal to this JSON value. */
  readonly equals?: unknown;
  /** Equal to one of these. */
  readonly in?: readonly unknown[];
  /** An absolute path of this folder, or of something in it; `..` is resolved, links are not followed. */
  readonly under?: string;
  /** An `http:` or `https:` URL with this host, in which `*` stands for any characters. */
  readonly host?: string;
  /** A number of at least this. */
  readonly min?: number;
  /** A number of at most this. */
  readonly max?: number;
}

/** Whether a condition holds; undefined where that cannot be said. */
export type Outcome = boolean | undefined;

/** Judges the conditions of all arguments that a rule names; an argument that the call lacks meets none. */
export function judgeArguments(
  when: Readonly<Record<string, Conditions>>,
  params: Readonly<Record<string, unknown>>,
): Outcome {
  let outcome: Outcome = true;
  for (const [name, conditions] of Object.entries(when)) {
    if (!Object.hasOwn(params, name)) return false;
    const holds = judge(conditions, params[name]);
    if (holds === false) return false;
    outcome &&= holds;
  }
  return outcome;
}

/** Judges one argument. */
export function judge(conditions: Conditions, value: unknown): Outcome {
  const { equals, under, host, min, max } = conditions;
  const outcomes: Outcome[] = [
    equals === undefined || isSame(value, equals),
    conditions.in === undefined ||
    conditions.in.some((each) => isSame(value, each)),
    under === undefined || isUnder(value, under),
    host === undefined || hasHost(value, host),
    min === undefined || (isNumber(value) ? value >= min : undefined),
    max === undefined || (isNumber(value) ? value <= max : undefined),
  ];
  if (outcomes.includes(false)) return false;
  return outcomes.includes(undefined) ? undefined : true;
}

/** Returns whether a value is a number that JSON has: 1e400 is read as none of them, and written as null. */
const isNumber = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value);

/**
 * Compares JSON values as they are sent: -0 is 0 there, and what is no number of JSON is null. The order of
 * keys does not matter; it ends at the first difference, since values may be large.
 */
export function isSame(a: unknown, b: unknown): boolean {
  const x = sent(a);
  const y = sent(b);
  if (x === y) return true;
  if (!isObject(x) || !isObject(y)) return false;
  if (Array.isArray(x) && Array.isArray(y)) {
    return x.length === y.length && x.every((each, i) => isSame(each, y[i]));
  }
  const isPlain = isPlainObject(x) && isPlainObject(y);
  if (!isPlain) return isDeepStrictEqual(x, y); // of a program in this process
  const keys = Object.keys(x);
  return keys.length === Object.keys(y).length &&
    keys.every((key) =>
      Object.hasOwn(y, key) && isSame(Reflect.get(x, key), Reflect.get(y, key))
    );
}

const sent = (value: unknown): unknown =>
  typeof value !== "number" ? value : Number.isFinite(value) ? value + 0 : null;

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null;

/** Matches a text as a whole; `*` stands for any characters, all others for themselves. */
export function matchesGlob(glob: string, text: string): boolean {
  // Most rules are about something else.
  if (glob[0] !== "*" && glob[0] !== text[0]) return false;
  let at = 0;
  let star = -1;
  let from = 0;
  let i = 0;
  while (i < text.length) {
    if (glob[at] === "*") {
      star = at++;
      from = i;
    } else if (glob[at] === text[i]) {
      at++;
      i++;
    } else if (star >= 0) {
      // The last star takes one character more.
      at = star + 1;
      i = ++from;
    } else {
      return false;
    }
  }
  while (glob[at] === "*") at++;
  return at === glob.length;
}

// ------------------------------------------------------------------ paths

/** An absolute path in its parts. */
interface AbsolutePath {
  /** The letter of a Windows drive; empty on other systems. */
  readonly drive: string;
  readonly parts: readonly string[];
}

/**
 * Reads an absolute path by its text alone; undefined where systems or programs may disagree about it: a
 * relative one, `..` above the root, a backslash in a path with `/`, `//host`, control characters, and on
 * Windows short names (`PROGRA~1`), streams, and parts that end with a dot or a space.
 */
export function readPath(path: unknown): AbsolutePath | undefined {
  if (typeof path !== "string" || !path.isWellFormed()) return undefined;
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x1f\x7f]/.test(path)) return undefined;
  const drive = /^([a-z]):[\\/]/i.exec(path)?.[1]?.toLowerCase() ?? "";
  const rest = path.slice(drive === "" ? 1 : 3);
  if (drive === "" && (!/^\/(?!\/)/.test(path) || path.includes("\\"))) {
    return undefined;
  }
  const parts: string[] = [];
  for (const part of rest.split(drive === "" ? "/" : /[\\/]/)) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      if (parts.pop() === undefined) return undefined;
      continue;
    }
    if (drive !== "" && /[. ]$|~\d|[:*?"<>|]/.test(part)) return undefined;
    parts.push(part);
  }
  return { drive, parts };
}

/** The folders of rules, of which there are few. */
const folders = new Map<string, AbsolutePath | undefined>();
const MAX_FOLDERS = 1_000;

function folderOf(folder: string): AbsolutePath | undefined {
  if (folders.has(folder)) return folders.get(folder);
  if (folders.size >= MAX_FOLDERS) folders.clear();
  const path = readPath(folder);
  folders.set(folder, path);
  return path;
}

/** Judges a path; parts that differ by case or Unicode form alone are one file on some systems. */
function isUnder(value: unknown, folder: string): Outcome {
  const path = readPath(value);
  const base = folderOf(folder);
  if (path === undefined || base === undefined) return undefined;
  if (path.drive !== base.drive) {
    // On Windows, `/a` is on whichever drive is current.
    return path.drive === "" || base.drive === "" ? undefined : false;
  }
  let outcome: Outcome = true;
  for (const [i, part] of base.parts.entries()) {
    const other = path.parts[i];
    if (other === part) continue;
    if (other === undefined || folded(other) !== folded(part)) return false;
    outcome = undefined;
  }
  return outcome;
}

/** Makes parts equal that any common file system takes for the same. */
const folded = (part: string): string =>
  part.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC")
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "");

// ------------------------------------------------------------------ hosts

/**
 * Judges the host of a URL. Not said is that of another scheme, of a URL with a backslash, a space or a
 * control character, and of one whose host is not written as it is read: with a user, escapes, letters
 * beyond ASCII, or as a number. Programs find different hosts there.
 */
function hasHost(value: unknown, glob: string): Outcome {
  // deno-lint-ignore no-control-regex
  if (typeof value !== "string" || /[\s\\\x00-\x1f\x7f]/.test(value)) {
    return undefined;
  }
  // The parser would mend `https:host` and `https:///host`.
  const [, place = ""] = /^https?:\/\/([^/?#]+)/i.exec(value) ?? [];
  const host = URL.parse(value)?.hostname.replace(/\.$/, "");
  const written = place.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  return !host || host !== written
    ? undefined
    : matchesGlob(glob.toLowerCase(), host);
}
