/**
 * The MCP server that the pages call `files`, with all that their commands name.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
// @ts-types="@modelcontextprotocol/sdk/server/stdio"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const mcp = new McpServer({ name: "files", version: "1.0.0" }, {
  capabilities: { resources: { subscribe: true } },
});
const text = (text: string) => ({ content: [{ type: "text" as const, text }] });

mcp.registerTool(
  "read_text_file",
  { inputSchema: { path: z.string() } },
  ({ path }) => text(`what is in ${path}`),
);
mcp.registerTool(
  "list_directory",
  { inputSchema: { path: z.string() } },
  () => text("[FILE] computer.json"),
);
mcp.registerTool("record", {}, () => ({
  content: [{
    type: "image",
    mimeType: "image/png",
    data: "A".repeat(16_000_000),
  }],
}));
mcp.registerTool(
  "to_png",
  { inputSchema: { path: z.string() } },
  ({ path }) => text(path),
);
mcp.registerTool("report", {}, () => ({
  content: [
    { type: "text", text: "Here it is" },
    { type: "resource_link", uri: "file:///report.pdf", name: "report.pdf" },
  ],
}));
mcp.registerTool("wait", {}, () => new Promise(() => {}));

mcp.registerResource("The folder", "window://files/folder", {}, ({ href }) => ({
  contents: [{ uri: href, text: "notes.txt" }],
}));
mcp.registerResource(
  "The logo",
  "file:///logo.png",
  { mimeType: "image/png" },
  ({ href }) => ({
    contents: [{ uri: href, mimeType: "image/png", blob: "iVBORw0KGgo=" }],
  }),
);
mcp.registerResource(
  "The report",
  "file:///report.pdf",
  { mimeType: "application/pdf" },
  ({ href }) => ({
    contents: [{
      uri: href,
      mimeType: "application/pdf",
      blob: btoa("All is well."),
    }],
  }),
);
mcp.registerResource(
  "A report",
  "dpe://files/report",
  {
    mimeType: "application/json",
    _meta: { file_type: "pdf", keywords: ["report"] },
  },
  ({ href }) => ({
    contents: [{
      uri: href,
      mimeType: "application/json",
      text: JSON.stringify({
        doc_ref: "report",
        uri: href,
        title: "Report",
        pages: [{
          page_index: 0,
          title: "Results",
          elements: [{
            element_id: "1",
            category: "Text",
            text: "All is well.",
          }],
        }],
      }),
    }],
  }),
);
mcp.registerPrompt(
  "review",
  { argsSchema: { file: z.string() } },
  ({ file }) => ({
    messages: [{
      role: "user",
      content: { type: "text", text: `Review ${file}.` },
    }],
  }),
);

mcp.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
mcp.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
await mcp.connect(new StdioServerTransport());
