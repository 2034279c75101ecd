/**
 * Documents (protocol §8.3): their `dpe://` URIs, the request for an address, and what is there.
 *
 * @module
 */
import { ErrorCode, ProtocolError } from "../errors.ts";
import type { AgentCallData } from "./tools.ts";
import { buildUri, readUri } from "../uri.ts";
import * as z from "../validation.ts";

/** A document's identity: `dpe://HOST/DOC-REF` (protocol §8.3). */
export interface DpeUri {
  /** Identifies the MCP server that lists the document. */
  readonly host: string;
  /** The decoded segments of DOC-REF, one or more. */
  readonly docRef: readonly string[];
}

/** A parsed URI of a listed resource, with the problems that were corrected. */
export interface ParsedDpeUri {
  /** The document. */
  readonly uri: DpeUri;
  /** One sentence per problem, for warnings in the log. */
  readonly warnings: readonly string[];
}

/**
 * Parses the `dpe://` URI of a `get_dpe` request, where a query or fragment is an error (protocol §8.3).
 *
 * @throws {ProtocolError} 4012 with `uri` and `reason`
 */
export function parseDpeUri(text: string): DpeUri {
  const { uri, dropped } = read(text);
  if (dropped.length > 0) throw invalid(text, `it must have no ${dropped[0]}`);
  return uri;
}

/**
 * Parses the `dpe://` URI of a listed resource; drops a query or fragment with a warning (protocol §8.3).
 *
 * @throws {ProtocolError} 4012 with `uri` and `reason`
 */
export function parseListedDpeUri(text: string): ParsedDpeUri {
  const { uri, dropped } = read(text);
  return {
    uri,
    warnings: dropped.map((part) =>
      `A DPE URI has no ${part}; it is dropped: ${text}`
    ),
  };
}

/**
 * Formats a `dpe://` URI; URL-encodes each segment (protocol §8.3).
 *
 * @throws {ProtocolError} 4012 when the host or the document reference is empty or cannot be encoded
 */
export function buildDpeUri({ host, docRef }: DpeUri): string {
  try {
    const uri = buildUri("dpe", host, docRef);
    if (docRef.length > 0) return uri;
  } catch (error) {
    throw invalid(host, error);
  }
  throw invalid(`dpe://${host}`, MISSING_DOC_REF);
}

/** Returns the `doc_ref` of a document: its URL-encoded segments joined by `/`, as in its URI (protocol §8.4). */
export function docRefOf({ docRef }: DpeUri): string {
  return docRef.map(encodeURIComponent).join("/");
}

const MISSING_DOC_REF = "the document reference after the host is missing";

function read(text: string): { uri: DpeUri; dropped: readonly string[] } {
  try {
    const { host, path, dropped } = readUri("dpe", text);
    if (path.length > 0) return { uri: { host, docRef: path }, dropped };
  } catch (error) {
    throw invalid(text, error);
  }
  throw invalid(text, MISSING_DOC_REF);
}

function invalid(uri: string, cause: unknown): ProtocolError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const fields = { uri, reason };
  const message = `Invalid DPE URI: ${reason}`;
  return new ProtocolError(ErrorCode.INVALID_DPE_URI, message, { fields });
}

/** Requests a Computer to resolve a `dpe://` URI to one that the Agent can fetch (protocol §4, §8.3). */
export interface GetDPEReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** `dpe://HOST/DOC-REF`; its form is checked by the Computer, which answers 4012. */
  uri: string;
  /** Seconds for reading and resolving; 30 when absent. */
  timeout?: number;
}

/** The resolved URI of a document (protocol §4, §8.3). */
export interface GetDPERet {
  /** `https:`, `file:` or a custom scheme of the resolver; must not be kept beyond the session. */
  uri: string;
  /** The media type of the document. */
  mime_type?: string;
  /** The size in bytes. */
  size?: number;
  /** The `req_id` of the request. */
  req_id: string;
}

