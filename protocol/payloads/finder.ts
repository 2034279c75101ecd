/**
 * Searching documents (protocol §8.4), and the addresses of the 0.2 draft.
 *
 * @module
 */
import { ErrorCode, ProtocolError } from "../errors.ts";
import type { AgentCallData } from "./tools.ts";
import { buildUri, readUri } from "../uri.ts";
import * as z from "../validation.ts";

/**
 * An address in the URI space of an MCP server's own documents, from the 0.2 draft (protocol §8.4):
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
 * Parses an address of the 0.2 draft; ignores unknown parameters (protocol §8.4).
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
 * Formats an address of the 0.2 draft (protocol §8.4).
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
    if (name !== "" && !name.includes(",")) continue;
    const got = JSON.stringify(name);
    throw new TypeError(
      `a category must not be empty nor hold a comma, got ${got}`,
    );
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
  const isWhole = /^\d+$/.test(text) && Number.isSafeInteger(value);
  if (isWhole && value >= min) return value;
  const got = JSON.stringify(text);
  throw new TypeError(
    `${name} must be a whole number of at least ${min}, got ${got}`,
  );
}

function invalid(uri: string, error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const fields = { uri, reason };
  const message = `Invalid Finder URI: ${reason}`;
  return new ProtocolError(ErrorCode.INVALID_FINDER_URI, message, { fields });
}

/** Requests a Computer's catalog of documents (protocol §4, §8.4). */
export interface GetFinderReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** Matches documents with any of these in title, keywords or summary, case-insensitive. */
  keywords?: string[];
  /** Matches documents of exactly this file type, such as `pdf`. */
  file_type?: string;
  /** Number of documents to skip; default 0. */
  offset?: number;
  /** Maximum number of documents to return, 1 to 100; default 20. */
  limit?: number;
}

/** A document of the catalog (protocol §4, §8.4). */
export interface DPEDocumentSummary {
  /** The document's key, given by its MCP server. */
  doc_ref: string;
  /** Its `dpe://` URI. */
  uri: string;
  /** The original file. */
  file_uri: string;
  /** `xlsx`, `pdf`, `pptx`, … */
  file_type: string;
  /** For people. */
  title: string;
  /** Number of pages; 0 means unknown. */
  page_count: number;
  /** Its keywords. */
  keywords?: string[];
  /** A summary. */
  summary?: string;
  /** The MCP server that lists it. */
  server: string;
  /** ISO 8601. */
  last_modified?: string;
}

/** One page of a document, for an index (protocol §4). */
export interface DPEPageSummary {
  /** From 0. */
  page_index: number;
  /** For people. */
  title: string;
  /** Number of its elements. */
  element_count: number;
  /** Its `dpe://` URI. */
  uri: string;
  /** The document it belongs to. */
  doc_ref?: string;
}

/** One element of a page (protocol §4). */
export interface DPEElementDetail {
  /** Unique in its document. */
  element_id: string;
  /** The kind of element; treat an unknown one as plain text. */
  category: string;
  /** A short summary. */
  summary?: string;
  /** Depends on the category. */
  content: Record<string, unknown>;
  /** The document it belongs to. */
  doc_ref?: string;
  /** The page it is on, from 0. */
  page_index?: number;
  /** Its `dpe://` URI. */
  uri?: string;
  /** Additional data. */
  metadata?: Record<string, unknown>;
}

/** A page of the catalog (protocol §4, §8.4). */
export interface GetFinderRet {
  /** From `offset`, at most `limit`. */
  documents: DPEDocumentSummary[];
  /** Number of matching documents, before paging. */
  total_count: number;
  /** The `req_id` of the request. */
  req_id: string;
}

/** @internal */
export const documentSummarySchema = z.looseObject({
  doc_ref: z.string(),
  uri: z.string(),
  file_uri: z.string(),
  file_type: z.string(),
  title: z.string(),
  page_count: z.count,
  keywords: z.exactOptional(z.listOf(z.string())),
  summary: z.exactOptional(z.string()),
  server: z.string(),
  last_modified: z.exactOptional(z.string()),
});

/** The parsers of `client:get_finder`. */
export const getFinder = z.routed(
  z.computerCall({
    keywords: z.exactOptional(z.listOf(z.string())),
    file_type: z.exactOptional(z.string()),
    offset: z.exactOptional(z.count),
    limit: z.exactOptional(z.int().check(z.minimum(1), z.maximum(100))),
  }),
  z.answer({
    documents: z.listOf(documentSummarySchema),
    total_count: z.count,
  }),
);
