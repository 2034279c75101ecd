/**
 * An MCP server with windows: notes, which an Agent adds with a tool and then sees on the
 * Computer's desktop. It also offers them as a document, and a prompt about them.
 *
 * It does not depend on A2C-SMCP: a window is a resource whose URI starts with `window://`, of a
 * server that declares `resources.subscribe` and notifies of changes.
 *
 * ```sh
 * deno run -A examples/notes_server.ts
 * ```
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

const WINDOW = "window://notes/all";
const DOCUMENT = "dpe://notes/all";
const notes: string[] = [];

const mcp = new McpServer({ name: "notes", version: "1.0.0" }, {
  capabilities: { resources: { subscribe: true } },
});

mcp.registerTool("add_note", {
  description: "Adds a note",
  inputSchema: { text: z.string() },
}, async ({ text }) => {
  notes.push(text);
  await mcp.server.sendResourceUpdated({ uri: WINDOW });
  return { content: [{ type: "text", text: `${notes.length} notes` }] };
});

mcp.registerResource(
  "All notes",
  WINDOW,
  { annotations: { audience: ["assistant"], priority: 0.8 } },
  () => ({
    contents: [{
      uri: WINDOW,
      text: notes.map((note) => `- ${note}`).join("\n"),
    }],
  }),
);

mcp.registerResource(
  "The notes as a document",
  DOCUMENT,
  { mimeType: "application/json", description: "All that was noted" },
  () => ({
    contents: [{
      uri: DOCUMENT,
      mimeType: "application/json",
      text: JSON.stringify({
        doc_ref: "all",
        uri: DOCUMENT,
        title: "Notes",
        pages: [{
          page_index: 0,
          title: "All notes",
          elements: notes.map((text, index) => ({
            element_id: `note-${index}`,
            category: "ListItem",
            text,
          })),
        }],
      }),
    }],
  }),
);

mcp.registerPrompt(
  "summary",
  { description: "Sums up the notes", argsSchema: { words: z.string() } },
  ({ words }) => ({
    messages: [{
      role: "user",
      content: {
        type: "text",
        text: `Sum up in ${words} words:\n${notes.join("\n")}`,
      },
    }],
  }),
);

// Every change above notifies all clients, so there is no list of subscriptions.
mcp.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
mcp.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));

await mcp.connect(new StdioServerTransport());
