/**
 * The options of requests that this process makes of its own Computer, without a Server.
 *
 * @module
 */
import type { ToolProgress } from "../../protocol/mod.ts";
import {
  checkNames,
  checkNumbers,
  type NamesOf,
  type NameTable,
} from "../../shared/checks.ts";

/** Options for a tool call that this process makes. */
export interface CallHostedToolOptions {
  /** The caller's name for `confirm` and events; default `"local"`. */
  agent?: string;
  /** Cancels the call, also at the MCP server; it resolves with a "cancelled" result. */
  signal?: AbortSignal;
  /**
   * Receives the tool's progress, at most ten times a second, and nothing after the result; with
   * `waiting`, that the call waits for `confirm` or `elicit`.
   */
  onProgress?: (progress: ToolProgress) => unknown;
  /** Timeout of the call with its confirmation, rounded up to whole seconds; at most 3,600,000, default 60,000. */
  timeoutMs?: number;
}

/** The names of {@linkcode CallHostedToolOptions}. */
export const CALL_NAMES = {
  agent: true,
  signal: true,
  onProgress: true,
  timeoutMs: true,
} satisfies NamesOf<CallHostedToolOptions>;

/** Options for a search for documents that this process makes. */
export interface FindDocumentsOptions {
  /** Matches documents with any of them in title, keywords or summary, case-insensitive. */
  keywords?: string[];
  /** Exact file type, such as `pdf`. */
  fileType?: string;
  /** Number of documents to skip; default 0. */
  offset?: number;
  /** Maximum number of documents to return, 1 to 100; default 20. */
  limit?: number;
}

/** The names of {@linkcode FindDocumentsOptions}. */
export const FIND_NAMES = {
  keywords: true,
  fileType: true,
  offset: true,
  limit: true,
} satisfies NamesOf<FindDocumentsOptions>;

/** The default for reading. */
const READ_TIMEOUT_MS = 30_000;
const MAX_TIMEOUT_MS = 3_600_000;

/**
 * Returns the whole seconds that a read may take.
 *
 * @param reader the function whose options they are
 * @param names of its options
 * @throws {TypeError} when `timeoutMs` is out of range, or there is another option
 */
export function readSeconds(
  options: { timeoutMs?: number },
  reader: string,
  names: NameTable = { timeoutMs: true },
): number {
  checkNames(options, names, reader);
  const { timeoutMs = READ_TIMEOUT_MS } = options;
  return toSeconds(timeoutMs);
}

/** Converts a duration to the whole seconds of requests. */
export function toSeconds(timeoutMs: number): number {
  checkNumbers({ timeoutMs });
  const isAllowed = timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS;
  if (isAllowed) return Math.ceil(timeoutMs / 1000);
  throw new TypeError(
    `timeoutMs cannot be ${timeoutMs}: expected more than 0, and at most ${MAX_TIMEOUT_MS}`,
  );
}
