import type { ServerConfig } from "../config/server_config.ts";
import type { ConnectMcp } from "./hosted_server_options.ts";
import type { McpConnection } from "./mcp/connection.ts";
import { hideValues, secretsIn } from "../util/hide_values.ts";

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
    try {
      return discreet(await connect(config, signal), hide);
    } catch (error) {
      throw hide(error);
    }
  };
}

/** Takes the values out of the message of an error. */
type Hide = <E>(error: E) => E;

function hider(
  config: ServerConfig,
  secrets: () => Iterable<string>,
): Hide {
  return (error) => {
    if (error instanceof Error) {
      error.message = hideValues(error.message, [
        ...secrets(),
        ...config.type === "in-process" ? [] : secretsIn(config),
      ]);
    }
    return error;
  };
}

function discreet(connection: McpConnection, hide: Hide): McpConnection {
  const fail = (error: unknown): never => {
    throw hide(error);
  };
  return {
    capabilities: connection.capabilities,
    callTool: (...args) => connection.callTool(...args).catch(fail),
    listTools: (...args) => connection.listTools(...args).catch(fail),
    listResources: (...args) => connection.listResources(...args).catch(fail),
    readResource: (...args) => connection.readResource(...args).catch(fail),
    subscribe: (...args) => connection.subscribe(...args).catch(fail),
    onNotification: (listener) => connection.onNotification(listener),
    onLost: (listener) => connection.onLost((error) => listener(hide(error))),
    close: () => connection.close(),
  };
}
