import type { GET_FINDER_EVENT } from "../../../protocol/mod.ts";
import { listDocuments } from "../../resources/finder/list_documents.ts";
import { organizeFinder } from "../../resources/finder/organize_finder.ts";
import { participants } from "../../resources/servers.ts";
import type { Handler } from "./handler.ts";
import type { ResourceNeeds } from "./resource_needs.ts";

/** Returns a page of the catalogue of documents (spec §8.4). */
export const getFinder: Handler<typeof GET_FINDER_EVENT, ResourceNeeds> =
  async (
    request,
    { host, watch, recent, warnOnce },
  ) => {
    const listing = await listDocuments(
      participants(host),
      ({ bundleId }, resources) => watch.saw(bundleId, resources),
    );
    const { documents, total_count, warnings } = organizeFinder(
      listing.documents,
      request,
      recent.history.map((bundleId) => host.names.addressOf(bundleId)),
    );
    warnOnce.warn([...listing.warnings, ...warnings]);
    return { documents, total_count, req_id: request.req_id };
  };
