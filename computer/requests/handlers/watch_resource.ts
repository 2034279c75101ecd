import {
  ErrorCode,
  ProtocolError,
  type WATCH_RESOURCE_EVENT,
} from "../../../protocol/mod.ts";
import { takesPart } from "../../resources/servers.ts";
import type { WatchedUris } from "../../resources/watched_uris.ts";
import {
  answerOf,
  askedServer,
  type AskedServerNeeds,
} from "./asked_server.ts";
import type { Handler } from "./handler.ts";

/** What {@linkcode watchResource} needs. */
export interface WatchResourceNeeds extends AskedServerNeeds {
  /** What Agents watch. */
  readonly watched: WatchedUris;
}

/** Less than a Server waits, so that the MCP server is named. */
const TIMEOUT_S = 20;

/** Begins or ends to tell of each change of a resource. */
export const watchResource: Handler<
  typeof WATCH_RESOURCE_EVENT,
  WatchResourceNeeds
> = async ({ mcp_server, uri, watch, req_id }, { host, watched }) => {
  if (!watch) {
    watched.remove(mcp_server, uri);
    return { req_id };
  }
  const connection = askedServer(host, mcp_server, "resources");
  if (!takesPart(connection)) {
    throw new ProtocolError(
      ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED,
      `MCP server "${mcp_server}" tells of no changes of its resources`,
      { fields: { mcp_server, capability: "resources.subscribe" } },
    );
  }
  await watched.add(mcp_server, uri, connection, () =>
    answerOf(
      mcp_server,
      TIMEOUT_S,
      (signal) => connection.subscribe(uri, { signal }),
    ));
  return { req_id };
};
