import type { READ_RESOURCE_EVENT } from "../../../protocol/mod.ts";
import {
  answerOf,
  askedServer,
  type AskedServerNeeds,
} from "./asked_server.ts";
import type { Handler } from "./handler.ts";

/** Reads a resource of an MCP server; its contents pass unchanged. */
export const readResource: Handler<
  typeof READ_RESOURCE_EVENT,
  AskedServerNeeds
> = async ({ mcp_server, uri, timeout, req_id }, { host }) => {
  const connection = askedServer(host, mcp_server, "resources");
  const contents = await answerOf(
    mcp_server,
    timeout,
    (signal) => connection.readResource(uri, { signal }),
  );
  return { contents, req_id };
};
