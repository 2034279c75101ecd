/**
 * The MCP server that the conformance suite of MCP asks for, with its names, as a child process: the
 * suite's own is in no registry.
 *
 * It speaks MCP 2025-11-25, as most MCP servers behind a Computer do. What it asks its client, the
 * Computer passes on.
 *
 * @module
 */
import { Server } from "@modelcontextprotocol/sdk/server";
// @ts-types="@modelcontextprotocol/sdk/server/stdio"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  GetPromptRequestSchema,
  type GetPromptResult,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { PROMPTS } from "./prompts.ts";
import { QUESTIONS } from "./questions.ts";
import { readResource, RESOURCES, TEMPLATES } from "./resources.ts";
import { JSON_SCHEMA_TOOL, RESULTS, text } from "./results.ts";

const server = new Server({ name: "conformance", version: "1.0.0" }, {
  capabilities: { tools: {}, resources: {}, prompts: {} },
});

/** Three reports, a moment apart, and the token that they were made with. */
async function progress(token: string | number = 0): Promise<CallToolResult> {
  for (const progress of [0, 50, 100]) {
    await server.notification({
      method: "notifications/progress",
      params: {
        progressToken: token,
        progress,
        total: 100,
        message: `step ${progress} of 100`,
      },
    });
    // Reports of one moment may be passed on as one.
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return text(String(token));
}

/** Longer than the shortest time between two reports that a Computer passes on. */
const PAUSE_MS = 150;

const OWN_TOOLS = ["test_tool_with_progress", "test_error_handling"];

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [
    ...[...OWN_TOOLS, ...Object.keys(RESULTS), ...Object.keys(QUESTIONS)].map(
      (name) => ({
        name,
        description: `Shows ${name.replaceAll("_", " ")}`,
        inputSchema: { type: "object" as const, properties: {} },
      }),
    ),
    JSON_SCHEMA_TOOL,
  ],
}));

server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  const { name, arguments: given = {}, _meta: meta } = params;
  const result = RESULTS[name];
  if (result !== undefined) return result;
  const ask = QUESTIONS[name];
  if (ask !== undefined) {
    return await ask((question) => server.elicitInput(question), given);
  }
  if (name === JSON_SCHEMA_TOOL.name) return text(JSON.stringify(given));
  if (name === "test_tool_with_progress") return progress(meta?.progressToken);
  if (name === "test_error_handling") {
    const failure = "This tool intentionally returns an error for testing";
    return { ...text(failure), isError: true };
  }
  throw new McpError(ErrorCode.InvalidParams, `Unknown tool ${name}`);
});

server.setRequestHandler(ListResourcesRequestSchema, () => ({
  resources: [...RESOURCES],
}));
server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
  resourceTemplates: [...TEMPLATES],
}));
server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
  const contents = readResource(uri);
  if (contents === undefined) {
    throw new McpError(RESOURCE_NOT_FOUND, "Resource not found", { uri });
  }
  return { contents: [contents] };
});

/** As MCP 2025-11-25 numbers it. */
const RESOURCE_NOT_FOUND = -32002;

server.setRequestHandler(ListPromptsRequestSchema, () => ({
  prompts: PROMPTS.map(({ prompt }) => prompt),
}));
server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
  const found = PROMPTS.find(({ prompt }) => prompt.name === params.name);
  if (found === undefined) {
    throw new McpError(ErrorCode.InvalidParams, `No prompt ${params.name}`);
  }
  const messages = found.messages(params.arguments ?? {});
  return { messages } satisfies GetPromptResult;
});

await server.connect(new StdioServerTransport());
