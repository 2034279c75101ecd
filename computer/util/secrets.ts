/**
 * Secrets: which names and values are secret (protocol §7), in which forms a program may print them,
 * and how they are hidden in everything that a Computer reports.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { splitPlaceholders } from "./inputs.ts";
import type {
  MCPServerConfig,
  OAuthClientParameters,
} from "../../protocol/mod.ts";
import { NETWORK_VARIABLES } from "../../shared/net/network_variables.ts";

/** Returns the secret values that are known so far. */
type SecretSource = () => Iterable<string>;

const sources = new Set<SecretSource>();
/** Of all sources, in their order, with the pattern of their forms. */
let known: string[] = [];
let pattern: RegExp | undefined;

/**
 * Hides the values of a source in all output of this process until the result is disposed.
 *
 * Kept per process, not per Computer, since all Computers of a process write to one log.
 */
export function guardSecrets(source: SecretSource): Disposable {
  sources.add(source);
  return { [Symbol.dispose]: () => void sources.delete(source) };
}

/**
 * Replaces every known secret in a text.
 *
 * Everything that a Computer reports passes through here: log lines, states and problems of MCP
 * servers, errors for Agents and users. Results of tools do not: the Agent needs them unchanged.
 */
export function hideSecrets(text: string): string {
  if (!areKnown()) {
    known = [...sources].flatMap((source) => [...source()]);
    pattern = secretPattern(known);
  }
  return pattern ? text.replaceAll(pattern, REDACTED) : text;
}

/** Whether the secrets are still those that the pattern was made of. */
function areKnown(): boolean {
  let count = 0;
  for (const source of sources) {
    for (const secret of source()) {
      if (secret !== known[count++]) return false;
    }
  }
  return count === known.length;
}

/** Replaces secret values in a text, in every form of {@linkcode secretForms}. */
export function hideValues(text: string, values: Iterable<string>): string {
  const pattern = secretPattern(values);
  return pattern ? text.replaceAll(pattern, REDACTED) : text;
}

