import type { ServerConfig } from "../config/server_config.ts";
import type { ConnectMcp } from "./hosted_server_options.ts";
import type { McpConnection } from "./mcp/connection.ts";
import { hideValues, secretsIn } from "../util/hide_values.ts";

/**
 * Wraps `connect` so that no error contains secret values.
 *
 * A server that crashes may have printed its token, and a server that refuses a call may quote it;
 * both end up in messages to users and Agents.
 *
 * @param secrets returns the values known so far
 */
export function connectWithRedaction(
  connect: ConnectMcp,
  secrets: () => Iterable<string>,
): ConnectMcp {
  return async (config, signal) => {
    const hide = hider(config, secrets);
    try {
      return redactErrors(await connect(config, signal), hide);
    } catch (error) {
      throw hide(error);
    }
  };
}

/** Redacts the values in the message of an error. */
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

function redactErrors(connection: McpConnection, hide: Hide): McpConnection {
  const fail = (error: unknown): never => {
    throw hide(error);
  };
  return {
    capabilities: connection.capabilities,
    callTool: (...args) => connection.callTool(...args).catch(fail),
    listTools: (...args) => connection.listTools(...args).catch(fail),
    listResources: (...args) => connection.listResources(...args).catch(fail),
    readResource: (...args) => connection.readResource(...args).catch(fail),
    listPrompts: (...args) => connection.listPrompts(...args).catch(fail),
    getPrompt: (...args) => connection.getPrompt(...args).catch(fail),
    subscribe: (...args) => connection.subscribe(...args).catch(fail),
    unsubscribe: (...args) => connection.unsubscribe(...args).catch(fail),
    onNotification: (listener) => connection.onNotification(listener),
    onLost: (listener) => connection.onLost((error) => listener(hide(error))),
    close: () => connection.close(),
  };
}
