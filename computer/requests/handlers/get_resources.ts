import {
  ErrorCode,
  type GET_RESOURCES_EVENT,
  ProtocolError,
} from "../../../protocol/mod.ts";
import { requestFailure } from "../../tools/call_failure.ts";
import type { HostedServer } from "../../host/hosted_server.ts";
import type { McpConnection } from "../../host/mcp/connection.ts";
import type { McpHost } from "../../host/host.ts";
import type { Handler } from "./handler.ts";

/** What {@linkcode getResources} needs. */
export interface GetResourcesNeeds {
  /** The MCP servers. */
  readonly host: Pick<McpHost, "server">;
}

/** Returns one page of an MCP server's resources, unchanged (spec §8.2). */
export const getResources: Handler<
  typeof GET_RESOURCES_EVENT,
  GetResourcesNeeds
> = async (
  { mcp_server, cursor, req_id },
  { host },
) => {
  const connection = running(mcp_server, host.server(mcp_server));
  if (!connection.capabilities.resources) {
    throw new ProtocolError(
      ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED,
      `MCP server "${mcp_server}" does not offer resources`,
      { fields: { mcp_server, capability: "resources" } },
    );
  }
  const { resources, nextCursor } = await connection
    .listResources(cursor ?? undefined)
    .catch((error) => {
      throw requestFailure(mcp_server, error);
    });
  return {
    resources,
    ...(nextCursor !== undefined && { next_cursor: nextCursor }),
    req_id,
  };
};

function running(
  name: string,
  server: HostedServer | undefined,
): McpConnection {
  if (server?.connection) return server.connection;
  const reason = server && `it is ${server.status.state}`;
  throw new ProtocolError(
    ErrorCode.NOT_FOUND,
    reason
      ? `MCP server "${name}" cannot be asked: ${reason}`
      : `There is no MCP server "${name}" on this Computer`,
    { fields: { mcp_server: name, ...(reason && { reason }) } },
  );
}
