/**
 * Placeholders such as `${input:ID}`, and the names of inputs and of their environment variables.
 *
 * @module
 */

/** `${input:ID}` stands for a value that is not in the configuration (protocol §4). */
const PLACEHOLDER = /\$\{input:([^}]*)\}/g;

/** A part of a string: literal text, or one placeholder. */
type TextPart =
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "placeholder";
    /** Including `${input:` and `}`. */
    readonly text: string;
    /** The id of the input. */
    readonly id: string;
  };

/** Splits a string into literal text and placeholders. */
export function splitPlaceholders(value: string): TextPart[] {
  const parts: TextPart[] = [];
  let at = 0;
  for (const match of value.matchAll(PLACEHOLDER)) {
    if (match.index > at) {
      parts.push({ kind: "text", text: value.slice(at, match.index) });
    }
    const [text, id = ""] = match;
    parts.push({ kind: "placeholder", text, id });
    at = match.index + text.length;
  }
  if (at < value.length) parts.push({ kind: "text", text: value.slice(at) });
  return parts;
}

/** Collects the ids of all placeholders in a configuration, without duplicates, in order of appearance. */
export function placeholderIds(value: unknown): string[] {
  const idsIn = (value: unknown): string[] =>
    typeof value === "string"
      ? [...value.matchAll(PLACEHOLDER)].map(([, id = ""]) => id)
      : Object.values(Object(value)).flatMap(idsIn);
  return [...new Set(idsIn(value))];
}

/** Prefix of an input id that stands for an environment variable, as in `${env:HOME}`. */
const ENVIRONMENT_ID = "env:";

/**
 * Returns the id of an input that stands for an environment variable.
 *
 * @param number from 1 on: a variable has a further input for each further default
 */
export const environmentId = (variable: string, number = 1): string =>
  `${ENVIRONMENT_ID}${variable}${number === 1 ? "" : `#${number}`}`;

/** Returns the environment variable that an input stands for, if it stands for one. */
export const environmentVariable = (id: string): string | undefined =>
  id.startsWith(ENVIRONMENT_ID)
    ? id.slice(ENVIRONMENT_ID.length).replace(/#\d+$/, "")
    : undefined;

/**
 * Lists the environment variables that may hold an input's value; the first that is set wins.
 *
 * `SMCP_INPUT_` with the id unchanged, then with the id in upper case and `_` for every character
 * that a shell does not allow in a name: `github-token` is `SMCP_INPUT_GITHUB_TOKEN`. At last the
 * name that other SDKs give it. An id such as `env:HOME`, which other SDKs do not have, is the
 * variable `HOME` itself, and so is `env:HOME#2`, which has another default.
 */
export function inputVariables(id: string): string[] {
  const plain = id.toUpperCase().replaceAll(/[^A-Z0-9_]/g, "_");
  const names = [`SMCP_INPUT_${id}`, `SMCP_INPUT_${plain}`];
  const variable = environmentVariable(id);
  const all = variable === undefined
    ? [...names, sharedVariable(id)]
    : [variable, ...names];
  return [...new Set(all)];
}

/**
 * Returns the environment variable of an input in every SDK, byte for byte (protocol §4).
 *
 * @param owners the `bundle_id` of an MCP server that it is for alone, and a tool's name; no SDK
 * reads those variables yet
 */
export const sharedVariable = (id: string, ...owners: string[]): string =>
  ["A2C_SMCP", id, ...owners]
    .map((part) => part.replaceAll(/[^A-Za-z0-9_]/gu, "_")).join("_");

/**
 * Reads `ID=VALUE`; the value may be empty or contain further `=`.
 *
 * @throws {TypeError} when there is no id; the message never contains the value
 */
export function parseInputFlag(text: string): [id: string, value: string] {
  const sign = text.indexOf("=");
  if (sign > 0) return [text.slice(0, sign), text.slice(sign + 1)];
  throw new TypeError(
    sign === 0
      ? "Cannot read an input: there is nothing before the '='; write ID=VALUE"
      : "Cannot read an input: there is no '=' in it; write ID=VALUE",
  );
}

/** Describes an input without a value, and how to give it one. */
export function noValue(id: string): string {
  const variable = environmentVariable(id) ?? inputVariables(id)[1] ??
    `SMCP_INPUT_${id}`;
  return `input "${id}" has no value; give one with --input ${id}=VALUE or the environment variable ${variable}`;
}

/** Describes a placeholder whose input is not defined. */
export const notDefined = (id: string): string =>
  `there is no input "${id}"; define it under "inputs", or correct \${input:${id}}`;
