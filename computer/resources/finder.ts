/**
 * The catalogue of documents (protocol §8.4): the documents of all MCP servers are listed, filtered and
 * ordered.
 *
 * @module
 */
import {
  fieldsOf,
  isDocument,
  isGiven,
  quote,
  withoutQuery,
} from "./listed.ts";
import {
  orderServers,
  participants,
  recentAddresses,
  type ResourceParts,
  type RunningServer,
} from "./servers.ts";
import { reasonOf } from "../util/values.ts";
import {
  docRefOf,
  type DPEDocumentSummary,
  GET_FINDER_EVENT,
  type GetFinderReq,
  type GetFinderRet,
  parseListedDpeUri,
  type Resource,
} from "../../protocol/mod.ts";
import { withTimeout } from "../../shared/async.ts";

/** The parts of a tool host with which documents are found. */
interface FinderParts extends ResourceParts {
  /** Leaves out what fits no message: in a page, it would hide that others follow. */
  readonly lists: {
    sendable(
      event: typeof GET_FINDER_EVENT,
      answer: GetFinderRet,
      maxPayload: number | undefined,
    ): GetFinderRet;
  };
}

/** Returns a page of the catalogue of documents (protocol §8.4). */
export async function getFinder(
  request: GetFinderReq,
  parts: FinderParts,
  { maxPayload }: { readonly maxPayload: number | undefined },
): Promise<GetFinderRet> {
  const warnings: string[] = [];
  const listed = await listDocuments(participants(parts), warnings);
  const all = readDocuments(listed, warnings);
  parts.warnOnce.warn(warnings);
  const { req_id } = request;
  const { documents } = parts.lists.sendable(
    GET_FINDER_EVENT,
    { documents: all, total_count: all.length, req_id },
    maxPayload,
  );
  return {
    ...organizeFinder(documents, request, recentAddresses(parts)),
    req_id,
  };
}

/** Limit for each MCP server; the Server waits 30 s for the whole catalogue (protocol §7). */
const LIST_TIMEOUT_MS = 10_000;

/**
 * Lists the documents of all MCP servers in parallel; a failed or slow server affects only its own.
 *
 * @param warnings receives a sentence for each server that cannot be listed
 * @returns server by server, those of one in the order of its resource list
 */
async function listDocuments(
  servers: readonly RunningServer[],
  warnings: string[],
): Promise<ListedDocument[]> {
  const listed = servers.map(async ({ name, list }) => {
    try {
      return (await withTimeout(LIST_TIMEOUT_MS, list))
        .filter(({ uri }) => isDocument(uri))
        .map((resource) => ({ server: name, resource }));
    } catch (error) {
      warnings.push(
        `Cannot list the documents of "${name}": ${reasonOf(error)}`,
      );
      return [];
    }
  });
  return (await Promise.all(listed)).flat();
}

/** A document as its MCP server lists it. */
export interface ListedDocument {
  /** The MCP server that lists it. */
  readonly server: string;
  /** As it was listed. */
  readonly resource: Resource;
}

/**
 * Reads the entries of the catalogue, without those of invalid documents.
 *
 * @param warnings receives a sentence for each problem of a document
 */
export const readDocuments = (
  documents: readonly ListedDocument[],
  warnings: string[],
): DPEDocumentSummary[] =>
  documents.flatMap(({ server, resource }) => {
    const warn = (problem: string) =>
      void warnings.push(
        `Document ${quote(resource.uri)} of "${server}": ${problem}`,
      );
    try {
      return documentSummary(server, resource, warn);
    } catch (error) {
      warn(`${reasonOf(error)}; it is left out`);
      return [];
    }
  });

/** Filters, and the page of the matches to return. */
export type FinderQuery = Pick<
  GetFinderReq,
  "keywords" | "file_type" | "offset" | "limit"
>;

/** Default number of documents in an answer (protocol §8.4). */
const DEFAULT_LIMIT = 20;

/**
 * Organizes the documents of all MCP servers into one page of a catalogue (protocol §8.4).
 *
 * @param documents those of one server in the order of its resource list
 * @param query of the request, already validated
 * @param history the MCP server of each tool call, oldest first
 * @returns at most `limit` documents from `offset` on, and the number of matches before paging
 */
export function organizeFinder(
  documents: readonly DPEDocumentSummary[],
  query: FinderQuery,
  history: readonly string[],
): Pick<GetFinderRet, "documents" | "total_count"> {
  const matches = matcher(query);
  const found = Map.groupBy(documents.filter(matches), ({ server }) => server);
  const ordered = orderServers([...found.keys()], history)
    .flatMap((server) => newestFirst(found.get(server) ?? []));
  const { offset = 0, limit = DEFAULT_LIMIT } = query;
  return {
    documents: ordered.slice(offset, offset + limit),
    total_count: ordered.length,
  };
}

function matcher(
  { keywords: words = [], file_type }: FinderQuery,
): (summary: DPEDocumentSummary) => boolean {
  const wanted = words.map((word) => word.toLowerCase());
  return ({ title, keywords = [], summary = "", file_type: type }) => {
    if (file_type !== undefined && type !== file_type) return false;
    const texts = [title, summary, ...keywords]
      .map((text) => text.toLowerCase());
    return wanted.length === 0 ||
      wanted.some((word) => texts.some((text) => text.includes(word)));
  };
}

/** Sorts stably, newest first; an invalid date counts as missing. */
function newestFirst(
  documents: readonly DPEDocumentSummary[],
): DPEDocumentSummary[] {
  return documents
    .map((document) => ({ document, at: modifiedAt(document) }))
    .sort((a, b) => a.at === b.at ? 0 : b.at - a.at)
    .map(({ document }) => document);
}

function modifiedAt({ last_modified }: DPEDocumentSummary): number {
  const at = last_modified === undefined ? NaN : Date.parse(last_modified);
  return Number.isNaN(at) ? -Infinity : at;
}

/**
 * Creates a document's entry in the catalogue from its resource (protocol §8.4).
 *
 * @param warn receives a sentence for each invalid field, in whose place a default is used
 * @throws {ProtocolError} 4012 when its URI is not a document URI
 */
export function documentSummary(
  server: string,
  resource: Resource,
  warn: (problem: string) => void,
): DPEDocumentSummary {
  const { uri: listed = "" } = resource;
  const { uri, warnings } = parseListedDpeUri(listed);
  warnings.forEach(warn);
  const docRef = docRefOf(uri);
  const meta = fieldsOf(resource._meta);
  const { keywords, page_count: pages } = meta;
  const pageCount = Number.isSafeInteger(pages)
    ? Math.max(0, Number(pages))
    : 0;
  if (isGiven(pages) && pageCount === 0) {
    warn(
      "_meta.page_count must be a whole number of at least 1; it counts as unknown",
    );
  }
  const summary = text(resource.description);
  const lastModified = text(fieldsOf(resource.annotations).lastModified);
  return {
    doc_ref: docRef,
    uri: withoutQuery(listed),
    file_uri: text(meta.file_uri) ?? "",
    file_type: text(meta.file_type) ?? "",
    title: text(resource.title) || text(resource.name) || docRef,
    page_count: pageCount,
    ...(Array.isArray(keywords) && {
      keywords: keywords.filter((word) => typeof word === "string"),
    }),
    ...(summary !== undefined && { summary }),
    server,
    ...(lastModified !== undefined && { last_modified: lastModified }),
  };
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;
