// A MCP server of a few tools, a window and a document, on its standard input and output.
import { createHash, randomBytes } from "node:crypto";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import {
  CallToolRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  SubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

const text = (text) => ({ content: [{ type: "text", text }] });
const began = Promise.withResolvers();
const aborted = Promise.withResolvers();

const tools = {
  add: ({ a, b }) => text(String(a + b)),
  picture: ({ bytes }) => {
    const content = randomBytes(bytes);
    const digest = createHash("sha256").update(content).digest("hex");
    const data = content.toString("base64");
    const image = { type: "image", mimeType: "image/png", data };
    return { content: [{ type: "text", text: digest }, image] };
  },
  fail: () => ({ ...text("it went wrong"), isError: true }),
  slow: async (_, signal) => {
    const ended = new Promise((end) => signal.addEventListener("abort", end));
    began.resolve();
    await ended;
    aborted.resolve();
    return text("too late");
  },
  slow_began: () => began.promise.then(() => text("it began")),
  slow_aborted: () => aborted.promise.then(() => text("it was aborted")),
};

const document = {
  doc_ref: "report",
  uri: "dpe://files/report",
  file_uri: "",
  file_type: "txt",
  title: "Report",
  summary: "",
  page_count: 1,
  keywords: [],
  last_modified: "2026-01-01T00:00:00Z",
  pages: [{
    page_index: 0,
    title: "First",
    elements: [{ element_id: "e1", category: "NarrativeText", text: "Hello" }],
  }],
};

const resources = {
  "window://clock": { name: "Clock", text: "It is noon" },
  "dpe://files/report": { name: "Report", text: JSON.stringify(document) },
};

const server = new Server({ name: "fixture", version: "1.0.0" }, {
  capabilities: { tools: {}, resources: { subscribe: true } },
});
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.keys(tools).map((name) => ({
    name,
    inputSchema: { type: "object" },
  })),
}));
server.setRequestHandler(
  CallToolRequestSchema,
  ({ params }, { signal }) => tools[params.name](params.arguments, signal),
);
server.setRequestHandler(ListResourcesRequestSchema, () => ({
  resources: Object.entries(resources).map(([uri, { name }]) => ({
    uri,
    name,
  })),
}));
server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => ({
  contents: [{ uri, mimeType: "application/json", text: resources[uri].text }],
}));
server.setRequestHandler(SubscribeRequestSchema, () => ({}));
await server.connect(new StdioServerTransport());
