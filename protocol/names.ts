/**
 * The rules of objects, names and ids as plain functions: commands check their flags before they load the
 * validators of `validation.ts`.
 *
 * @module
 */

/** Returns whether a value is an object, and no list. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns whether data is an identifier (protocol §4): 1 to 256 UTF-16 units; zod's own length check counts code points. */
export const isIdentifier = (data: unknown): data is string =>
  typeof data === "string" && data.length >= 1 && data.length <= 256;

// deno-lint-ignore no-control-regex -- control characters are what this matches
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Returns whether a text has no control characters. */
export const hasNoControl = (text: string): boolean => !CONTROL.test(text);

/**
 * Returns whether a text is well-formed Unicode. A lone surrogate has no form in UTF-8: two names that
 * differ in it alone would be one wherever they are encoded, such as in Redis (protocol §4).
 */
export const isWellFormed = (text: string): boolean => text.isWellFormed();

/**
 * Returns whether each of some data is valid as the name of a member, in `agent` or `computer` (protocol §4): an
 * identifier that is well-formed.
 */
export function areMemberNames(...all: unknown[]): boolean {
  for (const data of all) {
    const isName = typeof data === "string" && data.length >= 1 &&
      data.length <= 256 && data.isWellFormed();
    if (!isName) return false;
  }
  return true;
}

/** Returns whether data is valid as the name of a member. */
export const isMemberName = (data: unknown): data is string =>
  areMemberNames(data);

/** Returns whether data is valid as `name` or `office_id` (protocol §5). */
export const isOfficeName = (data: unknown): data is string =>
  isMemberName(data) && hasNoControl(data);

/** What {@linkcode isOfficeName} accepts, for errors. */
export const OFFICE_NAME_RULE =
  "1 to 256 characters without control characters or lone surrogates";
