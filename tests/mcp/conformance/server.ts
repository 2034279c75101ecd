/**
 * The MCP server that the conformance suite of MCP asks for, with its names: the suite's own is in no
 * registry.
 *
 * It speaks MCP 2025-11-25, as most MCP servers behind a Computer do. What it asks its client, the
 * Computer passes on.
 *
 * @module
 */
import type { AddressInfo } from "node:net";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CallToolRequestSchema,
  type CallToolResult,
  CompleteRequestSchema,
  ElicitResultSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  type Prompt,
  type PromptMessage,
  ReadResourceRequestSchema,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplate,
  ResultSchema,
  type ServerNotification,
  type ServerRequest,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { Server } from "@modelcontextprotocol/sdk/server";
import { createServer } from "node:http";
import {
  type Ask,
  CONTEXT,
  NEEDING,
  QUESTIONS,
  type Reach,
} from "./questions.ts";
import { JSON_SCHEMA_TOOL, PNG, RESULTS, text } from "./results.ts";
import { appOf } from "../../support/fixtures/mcp_http.ts";

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** Three reports, a moment apart, and the token that they were made with. */
async function progress(
  { _meta, sendNotification }: Extra,
): Promise<CallToolResult> {
  const { progressToken = 0 } = _meta ?? {};
  for (const progress of [0, 50, 100]) {
    await sendNotification({
      method: "notifications/progress",
      params: {
        progressToken,
        progress,
        total: 100,
        message: `step ${progress} of 100`,
      },
    });
    // Reports of one moment may be passed on as one.
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return text(String(progressToken));
}

/** Longer than the shortest time between two reports that a Computer passes on. */
const PAUSE_MS = 150;

/** As MCP 2025-11-25 numbers it. */
const RESOURCE_NOT_FOUND = -32002;

/** Beyond what the suite asks for: a resource that cannot be read without a question. */
export const ASKING_URI = "test://asking";

const ADD_TOOL = "test_trigger_tool_change";
const ADD_PROMPT = "test_trigger_prompt_change";

const OWN_TOOLS = [
  ADD_TOOL,
  ADD_PROMPT,
  "test_tool_with_progress",
  "test_error_handling",
];

const NAMES = [
  ...OWN_TOOLS,
  ...Object.keys(RESULTS),
  ...Object.keys(QUESTIONS),
  ...Object.keys(NEEDING),
];

/** Asks the client on the stream of the request, where there are streams. */
const asking = ({ sendRequest }: Extra): Ask => (params) =>
  sendRequest({ method: "elicitation/create", params }, ElicitResultSchema);

const reaching = ({ sendRequest, sendNotification }: Extra): Reach => ({
  request: (request) => sendRequest(request, ResultSchema),
  notify: sendNotification,
});

async function callTool(
  name: string,
  given: Record<string, unknown>,
  extra: Extra,
): Promise<CallToolResult> {
  const result = RESULTS[name];
  if (result !== undefined) return result;
  const question = QUESTIONS[name];
  if (question !== undefined) return await question(asking(extra), given);
  const needing = NEEDING[name];
  if (needing !== undefined) return await needing(reaching(extra), given);
  if (name === JSON_SCHEMA_TOOL.name) return text(JSON.stringify(given));
  if (name === "test_tool_with_progress") return await progress(extra);
  if (name === "test_error_handling") {
    const failure = "This tool intentionally returns an error for testing";
    return { ...text(failure), isError: true };
  }
  throw new McpError(ErrorCode.InvalidParams, `Unknown tool ${name}`);
}

/** Makes a server that is not connected yet. */
export function conformanceServer(): Server {
  const server = new Server({ name: "conformance", version: "1.0.0" }, {
    capabilities: {
      tools: { listChanged: true },
      resources: { subscribe: true },
      prompts: { listChanged: true },
      logging: {},
      completions: {},
    },
  });
  const added: string[] = [];
  const prompts = PROMPTS.map(({ prompt }) => prompt);
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      ...[...NAMES, ...added].map((name) => ({
        name,
        description: `Shows ${name.replaceAll("_", " ")}`,
        inputSchema: { type: "object" as const, properties: {} },
      })),
      JSON_SCHEMA_TOOL,
    ],
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { name, arguments: given = {} } = params;
    if (name === ADD_TOOL) {
      added.push(`added_${added.length}`);
      await server.sendToolListChanged();
      return text("There is another tool");
    }
    if (name === ADD_PROMPT) {
      prompts.push({
        name: `added_${prompts.length}`,
        description: "Was added",
      });
      await server.sendPromptListChanged();
      return text("There is another prompt");
    }
    return await callTool(name, given, extra);
  });
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts }));
  answerReads(server);
  server.setRequestHandler(
    CompleteRequestSchema,
    () => ({ completion: { values: [] } }),
  );
  server.setRequestHandler(SetLevelRequestSchema, () => ({}));
  return server;
}

