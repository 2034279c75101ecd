import { buildUri, readUri } from "./uri.ts";
import { ErrorCode, ProtocolError } from "../errors/protocol_error.ts";

/** A document's identity: `dpe://HOST/DOC-REF` (spec §8.3). */
export interface DpeUri {
  /** Leads to the MCP server that lists the document. */
  readonly host: string;
  /** The decoded segments of DOC-REF, one or more. */
  readonly docRef: readonly string[];
}

/** A URI out of a resource list, with what was wrong but could be mended. */
export interface ParsedDpeUri {
  /** The document. */
  readonly uri: DpeUri;
  /** One sentence each, for a WARN in the log. */
  readonly warnings: readonly string[];
}

/**
 * Reads the `dpe://` URI of a `get_dpe` request, where a query or fragment is an error (spec §8.3).
 *
 * @throws {ProtocolError} 4012 with `uri` and `reason`
 */
export function parseDpeUri(text: string): DpeUri {
  const { uri, dropped } = read(text);
  if (dropped.length > 0) throw invalid(text, `it must have no ${dropped[0]}`);
  return uri;
}

/**
 * Reads the `dpe://` URI of a listed resource; a query or fragment is dropped with a warning (spec §8.3).
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
 * Writes a `dpe://` URI, each segment URL-encoded (spec §8.3).
 *
 * @throws {ProtocolError} 4012 when the host or the document reference is empty or cannot be written
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

/** The `doc_ref` of a document as it stands in its URI: URL-encoded segments joined by `/` (spec §8.4). */
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
