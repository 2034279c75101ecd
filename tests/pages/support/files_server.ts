/**
 * An MCP server with the tools that the pages only name: `to_png`, and one that does not end.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
// @ts-types="@modelcontextprotocol/sdk/server/stdio"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const mcp = new McpServer({ name: "files", version: "1.0.0" });
const text = (text: string) => ({ content: [{ type: "text" as const, text }] });

mcp.registerTool(
  "read_text_file",
  { inputSchema: { path: z.string() } },
  ({ path }) => text(`what is in ${path}`),
);
mcp.registerTool(
  "to_png",
  { inputSchema: { path: z.string() } },
  ({ path }) => text(path),
);
mcp.registerTool("wait", {}, () => new Promise(() => {}));

await mcp.connect(new StdioServerTransport());
