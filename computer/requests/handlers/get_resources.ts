import {
  type GET_RESOURCES_EVENT,
  inBothSpellings,
} from "../../../protocol/mod.ts";
import { requestFailure } from "../../tools/call_failure.ts";
import { askedServer, type AskedServerNeeds } from "./asked_server.ts";
import type { Handler } from "./handler.ts";

/** Returns one page of an MCP server's resources, unchanged but for added spellings (spec §8.2, 0.4 §9). */
export const getResources: Handler<
  typeof GET_RESOURCES_EVENT,
  AskedServerNeeds
> = async (
  { mcp_server, cursor, req_id },
  { host },
) => {
  const connection = askedServer(host, mcp_server, "resources");
  const { resources, nextCursor } = await connection
    .listResources(cursor ?? undefined)
    .catch((error) => {
      throw requestFailure(mcp_server, error);
    });
  return {
    resources: resources.map(inBothSpellings),
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
    req_id,
  };
};
