import { splitPlaceholders } from "./placeholders.ts";

/** What stands where a literal value was (spec §7). */
export const REDACTED = "<redacted>";

/** An option with one of these in its name has a value that nobody else sees (spec §7). */
export const SECRET_NAME: RegExp = /key|token|secret|password|auth/i;

/** `--x=v`, and what programs take in the same sense: `NAME=v`, `Header: v`. */
const NAMED_VALUE = /^([^=:\s/]+)(=|:\s*)([^]+)$/;

const IS_URL = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Scheme (which a placeholder may hold), userinfo, authority and path, query, fragment. */
const URL_PARTS =
  /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*@)?([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/i;

/** Stands for a placeholder while the text around it is worked on: it has none of a URL's signs. */
const MARK = "\ue000";

/** The value of a variable or a header: placeholders stay, literal runs go (spec §7). */
export const redactValue = (value: string | number | boolean): string =>
  withMarks(`${value}`, redactMarked);

/** Redacts userinfo, query and fragment of a URL, parameter names and placeholders excepted (spec §7). */
export const redactUrl = (url: string): string =>
  withMarks(url, redactMarkedUrl);

/**
 * Redacts the arguments of a program (spec §7).
 *
 * The value of an option whose name tells of a secret goes, as `--x v`, `--x=v`, `X=v` (docker's
 * `-e`) or `X: v` (a header), one within the other too; so do userinfo and query of URLs. The rest is shown.
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
    if (part.kind === "text") return part.text.replaceAll(MARK, "\ufffd");
    placeholders.push(part.text);
    return MARK;
  });
  return redact(marked.join(""))
    .replaceAll(MARK, () => placeholders.shift() ?? "");
}
