import { parseComputerConfig } from "../../../computer/config/parse_config.ts";
import { prepareConfig } from "../../../computer/config/fill_inputs.ts";
import { InputStore } from "../../../computer/config/input_store.ts";
import { connectMcp } from "../../../computer/host/mcp/connect.ts";
import { McpHost, type McpHostOptions } from "../../../computer/host/host.ts";
import type { ServerSettings } from "../../../computer/mod.ts";
import type { McpConnection } from "../../../computer/host/mcp/mcp_connection.ts";
import type { ServerState } from "../../../computer/host/server_status.ts";

/** A host of real MCP servers, not started yet. */
export const hostOf = (
  servers: Record<string, ServerSettings>,
  options?: Partial<McpHostOptions>,
): McpHost =>
  new McpHost(parseComputerConfig({ servers }).servers, {
    connect: connectMcp,
    prepare: (config, signal) =>
      prepareConfig(config, new InputStore(), signal),
    ...options,
  });

/** A host whose MCP servers have all started or failed. */
export async function startHost(
  servers: Record<string, ServerSettings>,
  options?: Partial<McpHostOptions>,
): Promise<McpHost> {
  const host = hostOf(servers, options);
  await host.start();
  return host;
}

/** The restart policy with which a server that failed is not started again while a test looks. */
export const ONCE = { minDelayMs: 86_400_000, maxDelayMs: 86_400_000 };

/** The one with which it is restarted at once, any number of times. */
export const AT_ONCE = { minDelayMs: 1, maxDelayMs: 5, healthyMs: 0 };

/** The connection to a running server. */
export function connectionOf(host: McpHost, name: string): McpConnection {
  const server = host.server(name);
  if (server?.connection) return server.connection;
  throw new Error(`${name} is ${JSON.stringify(server?.status)}`);
}

/** Calls a tool by its MCP name and returns the text of its result. */
export async function textOf(
  host: McpHost,
  server: string,
  tool: string,
  params: Record<string, unknown> = {},
): Promise<string> {
  const result = await connectionOf(host, server).callTool(tool, params, {});
  return result.content.map(({ text }) => text ?? "").join("\n");
}

/** Resolves when a server is in a state. */
export function reached(
  host: McpHost,
  name: string,
  state: ServerState,
): Promise<void> {
  return new Promise((resolve) => {
    const check = () => host.server(name)?.status.state === state;
    if (check()) return resolve();
    const off = host.on("serverState", () => {
      if (!check()) return;
      off();
      resolve();
    });
  });
}

/** Resolves at a notification of a resource's change. */
export function told(host: McpHost, uri: string): Promise<void> {
  return new Promise((resolve) => {
    const off = host.on("resourceUpdated", (update) => {
      if (update.uri !== uri) return;
      off();
      resolve();
    });
  });
}