/** The parsers of `client:get_dpe`; null fields of the answer are left out. */
export const getDpe = z.routed(
  z.computerCall({
    uri: z.string(),
    timeout: z.exactOptional(z.timeoutSeconds),
  }),
  z.pipe(
    z.answer({
      uri: z.string().check(z.minLength(1)),
      mime_type: z.maybe(z.string()),
      size: z.maybe(z.count),
    }),
    z.transform(({ mime_type, size, ...rest }) => ({
      ...rest,
      ...(typeof mime_type === "string" && { mime_type }),
      ...(typeof size === "number" && { size }),
    })),
  ),
);

/** A document that an Agent fetches from the URI of `get_dpe` (protocol §8.3). */
export interface DPEDocument {
  /** The document's key, given by its MCP server. */
  doc_ref: string;
  /** Its `dpe://` URI. */
  uri: string;
  /** For people. */
  title: string;
  /** All pages in reading order; each with its elements, or with the URI of them. */
  pages: DPEPage[];
  /** The original file. */
  file_uri?: string;
  /** `xlsx`, `pdf`, `pptx`, … */
  file_type?: string;
  /** A summary. */
  summary?: string;
  /** Number of pages of the original; absent or 0 means unknown. */
  page_count?: number;
  /** Its keywords. */
  keywords?: string[];
  /** ISO 8601. */
  last_modified?: string;
}

/** A page; it has `elements`, or in a manifest the `uri` of its own JSON (protocol §8.3). */
export interface DPEPage {
  /** From 0. */
  page_index: number;
  /** For people. */
  title?: string;
  /** Its elements, in reading order. */
  elements?: DPEElement[];
  /** The URI of the page with its elements; absolute, or relative to that of the document. */
  uri?: string;
}

/** An element of a page; its category may define further fields (protocol §8.3). */
export interface DPEElement {
  /** Unique in its document. */
  element_id: string;
  /** The kind of element; treat an unknown one as plain text. */
  category: string;
  /** The text. */
  text?: string;
  /** A short summary. */
  summary?: string;
  /** Depends on the category. */
  content?: Record<string, unknown>;
  /** Additional data. */
  metadata?: Record<string, unknown>;
  /** Fields of the category. */
  [field: string]: unknown;
}

/** An optional field, which some programs write as null. */
const withoutNulls = z.pipe(
  z.plainObject,
  z.transform((data) =>
    Object.fromEntries(
      Object.entries(data).filter(([, value]) => value !== null),
    )
  ),
);

/** @internal */
export const dpeElementSchema = z.pipe(
  withoutNulls,
  z.looseObject({
    element_id: z.string(),
    category: z.string(),
    text: z.exactOptional(z.string()),
    summary: z.exactOptional(z.string()),
    content: z.exactOptional(z.plainObject),
    metadata: z.exactOptional(z.plainObject),
  }),
);

/** @internal */
export const dpePageSchema = z.pipe(
  withoutNulls,
  z.looseObject({
    page_index: z.count,
    title: z.exactOptional(z.string()),
    elements: z.exactOptional(z.listOf(dpeElementSchema)),
    uri: z.exactOptional(z.string().check(z.minLength(1))),
  }).check(z.refine(
    ({ elements, uri }) => elements !== undefined || uri !== undefined,
    "a page needs elements, or a uri",
  )),
);

/** @internal */
export const dpeDocumentSchema = z.pipe(
  withoutNulls,
  z.looseObject({
    doc_ref: z.string(),
    uri: z.string(),
    title: z.string(),
    pages: z.listOf(dpePageSchema),
    file_uri: z.exactOptional(z.string()),
    file_type: z.exactOptional(z.string()),
    summary: z.exactOptional(z.string()),
    page_count: z.exactOptional(z.count),
    keywords: z.exactOptional(z.listOf(z.string())),
    last_modified: z.exactOptional(z.string()),
  }),
);

/** Parses a {@linkcode DPEDocument}; null fields are left out. */
export const parseDPEDocument: z.Parser<DPEDocument> = z.parser(
  dpeDocumentSchema,
);
/** Parses a {@linkcode DPEPage}; null fields are left out. */
export const parseDPEPage: z.Parser<DPEPage> = z.parser(dpePageSchema);
