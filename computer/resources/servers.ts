import type { Resource } from "../../protocol/mod.ts";
import type { McpHost } from "../host/host.ts";
import type { McpConnection } from "../host/mcp/connection.ts";
import { allPages } from "../host/mcp/pages.ts";

/** A running MCP server. */
export interface RunningServer {
  /** How the office names it. */
  readonly name: string;
  /** What identifies it. */
  readonly bundleId: string;
  /** Its MCP connection. */
  readonly connection: McpConnection;
}

/** Checks whether an MCP server takes part in Desktop and Finder (spec §8). */
export const takesPart = ({ capabilities }: McpConnection): boolean =>
  capabilities.resources?.subscribe === true;

/** Lists the running MCP servers that take part in Desktop and Finder, in the order of the configuration. */
export const participants = (host: McpHost): RunningServer[] =>
  host.views.flatMap(({ bundleId, address: name }) => {
    const connection = host.server(bundleId)?.connection;
    return connection && takesPart(connection)
      ? [{ name, bundleId, connection }]
      : [];
  });

/** Lists all resources of an MCP server, page by page. */
export const listResources = (
  connection: McpConnection,
  signal?: AbortSignal,
): Promise<Resource[]> =>
  allPages("resources/list", async (cursor) => {
    const page = await connection.listResources(cursor, { signal });
    return { items: page.resources, nextCursor: page.nextCursor };
  });