/** Builds a pattern that matches every form of each value; undefined if there are no forms. */
function secretPattern(values: Iterable<string>): RegExp | undefined {
  const forms = new Set([...values].flatMap(secretForms));
  if (forms.size === 0) return undefined;
  // Longest first: one value may be a prefix of another.
  const longest = [...forms].sort((a, b) => b.length - a.length);
  return new RegExp(
    longest.map((form) => form.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
      .join("|"),
    "g",
  );
}

/**
 * Collects the values of variables and headers with a secret-sounding name, the credentials in
 * variables that are URLs, and the secret of a client.
 */
export function secretsIn(config: MCPServerConfig): string[] {
  const { type, server_parameters } = config;
  const env = type === "stdio" ? server_parameters.env ?? {} : {};
  const named = type === "stdio" ? env : server_parameters.headers ?? {};
  const secrets = Object.entries(named)
    .filter(([name]) => isSecretName(name))
    .map(([, value]) => `${value}`)
    .flatMap((text) => [text, text.replace(/^(Bearer|Basic)\s+/i, "")]);
  const { client_secret } = oauthOf(config) ?? {};
  return [
    ...secrets,
    ...urlCredentials(env),
    ...(client_secret ? [client_secret] : []),
  ];
}

/** Returns the client as which the Computer signs in to an MCP server, if there is one. */
export const oauthOf = (
  { type, server_parameters }: MCPServerConfig,
): OAuthClientParameters | undefined =>
  type === "stdio" ? undefined : server_parameters.oauth ?? undefined;

/**
 * Shorter values, and shorter lines of values, are hidden nowhere: `1` in `DISABLE_AUTH` would hide
 * every digit, `x` every word that contains it.
 */
const MIN_SECRET_CHARACTERS = 4;
/** How many lines of a value are searched for on their own. */
const MAX_LINES = 200;
/** A shorter base64 text could match by coincidence. */
const MIN_BASE64_CHARACTERS = 4;

/**
 * Lists every form in which a program may print a value that it was given; none for short values.
 *
 * Covered are: the value as it is and trimmed, and each line of it; as JSON (with and without
 * non-ASCII letters, also as a JSON string within JSON) and as JavaScript and Python quote it;
 * URL- and form-encoded; HTML-escaped; as base64, also as part of something longer such as
 * `user:password`. A value that is hashed, compressed, encrypted or truncated is not found.
 */
function secretForms(value: string): string[] {
  const lines = value.split(/\r?\n/).slice(0, MAX_LINES)
    .map((line) => line.trim());
  return [value, value.trim(), ...lines]
    .filter((text) => text.trim().length >= MIN_SECRET_CHARACTERS)
    .flatMap(writtenForms);
}

function writtenForms(text: string): string[] {
  const formed = text.toWellFormed();
  const json = JSON.stringify(text).slice(1, -1);
  const ascii = json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const component = encodeURIComponent(formed);
  const form = new URLSearchParams([["", formed]]).toString().slice(1);
  const url = [component, encodeURI(formed), form];
  return [
    text,
    json,
    ascii,
    JSON.stringify(json).slice(1, -1),
    json.replaceAll('\\"', '"'),
    json.replaceAll('\\"', '"').replaceAll("'", "\\'"),
    ...url,
    ...url.map((form) =>
      form.replaceAll(/%[0-9A-F]{2}/g, (sign) => sign.toLowerCase())
    ),
    ...htmlForms(text),
    ...base64Forms(formed),
  ];
}

function htmlForms(text: string): string[] {
  const html = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
  return [
    html,
    html.replaceAll('"', "&quot;").replaceAll("'", "&#39;"),
    html.replaceAll('"', "&quot;").replaceAll("'", "&#x27;"),
  ];
}

/**
 * Encodes a text at each of the three offsets that it can have within a base64 group, without the
 * characters that depend on its neighbours.
 */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  const forms = [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const first = before === 0 ? 0 : before + 1;
    return padded.toString("base64").slice(
      first,
      Math.floor(padded.length * 8 / 6),
    );
  }).filter(({ length }) => length >= MIN_BASE64_CHARACTERS);
  return [
    bytes.toString("base64"),
    bytes.toString("base64url"),
    bytes.toString("base64").replace(/=+$/, ""),
    ...forms,
    ...forms.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

/** Picks the variables that an MCP server needs to reach the network: CA certificates and proxies. */
export function inheritedVariables(
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    NETWORK_VARIABLES.flatMap((name) => {
      const value = environment[name];
      // Bash exports shell functions in this form; they are code.
      return value === undefined || value.startsWith("()")
        ? []
        : [[name, value]];
    }),
  );
}

/**
 * Extracts the credentials from variables that are URLs, such as a proxy's.
 *
 * Returns them both as written and percent-decoded: a program may report either.
 */
export const urlCredentials = (
  variables: Readonly<Record<string, string>>,
): string[] =>
  Object.values(variables).flatMap((value) => {
    const [, scheme, userinfo] =
      /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)@/i.exec(value) ?? [];
    if (userinfo === undefined) return [];
    const sign = userinfo.indexOf(":");
    // `user:password@host` is a proxy; `me@host` is an address.
    if (scheme === undefined && sign === -1) return [];
    const password = userinfo.slice(sign + 1);
    return [userinfo, password, decoded(password)];
  });

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Replaces a literal value (protocol §7). */
export const REDACTED = "<redacted>";

/** Matches names of options whose values are secret (protocol §7). */
const SECRET_NAME: RegExp = /key|token|secret|password|auth/i;

/** Returns whether a variable or header of a name has a secret. */
export const isSecretName = (name: string): boolean =>
  SECRET_NAME.test(name) || /cookie/i.test(name);

/** Matches `--x=v` and its equivalents `NAME=v` and `Header: v`. */
const NAMED_VALUE = /^([^=:\s/]+)(=|:\s*)([^]+)$/;

