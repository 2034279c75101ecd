/**
 * The catalogue of documents (spec §8.4): the documents of all MCP servers are listed, filtered and
 * ordered.
 *
 * @module
 */
import { identityOf, isDocument, quoteUri } from "./listed.ts";
import {
  historyOf,
  listResources,
  orderServers,
  participants,
  type ResourceParts,
  type RunningServer,
} from "./servers.ts";
import { isRecord, reasonOf } from "../util/values.ts";
import {
  docRefOf,
  type DPEDocumentSummary,
  type GetFinderReq,
  type GetFinderRet,
  parseListedDpeUri,
  type Resource,
} from "../../protocol/mod.ts";
import { withTimeout } from "../../shared/async.ts";

/** Returns a page of the catalogue of documents (spec §8.4). */
export async function getFinder(
  request: GetFinderReq,
  parts: ResourceParts,
): Promise<GetFinderRet> {
  const listing = await listDocuments(
    participants(parts.hosting.host),
    ({ bundleId }, resources) => parts.watch.saw(bundleId, resources),
  );
  const { documents, total_count, warnings } = organizeFinder(
    listing.documents,
    request,
    historyOf(parts),
  );
  parts.warnOnce.warn([...listing.warnings, ...warnings]);
  return { documents, total_count, req_id: request.req_id };
}

/** Limit for each MCP server; the Server waits 30 s for the whole catalogue (spec §7). */
const LIST_TIMEOUT_MS = 10_000;

/** The listed documents, with warnings about servers that failed. */
interface DocumentListing {
  /** Server by server, those of one in the order of its resource list. */
  readonly documents: readonly ListedDocument[];
  /** Servers that could not be listed, one sentence each, for the log. */
  readonly warnings: readonly string[];
}

/**
 * Lists the documents of all MCP servers at once; a failed or slow server affects only its own.
 *
 * @param listed receives the resources of each server
 */
async function listDocuments(
  servers: readonly RunningServer[],
  listed: (server: RunningServer, resources: readonly Resource[]) => void,
): Promise<DocumentListing> {
  const warnings: string[] = [];
  const documents = await Promise.all(
    servers.map(async (server) => {
      const { name, connection } = server;
      try {
        const resources = await withTimeout(
          LIST_TIMEOUT_MS,
          (signal) => listResources(connection, signal),
        );
        listed(server, resources);
        return resources.filter(({ uri }) => isDocument(uri))
          .map((resource) => ({ server: name, resource }));
      } catch (error) {
        warnings.push(
          `Cannot list the documents of "${name}": ${reasonOf(error)}`,
        );
        return [];
      }
    }),
  );
  return { documents: documents.flat(), warnings };
}

/** A document as its MCP server lists it. */
export interface ListedDocument {
  /** The MCP server that lists it. */
  readonly server: string;
  /** As it was listed. */
  readonly resource: Resource;
}

/** Filters, and the page of the matches to return. */
export type FinderQuery = Pick<
  GetFinderReq,
  "keywords" | "file_type" | "offset" | "limit"
>;

/** A page of the catalogue, with warnings about documents. */
interface OrganizedFinder {
  /** At most `limit` documents from `offset` on. */
  readonly documents: DPEDocumentSummary[];
  /** Number of matches before paging. */
  readonly total_count: number;
  /** One sentence each, for the log. */
  readonly warnings: string[];
}

/** Default number of documents in an answer (spec §8.4). */
const DEFAULT_LIMIT = 20;

/**
 * Organizes the documents of all MCP servers into one page of a catalogue (spec §8.4).
 *
 * @param documents those of one server in the order of its resource list
 * @param query of the request, already validated
 * @param history the MCP server of each tool call, oldest first
 */
export function organizeFinder(
  documents: readonly ListedDocument[],
  query: FinderQuery,
  history: readonly string[],
): OrganizedFinder {
  const warnings: string[] = [];
  const matches = matcher(query);
  const byServer = new Map<string, DPEDocumentSummary[]>();
  for (const { server, resource } of documents) {
    const { summary, problems } = read(server, resource);
    warnings.push(
      ...problems.map((problem) =>
        `Document ${quoteUri(resource.uri)} of "${server}": ${problem}`
      ),
    );
    if (!summary || !matches(summary)) continue;
    const found = byServer.get(server);
    if (found) found.push(summary);
    else byServer.set(server, [summary]);
  }
  const found = orderServers([...byServer.keys()], history)
    .flatMap((server) => newestFirst(byServer.get(server) ?? []));
  const { offset = 0, limit = DEFAULT_LIMIT } = query;
  return {
    documents: found.slice(offset, offset + limit),
    total_count: found.length,
    warnings,
  };
}

function read(
  server: string,
  resource: Resource,
): { summary?: DPEDocumentSummary; problems: readonly string[] } {
  try {
    const { summary, warnings } = documentSummary(server, resource);
    return { summary, problems: warnings };
  } catch (error) {
    return { problems: [`${reasonOf(error)}; it is left out`] };
  }
}

function matcher(
  { keywords = [], file_type }: FinderQuery,
): (summary: DPEDocumentSummary) => boolean {
  const wanted = keywords.map((word) => word.toLowerCase());
  return (summary) =>
    (file_type === undefined || summary.file_type === file_type) &&
    (wanted.length === 0 || isAbout(summary, wanted));
}

function isAbout(
  { title, keywords = [], summary = "" }: DPEDocumentSummary,
  wanted: readonly string[],
): boolean {
  const texts = [title, summary, ...keywords].map((text) => text.toLowerCase());
  return wanted.some((word) => texts.some((text) => text.includes(word)));
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

/** A document's entry in the catalogue, with warnings about it. */
interface ReadSummary {
  /** The entry. */
  readonly summary: DPEDocumentSummary;
  /** Invalid fields that were replaced with defaults, one sentence each, for the log. */
  readonly warnings: readonly string[];
}

/**
 * Creates a document's entry in the catalogue from its resource (spec §8.4).
 *
 * @throws {ProtocolError} 4012 when its URI is not a document URI
 */
export function documentSummary(
  server: string,
  resource: Resource,
): ReadSummary {
  const listed = resource.uri ?? "";
  const { uri, warnings } = parseListedDpeUri(listed);
  const docRef = docRefOf(uri);
  const meta = isRecord(resource._meta) ? resource._meta : {};
  const annotations = isRecord(resource.annotations)
    ? resource.annotations
    : {};
  const keywords = Array.isArray(meta.keywords)
    ? meta.keywords.filter((word) => typeof word === "string")
    : undefined;
  const summary = text(resource.description);
  const lastModified = text(annotations.lastModified);
  return {
    summary: {
      doc_ref: docRef,
      uri: identityOf(listed),
      file_uri: text(meta.file_uri) ?? "",
      file_type: text(meta.file_type) ?? "",
      title: text(resource.title) || text(resource.name) || docRef,
      page_count: pageCount(meta.page_count),
      ...(keywords && { keywords }),
      ...(summary !== undefined && { summary }),
      server,
      ...(lastModified !== undefined && { last_modified: lastModified }),
    },
    warnings: isGiven(meta.page_count) && pageCount(meta.page_count) === 0
      ? [
        ...warnings,
        "_meta.page_count must be a whole number of at least 1; it counts as unknown",
      ]
      : warnings,
  };
}

const pageCount = (value: unknown): number =>
  Number.isSafeInteger(value) && Number(value) >= 1 ? Number(value) : 0;

const text = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null;
