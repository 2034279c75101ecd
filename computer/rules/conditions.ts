/**
 * The conditions of rules about an argument of a call. Each has three outcomes: it holds, it does not, or
 * that cannot be said, as of a relative path. A rule that allows needs conditions that hold; one that asks or
 * denies matches as long as none is known not to hold.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { isPlainObject } from "../../protocol/validation.ts";
import { globOf } from "../../shared/glob.ts";

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

/** A condition that is ready for calls: what does not depend on them is worked out. */
export type Check = (argument: Argument) => Outcome;

/** An argument of a call; what the checks of several rules need of it is read once. */
export class Argument {
  readonly value: unknown;
  #path: FoldedPath | null | undefined;
  #host: string | null | undefined;

  constructor(value: unknown) {
    this.value = value;
  }

  /** As a path; null where it is none that can be judged. */
  get path(): FoldedPath | null {
    return this.#path ??= FoldedPath.read(this.value);
  }

  /** The host of a URL; null where it is none that can be judged. */
  get host(): string | null {
    return this.#host ??= readHost(this.value);
  }
}

/** Makes a check of the conditions of an argument. */
export function checkOf(conditions: Conditions): Check {
  const { equals, in: list, under, host, min, max } = conditions;
  const checks: Check[] = [];
  if (equals !== undefined) checks.push(({ value }) => isSame(value, equals));
  if (list !== undefined) {
    checks.push(({ value }) => list.some((each) => isSame(value, each)));
  }
  if (min !== undefined) checks.push(numberCheck((value) => value >= min));
  if (max !== undefined) checks.push(numberCheck((value) => value <= max));
  if (under !== undefined) checks.push(underCheck(under));
  if (host !== undefined) checks.push(hostCheck(host));
  const [only] = checks;
  return only && checks.length === 1 ? only : (argument) => {
    let outcome: Outcome = true;
    for (const check of checks) {
      const holds = check(argument);
      if (holds === false) return false;
      outcome &&= holds;
    }
    return outcome;
  };
}

const numberCheck = (holds: (value: number) => boolean): Check => ({ value }) =>
  isNumber(value) ? holds(value) : undefined;

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

// ------------------------------------------------------------------ paths

/** An absolute path in its parts. */
interface AbsolutePath {
  /** The letter of a Windows drive; empty on other systems. */
  readonly drive: string;
  readonly parts: readonly string[];
}

/**
 * Reads an absolute path by its text alone; undefined where systems or programs may disagree about it: a
 * relative one, `..` above the root, a backslash in a path with `/`, `//host`, control characters, a part that
 * is `..` or several parts in another form, and on Windows short names (`PROGRA~1`), streams, and parts that
 * end with a dot or a space.
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
    if (isStepInDisguise(part)) return undefined;
    parts.push(part);
  }
  return { drive, parts };
}

/** Returns whether a part leads up, or to several, for a program that trims it or makes one Unicode form of it. */
function isStepInDisguise(part: string): boolean {
  if (/^[!-~]*$/.test(part)) return false;
  const form = folded(part).trim();
  return /^\.{0,2}$|[/\\]/.test(form);
}

/** A path whose parts are compared without their case and Unicode form, too. */
class FoldedPath {
  readonly drive: string;
  readonly parts: readonly string[];
  readonly #folded: string[] = [];

  private constructor({ drive, parts }: AbsolutePath) {
    this.drive = drive;
    this.parts = parts;
  }

  static read(path: unknown): FoldedPath | null {
    const read = readPath(path);
    return read === undefined ? null : new FoldedPath(read);
  }

  /** Returns a part in a form that any common file system takes for the same; undefined behind the last. */
  folded(at: number): string | undefined {
    const part = this.parts[at];
    return part === undefined ? undefined : this.#folded[at] ??= folded(part);
  }
}

/** Judges a path; parts that differ by case or Unicode form alone are one file on some systems. */
function underCheck(folder: string): Check {
  const base = FoldedPath.read(folder);
  return ({ path }) => {
    if (path === null || base === null) return undefined;
    if (path.drive !== base.drive) {
      // On Windows, `/a` is on whichever drive is current.
      return path.drive === "" || base.drive === "" ? undefined : false;
    }
    let outcome: Outcome = true;
    for (let i = 0; i < base.parts.length; i++) {
      if (path.parts[i] === base.parts[i]) continue;
      if (path.folded(i) !== base.folded(i)) return false;
      outcome = undefined;
    }
    return outcome;
  };
}

/** Makes parts equal that any common file system takes for the same. */
const folded = (part: string): string =>
  isAscii(part)
    ? part.toLowerCase()
    : part.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC")
      .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, "");

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text);

// ------------------------------------------------------------------ hosts

/** Judges the host of a URL. */
function hostCheck(glob: string): Check {
  const matches = globOf(glob.toLowerCase());
  return ({ host }) => host === null ? undefined : matches(host);
}

/**
 * Reads the host of a URL. Null is that of another scheme, of a URL with a backslash, a space or a control
 * character, and of one whose host is not written as it is read: with a user, escapes, letters beyond
 * ASCII, or as a number. Programs find different hosts there.
 */
function readHost(value: unknown): string | null {
  // deno-lint-ignore no-control-regex
  if (typeof value !== "string" || /[\s\\\x00-\x1f\x7f]/.test(value)) {
    return null;
  }
  // The parser would mend `https:host` and `https:///host`.
  const [, place = ""] = /^https?:\/\/([^/?#]+)/i.exec(value) ?? [];
  const host = URL.parse(value)?.hostname.replace(/\.$/, "");
  const written = place.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  return !host || host !== written ? null : host;
}