const IS_URL = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Captures scheme (which may contain a placeholder), userinfo, authority and path, query, fragment. */
const URL_PARTS =
  /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*@)?([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/i;

/** Private-use character that replaces each placeholder during redaction; no URL syntax matches it. */
const PLACEHOLDER_MARK = "\ue000";

/**
 * Replaces a literal value that is secret.
 *
 * @param marked the value, with a character for each placeholder in it
 * @param name of the variable, option, header or parameter that has it; undefined for a user in a URL
 */
type Hide = (marked: string, name: string | undefined) => string;

const redactMarked: Hide = (text) => text.replaceAll(/[^\ue000]+/g, REDACTED);

/** Redacts the literal text of a variable's or header's value; placeholders stay (protocol §7). */
export const redactValue = (value: string | number | boolean): string =>
  withMarks(`${value}`, (marked) => redactMarked(marked, undefined));

/** Redacts userinfo, query and fragment of a URL; names of parameters and placeholders stay (protocol §7). */
export const redactUrl = (url: string): string => hideInUrl(url, redactMarked);

/**
 * Redacts the arguments of a program (protocol §7).
 *
 * Removes the values of options with a secret-sounding name, written as `--x v`, `--x=v`, `X=v`
 * (docker's `-e`) or `X: v` (a header), also nested, and what {@linkcode redactUrl} removes of URLs.
 */
export const redactArguments = (args: readonly string[]): string[] =>
  hideInArguments(args, redactMarked);

/** Replaces what {@linkcode redactUrl} redacts. */
const hideInUrl = (url: string, hide: Hide): string =>
  withMarks(url, (marked) => hideInMarkedUrl(marked, hide));

/** Replaces what {@linkcode redactArguments} redacts. */
const hideInArguments = (args: readonly string[], hide: Hide): string[] =>
  args.map((arg, i) => {
    const before = args[i - 1] ?? "";
    const isValue = /^-[^=]+$/.test(before) && SECRET_NAME.test(before) &&
      !arg.startsWith("--");
    return withMarks(
      arg,
      (marked) =>
        isValue
          ? hide(marked, before.replace(/^-+/, ""))
          : hideInMarkedArgument(marked, hide),
    );
  });

/**
 * Replaces the secrets in a URL or in arguments that are not placeholders: of what is redacted, values
 * with a secret-sounding name, and passwords.
 *
 * @param replace gets each secret, and the name of what has it
 */
export function replaceSecrets(
  { url, args }: { readonly url?: string; readonly args?: readonly string[] },
  replace: (secret: string, name: string) => string,
): { url?: string; args?: string[] } {
  const hide: Hide = (marked, name) =>
    marked === "" || marked.includes(PLACEHOLDER_MARK) || name === undefined ||
      !isSecretName(name)
      ? marked
      : replace(marked, name);
  return {
    ...(url !== undefined && { url: hideInUrl(url, hide) }),
    ...(args !== undefined && { args: hideInArguments(args, hide) }),
  };
}

function hideInMarkedArgument(arg: string, hide: Hide): string {
  if (IS_URL.test(arg)) return hideInMarkedUrl(arg, hide);
  const [, name, sign = "", value = ""] = NAMED_VALUE.exec(arg) ?? [];
  if (name === undefined) return arg;
  const hidden = SECRET_NAME.test(name)
    ? hide(value, name.replace(/^-+/, ""))
    : hideInMarkedArgument(value, hide);
  return name + sign + hidden;
}

function hideInMarkedUrl(text: string, hide: Hide): string {
  const [, scheme = "", userinfo, rest = "", query, fragment] =
    URL_PARTS.exec(text) ?? [];
  const parts = userinfo?.slice(0, -1).split(":");
  // A user without a password is a token.
  const user = parts?.map((part, i) =>
    hide(part, i === 0 && parts.length > 1 ? undefined : "password")
  ).join(":");
  return [
    scheme,
    user === undefined ? "" : `${user}@`,
    rest,
    query === undefined ? "" : `?${hideInPairs(query, hide)}`,
    fragment === undefined ? "" : `#${hideInPairs(fragment, hide)}`,
  ].join("");
}

const hideInPairs = (pairs: string, hide: Hide): string =>
  pairs.split("&").map((pair) => {
    const sign = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, sign));
    return pair.slice(0, sign + 1) + hide(pair.slice(sign + 1), name);
  }).join("&");

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
