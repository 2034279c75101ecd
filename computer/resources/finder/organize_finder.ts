import type {
  DPEDocumentSummary,
  GetFinderReq,
  Resource,
} from "../../../protocol/mod.ts";
import { reasonOf } from "../../util/values.ts";
import { quoteUri } from "../listed_uri.ts";
import { orderServers } from "../server_order.ts";
import { documentSummary } from "./document_summary.ts";

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
export interface OrganizedFinder {
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
