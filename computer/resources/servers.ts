import type { McpHost } from "../host/host.ts";
import type { McpConnection } from "../host/mcp/mcp_connection.ts";
import type { Resource, ResourceContents } from "../../protocol/mod.ts";
import type { WarnOnce } from "../util/log.ts";

/** A running MCP server. */
export interface RunningServer {
  /** How the office names it. */
  readonly name: string;
  /** Its MCP connection. */
  readonly connection: McpConnection;
  /** Lists its resources, of which the watch takes note. */
  list(signal: AbortSignal): Promise<Resource[]>;
}

/** Checks whether an MCP server takes part in Desktop and Finder (protocol §8). */
export const takesPart = ({ capabilities }: McpConnection): boolean =>
  capabilities.resources?.subscribe === true;

/** Lists the running MCP servers that take part in Desktop and Finder, in the order of the configuration. */
export const participants = (
  { hosting: { host }, watch }: ResourceParts,
): RunningServer[] =>
  host.views.flatMap(({ bundleId, address: name }) => {
    const connection = host.server(bundleId)?.connection;
    if (!connection || !takesPart(connection)) return [];
    const list = async (signal: AbortSignal) => {
      const resources = await connection.listAllResources({ signal });
      watch.saw(bundleId, resources);
      return resources;
    };
    return [{ name, connection, list }];
  });

/** The parts of a tool host with which windows and documents are found. */
export interface ResourceParts {
  /** The MCP servers. */
  readonly hosting: { readonly host: McpHost };
  /** Those whose tools were called, by `bundle_id`, the most recent last. */
  readonly calls: { readonly recent: { readonly history: string[] } };
  /** Receives the resources that each server lists. */
  readonly watch: {
    saw(bundleId: string, resources: readonly Resource[]): void;
  };
  /** Logs what is left out. */
  readonly warnOnce: WarnOnce;
}

/** Names the MCP servers whose tools were called as the office does, the most recent last. */
export const recentAddresses = ({ hosting, calls }: ResourceParts): string[] =>
  calls.recent.history.map((id) => hosting.host.names.addressOf(id));

/**
 * Orders MCP servers by recent use: those in the tool-call history, most recent first, then the
 * rest by name (protocol §8.1, §8.4).
 *
 * @param servers in any order, without duplicates
 * @param history the server of each tool call, oldest first
 */
export function orderServers(
  servers: readonly string[],
  history: readonly string[],
): string[] {
  const known = new Set(servers);
  const recent = new Set(history.toReversed().filter((s) => known.has(s)));
  // By code units, not by locale, so that the order is the same on every machine.
  const rest = servers.filter((server) => !recent.has(server)).toSorted();
  return [...recent, ...rest];
}

/** Reads contents sent by an MCP server; fields that are not strings are dropped. */
export const readContents = (
  { uri, mimeType, text, blob }: Record<string, unknown>,
): ResourceContents => ({
  ...(typeof uri === "string" && { uri }),
  ...(typeof mimeType === "string" && { mimeType }),
  ...(typeof text === "string" && { text }),
  ...(typeof blob === "string" && { blob }),
});
