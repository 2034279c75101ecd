/** The common parts of `window://` and `dpe://` URIs: an opaque host and decoded segments. */
interface UriParts {
  readonly host: string;
  readonly path: readonly string[];
  /** `query` or `fragment`, if the URI has one. */
  readonly dropped: readonly string[];
  readonly query: string | undefined;
}

/** scheme :// host path ?query #fragment; `[^]` also matches line ends, which the checks refuse. */
const SHAPE =
  /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/i;

/** The characters of a host: no separators of other URI parts, no white space. */
const HOST = /^[^\s/?#@\\[\]<>"]+$/;

/** Parses a URI; throws a `TypeError` with a message for people. */
export function readUri(scheme: string, text: string): UriParts {
  const match = SHAPE.exec(text);
  if (!match || match[1]?.toLowerCase() !== scheme) {
    throw new TypeError(`expected ${scheme}://HOST/…, got ${shorten(text)}`);
  }
  const [, , host = "", rawPath = "", query, fragment] = match;
  checkHost(host);
  return {
    host,
    path: readPath(rawPath),
    query,
    dropped: [
      ...(query === undefined ? [] : ["query"]),
      ...(fragment === undefined ? [] : ["fragment"]),
    ],
  };
}

/** Formats a URI of decoded segments; throws a `TypeError` if it could not be parsed again. */
export function buildUri(
  scheme: string,
  host: string,
  path: readonly string[],
): string {
  checkHost(host);
  return [`${scheme}://${host}`, ...path.map(encodeSegment)].join("/");
}

/** Encodes a segment; refuses an empty one, and one that is not valid Unicode. */
function encodeSegment(segment: string): string {
  if (segment === "") throw new TypeError("a path segment must not be empty");
  try {
    return encodeURIComponent(segment);
  } catch {
    throw new TypeError(`a path segment holds half a character (a surrogate)`);
  }
}

function readPath(raw: string): string[] {
  if (raw === "" || raw === "/") return [];
  return raw.slice(1).split("/").map(decodeSegment);
}

function decodeSegment(raw: string): string {
  if (raw === "") throw new TypeError("a path segment must not be empty");
  if (/\s/.test(raw)) {
    throw new TypeError("white space in the path must be URL-encoded");
  }
  try {
    return decodeURIComponent(raw);
  } catch {
    throw new TypeError(`broken URL-encoding in ${shorten(raw)}`);
  }
}

function checkHost(host: string): void {
  if (host === "") throw new TypeError("the host must not be empty");
  if (!HOST.test(host)) {
    throw new TypeError(`${shorten(host)} cannot be a host`);
  }
}

const shorten = (text: string): string =>
  JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
