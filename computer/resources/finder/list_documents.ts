import { withTimeout } from "../../../shared/async.ts";
import type { Resource } from "../../../protocol/mod.ts";
import { reasonOf } from "../../util/values.ts";
import { isDocument } from "../listed_uri.ts";
import { listResources, type RunningServer } from "../servers.ts";
import type { ListedDocument } from "./organize_finder.ts";

/** Limit for each MCP server; the Server waits 30 s for the whole catalogue (spec §7). */
const LIST_TIMEOUT_MS = 10_000;

/** The listed documents, with warnings about servers that failed. */
export interface DocumentListing {
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
export async function listDocuments(
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
