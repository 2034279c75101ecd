import { buildUri, readUri } from "./uri.ts";
import { ErrorCode, ProtocolError } from "../errors/protocol_error.ts";

/** A document's identity: `dpe://HOST/DOC-REF` (spec §8.3). */
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
 * Parses the `dpe://` URI of a `get_dpe` request, where a query or fragment is an error (spec §8.3).
 *
 * @throws {ProtocolError} 4012 with `uri` and `reason`
 */
export function parseDpeUri(text: string): DpeUri {
  const { uri, dropped } = read(text);
  if (dropped.length > 0) throw invalid(text, `it must have no ${dropped[0]}`);
  return uri;
}

/**
 * Parses the `dpe://` URI of a listed resource; drops a query or fragment with a warning (spec §8.3).
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
 * Formats a `dpe://` URI; URL-encodes each segment (spec §8.3).
 *
 * @throws {ProtocolError} 4012 when the host or the document reference is empty or cannot be encoded
 */
export function buildDpeUri({ host, docRef }: DpeUri): string {
  try {
    const uri = buildUri("dpe", host, docRef);
    if (docRef.length > 0) return uri;
  } catch (error) {
    throw invalid(host, message(error));
  }
  throw invalid(`dpe://${host}`, MISSING_DOC_REF);
}

/** Returns the `doc_ref` of a document: its URL-encoded segments joined by `/`, as in its URI (spec §8.4). */
export function docRefOf({ docRef }: DpeUri): string {
  return docRef.map(encodeURIComponent).join("/");
}

const MISSING_DOC_REF = "the document reference after the host is missing";

function read(text: string): { uri: DpeUri; dropped: readonly string[] } {
  try {
    const { host, path, dropped } = readUri("dpe", text);
    if (path.length > 0) return { uri: { host, docRef: path }, dropped };
  } catch (error) {
    throw invalid(text, message(error));
  }
  throw invalid(text, MISSING_DOC_REF);
}

const invalid = (uri: string, reason: string): ProtocolError =>
  new ProtocolError(
    ErrorCode.INVALID_DPE_URI,
    `Invalid DPE URI: ${reason}`,
    { fields: { uri, reason } },
  );

const message = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
