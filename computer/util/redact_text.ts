import { splitPlaceholders } from "./placeholders.ts";

/** Replaces a literal value (spec §7). */
export const REDACTED = "<redacted>";

/** Matches names of options whose values are secret (spec §7). */
export const SECRET_NAME: RegExp = /key|token|secret|password|auth/i;

/** Matches `--x=v` and its equivalents `NAME=v` and `Header: v`. */
const NAMED_VALUE = /^([^=:\s/]+)(=|:\s*)([^]+)$/;

const IS_URL = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Captures scheme (which may contain a placeholder), userinfo, authority and path, query, fragment. */
const URL_PARTS =
  /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*@)?([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/i;

/** Private-use character that replaces each placeholder during redaction; no URL syntax matches it. */
const PLACEHOLDER_MARK = "\ue000";

/** Redacts the literal text of a variable's or header's value; placeholders stay (spec §7). */
export const redactValue = (value: string | number | boolean): string =>
  withMarks(`${value}`, redactMarked);

/** Redacts userinfo, query and fragment of a URL; names of parameters and placeholders stay (spec §7). */
export const redactUrl = (url: string): string =>
  withMarks(url, redactMarkedUrl);

/**
 * Redacts the arguments of a program (spec §7).
 *
 * Removes the values of options with a secret-sounding name, written as `--x v`, `--x=v`, `X=v`
 * (docker's `-e`) or `X: v` (a header), also nested, and what {@linkcode redactUrl} removes of URLs.
 */
export const redactArguments = (args: readonly string[]): string[] =>
  args.map((arg, i) => {
    const before = args[i - 1] ?? "";
    const isValue = /^-[^=]+$/.test(before) && SECRET_NAME.test(before) &&
      !arg.startsWith("--");
    return withMarks(arg, isValue ? redactMarked : redactMarkedArgument);
  });

function redactMarkedArgument(arg: string): string {
  if (IS_URL.test(arg)) return redactMarkedUrl(arg);
  const [, name, sign = "", value = ""] = NAMED_VALUE.exec(arg) ?? [];
  if (name === undefined) return arg;
  return name + sign +
    (SECRET_NAME.test(name)
      ? redactMarked(value)
      : redactMarkedArgument(value));
}

function redactMarkedUrl(text: string): string {
  const [, scheme = "", userinfo, rest = "", query, fragment] =
    URL_PARTS.exec(text) ?? [];
  return scheme +
    (userinfo === undefined
      ? ""
      : `${userinfo.slice(0, -1).split(":").map(redactMarked).join(":")}@`) +
    rest +
    (query === undefined ? "" : `?${redactPairs(query)}`) +
    (fragment === undefined ? "" : `#${redactPairs(fragment)}`);
}

const redactPairs = (pairs: string): string =>
  pairs.split("&").map((pair) => {
    const sign = pair.indexOf("=");
    return pair.slice(0, sign + 1) + redactMarked(pair.slice(sign + 1));
  }).join("&");

const redactMarked = (text: string): string =>
  text.replaceAll(/[^\ue000]+/g, REDACTED);

function withMarks(value: string, redact: (marked: string) => string): string {
  const placeholders: string[] = [];
  const marked = splitPlaceholders(value).map((part) => {
    if (part.kind === "text") {
      return part.text.replaceAll(PLACEHOLDER_MARK, "\ufffd");
    }
    placeholders.push(part.text);
    return PLACEHOLDER_MARK;
  });
  return redact(marked.join(""))
    .replaceAll(PLACEHOLDER_MARK, () => placeholders.shift() ?? "");
}