function answerReads(server: Server): void {
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: [...RESOURCES],
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [...TEMPLATES],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, async (
    { params: { uri } },
    extra,
  ) => {
    if (uri === ASKING_URI) await asking(extra)(CONTEXT);
    const contents = readResource(uri);
    if (contents === undefined) {
      throw new McpError(RESOURCE_NOT_FOUND, "Resource not found", { uri });
    }
    return { contents: [contents] };
  });
  server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}));
  server.setRequestHandler(
    GetPromptRequestSchema,
    async ({ params }, extra) => {
      const found = PROMPTS.find(({ prompt }) => prompt.name === params.name);
      if (found === undefined) {
        throw new McpError(ErrorCode.InvalidParams, `No prompt ${params.name}`);
      }
      const given = params.arguments ?? {};
      return { messages: await found.messages(given, asking(extra)) };
    },
  );
}

/** A prompt, and what it becomes with arguments. */
interface TestPrompt {
  readonly prompt: Prompt;
  messages(
    given: Readonly<Record<string, string>>,
    ask: Ask,
  ): PromptMessage[] | Promise<PromptMessage[]>;
}

const says = (content: PromptMessage["content"]): PromptMessage => ({
  role: "user",
  content,
});

const required = (name: string) => ({
  name,
  description: `The ${name}`,
  required: true,
});

/** The prompts. */
const PROMPTS: readonly TestPrompt[] = [
  {
    prompt: { name: "test_simple_prompt", description: "Has no arguments" },
    messages: () => [
      says({ type: "text", text: "This is a simple prompt for testing." }),
    ],
  },
  {
    prompt: {
      name: "test_prompt_with_arguments",
      description: "Has two arguments",
      arguments: [required("arg1"), required("arg2")],
    },
    messages: ({ arg1, arg2 }) => [
      says({
        type: "text",
        text: `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
      }),
    ],
  },
  {
    prompt: {
      name: "test_prompt_with_embedded_resource",
      description: "Contains a resource",
      arguments: [required("resourceUri")],
    },
    messages: ({ resourceUri = "" }) => [
      says({
        type: "resource",
        resource: {
          uri: resourceUri,
          mimeType: "text/plain",
          text: "Embedded resource content for testing.",
        },
      }),
      says({ type: "text", text: "Please process the resource above." }),
    ],
  },
  {
    prompt: { name: "test_prompt_with_image", description: "Has an image" },
    messages: () => [
      says({ type: "image", data: PNG, mimeType: "image/png" }),
      says({ type: "text", text: "Please analyze the image above." }),
    ],
  },
  {
    prompt: {
      name: "test_input_required_result_prompt",
      description: "Asks for what it is about",
    },
    messages: async (_, ask) => {
      const { content } = await ask(CONTEXT);
      return [says({ type: "text", text: `About: ${content?.context}` })];
    },
  },
];

type Contents = ReadResourceResult["contents"][number];

const CONTENTS: readonly Contents[] = [
  {
    uri: "test://static-text",
    mimeType: "text/plain",
    text: "This is the content of the static text resource.",
  },
  { uri: "test://static-binary", mimeType: "image/png", blob: PNG },
  {
    uri: "test://watched-resource",
    mimeType: "text/plain",
    text: "Watched resource content",
  },
];

/** The listed resources. */
const RESOURCES: readonly Resource[] = CONTENTS.map((
  { uri, mimeType = "" },
) => ({
  uri,
  name: uri.replace("test://", ""),
  description: "A resource for testing",
  mimeType,
}));

/** The listed templates. */
const TEMPLATES: readonly ResourceTemplate[] = [{
  uriTemplate: "test://template/{id}/data",
  name: "template",
  description: "A resource with a parameter",
  mimeType: "application/json",
}];

/** Returns what is at a URI, if anything is. */
function readResource(uri: string): Contents | undefined {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id === undefined) return CONTENTS.find((one) => one.uri === uri);
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { uri, mimeType: "application/json", text: JSON.stringify(data) };
}

/** The MCP server of the conformance suite in this process. */
export interface ConformanceHttp extends AsyncDisposable {
  /** Its endpoint. */
  readonly url: string;
}

/** Serves it over Streamable HTTP. */
export async function conformanceHttp(): Promise<ConformanceHttp> {
  const http = createServer(appOf(conformanceServer));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}
