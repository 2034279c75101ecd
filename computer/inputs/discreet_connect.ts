import type { MCPServerConfig } from "../../protocol/mod.ts";
import type { ConnectMcp } from "../hosted_server_options.ts";
import type { McpConnection } from "../mcp/connection.ts";
import { hideValues, secretsIn } from "./hide_values.ts";

/**
 * Reaches MCP servers as `connect` does, and takes secret values out of every error on the way.
 *
 * A server that dies may have printed the token that it was given, and one that refuses a call
 * may quote it; both end up in what people and Agents are told.
 *
 * @param secrets the values that are known by now
 */
export function discreetConnect(
  connect: ConnectMcp,
  secrets: () => Iterable<string>,
): ConnectMcp {
  return async (config, signal) => {
    const hide = hider(config, secrets);
    return discreet(await connect(config, signal).catch(hide), hide);
  };
}

/** Throws what it is given, with the values taken out of its message. */
type Hide = (error: unknown) => never;

function hider(
  config: MCPServerConfig,
  secrets: () => Iterable<string>,
): Hide {
  return (error) => {
    if (error instanceof Error) {
      error.message = hideValues(error.message, [
        ...secrets(),
        ...secretsIn(config),
      ]);
    }
    throw error;
  };
}

const discreet = (connection: McpConnection, hide: Hide): McpConnection => ({
  capabilities: connection.capabilities,
  callTool: (...args) => connection.callTool(...args).catch(hide),
  listTools: (...args) => connection.listTools(...args).catch(hide),
  listResources: (...args) => connection.listResources(...args).catch(hide),
  readResource: (...args) => connection.readResource(...args).catch(hide),
  subscribe: (...args) => connection.subscribe(...args).catch(hide),
  onNotification: (listener) => connection.onNotification(listener),
  onLost: (listener) => connection.onLost(listener),
  close: () => connection.close(),
});
