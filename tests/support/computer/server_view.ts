import type { McpTool } from "../../../computer/host/mcp/mcp_connection.ts";
import type {
  ServerState,
  ServerView,
} from "../../../computer/host/server_status.ts";
import { parseMCPServerConfig } from "../../../protocol/mod.ts";

/** A tool as an MCP server lists it. */
export const mcpTool = (
  name: string,
  over: Partial<McpTool> = {},
): McpTool => ({
  name,
  description: "",
  inputSchema: { type: "object" },
  outputSchema: null,
  annotations: undefined,
  meta: {},
  ...over,
});

/** An MCP server in the form that the rules about tools expect. */
export const view = (
  name: string,
  tools: readonly (string | McpTool)[],
  config: Record<string, unknown> = {},
  state: ServerState = "running",
): ServerView => ({
  name,
  bundleId: typeof config.bundle_id === "string" ? config.bundle_id : name,
  address: name,
  bundleIds: false,
  state,
  tools: tools.map((tool) => typeof tool === "string" ? mcpTool(tool) : tool),
  config: parseMCPServerConfig({
    name,
    type: "stdio",
    server_parameters: { command: "x" },
    ...config,
  }),
});
