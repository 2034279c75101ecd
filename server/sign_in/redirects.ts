/**
 * Where a code may be sent. The rules look at the text itself: a parser of URLs would make `127.1` and
 * `127.0.0.1` one, and browsers have parsers of their own.
 *
 * @module
 */

/** What a person is shown of a redirect URI. */
export type Place =
  /** A program that listens on this device. */
  | { readonly kind: "program" }
  | { readonly kind: "website"; readonly host: string }
  /** An app that the device opens by a scheme. */
  | { readonly kind: "app"; readonly scheme: string };

/** A path with its query: printable ASCII but `#` and `\`, which browsers take for a slash. */
const PATH = String.raw`\/[!-"$-[\]-~]*`;
const LOOPBACK = new RegExp(
  String
    .raw`^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::(\d{1,5}))?(${PATH})?$`,
);
/** A name with a dot, whose last part is no number: then it would be an address. */
const NAME = String
  .raw`(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z](?:[a-z0-9-]*[a-z0-9])?`;
const WEBSITE = new RegExp(
  String.raw`^https:\/\/(${NAME}(?::\d{1,5})?)(${PATH})?$`,
);
/** A scheme with a dot, which is a name that its app owns (RFC 8252 §7.1). */
const APP = new RegExp(
  String.raw`^([a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+):${PATH}$`,
);
/** `.` or `..` as a part of a path, also percent-encoded. */
const DOT_SEGMENT = /(?:\/|%2f|%5c)(?:\.|%2e){1,2}(?:\/|%2f|%5c|$)/i;

/** Those of known programs that the other rules leave out. */
const KNOWN = ["cursor://anysphere.cursor-mcp/oauth/callback"];

const MAX_LENGTH = 512;

/**
 * Returns where a redirect URI leads.
 *
 * @param more those that the operator allows besides
 * @returns `undefined` for what may not be one
 */
export function placeOf(
  uri: string,
  more: readonly string[] = [],
): Place | undefined {
  if (uri.length > MAX_LENGTH) return undefined;
  if (KNOWN.includes(uri) || more.includes(uri)) return placeOfAllowed(uri);
  const [path = ""] = uri.replace(/^[^/]*\/\/[^/]*/, "").split("?");
  if (DOT_SEGMENT.test(path) || !URL.canParse(uri)) return undefined;
  if (LOOPBACK.test(uri)) return { kind: "program" };
  const [, host] = WEBSITE.exec(uri) ?? [];
  if (host !== undefined) return { kind: "website", host };
  const [, scheme] = APP.exec(uri) ?? [];
  return scheme === undefined ? undefined : { kind: "app", scheme };
}

/** Returns where one leads that is allowed as it is. */
function placeOfAllowed(uri: string): Place {
  const { protocol, host } = new URL(uri);
  return /^https?:$/.test(protocol)
    ? { kind: "website", host }
    : { kind: "app", scheme: protocol.slice(0, -1) };
}

/**
 * Returns whether a program may be sent to a redirect URI: it registered exactly this one, or on loopback
 * one with another port, which a program that listens takes as it is free (RFC 8252 §7.3).
 */
export function isSameRedirect(registered: string, asked: string): boolean {
  if (registered === asked) return true;
  const [, host, , path] = LOOPBACK.exec(registered) ?? [];
  const [, askedHost, , askedPath] = LOOPBACK.exec(asked) ?? [];
  return host !== undefined && host === askedHost && path === askedPath;
}

/** Schemes whose URLs a browser runs, or reads from this device. */
const DANGEROUS =
  /^(?:javascript|data|file|blob|about|vbscript|intent|view-source|filesystem|content):/i;

/**
 * Checks redirect URIs that an operator allows.
 *
 * @throws {TypeError} that names the first that cannot be one
 */
export function checkRedirects(uris: readonly string[]): void {
  for (const uri of uris) {
    const isUsable = typeof uri === "string" && uri.length <= MAX_LENGTH &&
      /^[!-~]+$/.test(uri) && URL.canParse(uri) && !uri.includes("#") &&
      !DANGEROUS.test(uri);
    if (isUsable) continue;
    throw new TypeError(
      `Cannot use the redirect ${
        JSON.stringify(uri)
      }: expected a URI that a program registers, such as "com.example.app:/callback"`,
    );
  }
}

/** Adds parameters to a redirect URI; the text of what it has stays as it is. */
export function withParameters(
  redirect: string,
  parameters: Readonly<Record<string, string>>,
): string {
  const more = new URLSearchParams(parameters).toString();
  return `${redirect}${redirect.includes("?") ? "&" : "?"}${more}`;
}
