import { posix } from "node:path";
import { type Fault, roomOf } from "./layering_rules.ts";

/** An operand of a comparison. */
export interface Side {
  /** What it is, if it is a literal or `undefined`. */
  readonly text?: string;
  /** Its last name, if it is a reference. */
  readonly name?: string;
}

/** Where versions may be compared outside of `protocol/`, and why. */
const COMPARERS: Readonly<Record<string, string>> = {
  "server/http/gate.ts": "the gate: which versions may connect",
  "client/versions.ts": "which version a client speaks",
};

/** The name of a version, or its number. */
const VERSION = /^0\.[1-9]\d*(\.\d+)?$/;

/** References that hold a version, or a profile of one. */
const HOLDERS: readonly string[] = ["protocol", "profile"];

/** What compares versions for its caller. */
const FUNCTIONS: readonly string[] = [
  "checkVersion",
  "isCompatible",
  "parseVersion",
  "supportedRange",
];

/**
 * Checks operands that are compared with each other, or elements of an array in which one is looked up.
 *
 * What differs between versions is a property of their profiles, or in `protocol/profiles.ts`: a
 * comparison elsewhere is a rule of the protocol in a place where nobody looks for it.
 */
export function judgeComparison(
  file: string,
  sides: readonly Side[],
): Fault | undefined {
  const isOfVersions = sides.some(({ text = "" }) => VERSION.test(text)) ||
    sides.some(({ name = "" }) => HOLDERS.includes(name)) &&
      sides.every(({ text }) => text === undefined);
  return isOfVersions ? judge(file, "a version of the protocol") : undefined;
}

/** Checks an imported name: some functions compare versions. */
export function judgeComparer(
  file: string,
  specifier: string,
  name: string,
): Fault | undefined {
  const target = posix.join(posix.dirname(file), specifier);
  return target.startsWith("protocol/") && FUNCTIONS.includes(name)
    ? judge(file, `versions with ${name}()`)
    : undefined;
}

function judge(file: string, what: string): Fault | undefined {
  const room = roomOf(file);
  const isFree = room === undefined || room === "protocol" ||
    Object.hasOwn(COMPARERS, file);
  if (isFree) return undefined;
  return {
    message: `${file} compares ${what}; only protocol/ does, and ${
      Object.keys(COMPARERS).join(" and ")
    }`,
    hint: "Read a property of the version's profile, or add one",
  };
}
