import { buildUri, readUri } from "./uri.ts";
import { ErrorCode, ProtocolError } from "../errors/protocol_error.ts";

/**
 * An address in the URI space of an MCP server's own documents, from the 0.2 draft (spec §8.4):
 * `dpe://HOST`, `…/DOC`, `…/DOC/pages/N`, `…/DOC/elements/ID`, with an optional query.
 *
 * Not a `get_dpe` URI: a page here would be a document of three segments there.
 */
export type FinderUri = FinderTarget & {
  /** The namespace of the MCP server's documents. */
  readonly host: string;
  /** Options of the answer. */
  readonly query: FinderQuery;
};

/** The target of a {@linkcode FinderUri}. */
export type FinderTarget =
  | { readonly kind: "catalogue" }
  | { readonly kind: "document"; readonly doc: string }
  | { readonly kind: "page"; readonly doc: string; readonly page: number }
  | {
    readonly kind: "element";
    readonly doc: string;
    readonly element: string;
  };

/** The query of a {@linkcode FinderUri}. */
export interface FinderQuery {
  /** A format of the MCP server, such as `json` or `markdown`. */
  readonly format?: string;
  /** Levels of detail, 0 or more. */
  readonly depth?: number;
  /** Items to skip, 0 or more. */
  readonly offset?: number;
  /** Items to return, 1 or more. */
  readonly limit?: number;
  /** Only elements of these categories. */
  readonly categories?: readonly string[];
}

/**
 * Parses an address of the 0.2 draft; ignores unknown parameters (spec §8.4).
 *
 * @throws {ProtocolError} 4204 with `uri` and `reason`
 */
export function parseFinderUri(text: string): FinderUri {
  try {
    const { host, path, query } = readUri("dpe", text);
    return { host, ...readTarget(path), query: readQuery(query ?? "") };
  } catch (error) {
    throw invalid(text, error);
  }
}

/**
 * Formats an address of the 0.2 draft (spec §8.4).
 *
 * @throws {ProtocolError} 4204 when a part is empty or cannot be encoded
 */
export function buildFinderUri(uri: FinderUri): string {
  try {
    const base = buildUri("dpe", uri.host, writeTarget(uri));
    const query = writeQuery(uri.query);
    const written = query ? `${base}?${query}` : base;
    parseFinderUri(written); // refuses a page of -1 or a limit of 0
    return written;
  } catch (error) {
    throw invalid(uri.host, error);
  }
}

function readTarget(path: readonly string[]): FinderTarget {
  const [doc, part, id, ...rest] = path;
  if (doc === undefined) return { kind: "catalogue" };
  if (part === undefined) return { kind: "document", doc };
  if (id !== undefined && rest.length === 0) {
    if (part === "pages") {
      return { kind: "page", doc, page: whole("page", id, 0) };
    }
    if (part === "elements") return { kind: "element", doc, element: id };
  }
  throw new TypeError(
    "expected dpe://HOST, /DOC, /DOC/pages/N or /DOC/elements/ID",
  );
}

function writeTarget(target: FinderTarget): string[] {
  switch (target.kind) {
    case "catalogue":
      return [];
    case "document":
      return [target.doc];
    case "page":
      return [target.doc, "pages", String(target.page)];
    case "element":
      return [target.doc, "elements", target.element];
  }
}

function readQuery(text: string): FinderQuery {
  const sent = new URLSearchParams(text);
  const format = sent.get("format");
  const categories = sent.get("categories");
  return {
    ...(format !== null && { format }),
    ...number(sent, "depth", 0),
    ...number(sent, "offset", 0),
    ...number(sent, "limit", 1),
    ...(categories !== null && {
      categories: categories.split(",").filter((name) => name !== ""),
    }),
  };
}

function writeQuery(query: FinderQuery): string {
  for (const name of query.categories ?? []) {
    if (name === "" || name.includes(",")) {
      throw new TypeError(
        `a category must not be empty nor hold a comma, got ${
          JSON.stringify(name)
        }`,
      );
    }
  }
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    sent.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  return sent.toString();
}

function number<K extends string>(
  sent: URLSearchParams,
  name: K,
  min: number,
): { [name in K]?: number } {
  const text = sent.get(name);
  const found: { [name in K]?: number } = {};
  if (text !== null) found[name] = whole(name, text, min);
  return found;
}

function whole(name: string, text: string, min: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < min) {
    throw new TypeError(
      `${name} must be a whole number of at least ${min}, got ${
        JSON.stringify(text)
      }`,
    );
  }
  return value;
}

function invalid(uri: string, error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new ProtocolError(
    ErrorCode.INVALID_FINDER_URI,
    `Invalid Finder URI: ${reason}`,
    { fields: { uri, reason } },
  );
}
