/**
 * Models of our own, with the APIs that MCP clients and frameworks use: the model calls a tool once, and
 * then repeats its result. A request for a stream gets the events that make up the same answer.
 *
 * @module
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** A model that runs. */
export interface StubModel extends AsyncDisposable {
  readonly url: string;
  /** The texts of the tool's results, as the client has sent them to the model. */
  readonly results: readonly string[];
}

type Body = Readonly<Record<string, unknown>>;

/** An API, with its answers. */
export interface ModelApi {
  /** The end of the path of a request for an answer. */
  readonly path: string;
  /** The answer that calls the tool. */
  readonly call: Body;
  /** The answer that ends the turn. */
  end(text: string): Body;
  /** The events of an answer as a stream. */
  events?(answer: Body): (Body & { readonly type: string })[];
}

/** Makes an API whose model calls a tool with arguments. */
export type ApiMaker = (tool: string, args: object) => ModelApi;

/** The id of the one call. */
const CALL_ID = "call_1";

/** Starts a model on a free port of this machine. */
export async function startModel(api: ModelApi): Promise<StubModel> {
  const results: string[] = [];
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://stub");
    if (request.method !== "POST" || !pathname.endsWith(api.path)) {
      response.writeHead(404).end();
      return;
    }
    const { tools = [], stream, ...rest } = await json(request) as {
      readonly tools?: unknown[];
      readonly stream?: boolean;
    };
    const result = resultIn(rest);
    if (result !== undefined) results.push(result);
    const calls = result === undefined && tools.length > 0;
    const answer = calls ? api.call : api.end(`The tool says ${result}`);
    if (!stream || !api.events) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of api.events(answer)) {
      response.write(
        `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
      );
    }
    response.end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    results,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Finds the result of the call in a request, wherever its API has it. */
function resultIn(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { tool_use_id, tool_call_id, call_id, output, content = output } =
    value as Record<string, unknown>;
  const isOfCall = [tool_use_id, tool_call_id, call_id].includes(CALL_ID);
  if (isOfCall && content !== undefined) return JSON.stringify(content);
  return Object.values(value).map(resultIn).find((found) => found);
}

interface AnthropicMessage extends Body {
  readonly content: readonly [Body];
  readonly stop_reason: string;
}

const anthropicMessage = (
  block: Body,
  stop_reason: string,
): AnthropicMessage => ({
  id: `msg_${stop_reason}`, // frameworks tell answers apart by it
  type: "message",
  role: "assistant",
  model: "stub",
  content: [block],
  stop_reason,
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
});

/** Anthropic's messages. */
export const messagesApi: ApiMaker = (name, input) => ({
  path: "/v1/messages",
  call: anthropicMessage(
    { type: "tool_use", id: CALL_ID, name, input },
    "tool_use",
  ),
  end: (text) => anthropicMessage({ type: "text", text }, "end_turn"),
  events(answer) {
    const { stop_reason, content: [block] } = answer as AnthropicMessage;
    const { text, input } = block;
    const [empty, delta] = text === undefined
      ? [{ input: {} }, {
        type: "input_json_delta",
        partial_json: JSON.stringify(input),
      }]
      : [{ text: "" }, { type: "text_delta", text }];
    return [
      {
        type: "message_start",
        message: { ...answer, content: [], stop_reason: null },
      },
      {
        type: "content_block_start",
        index: 0,
        content_block: { ...block, ...empty },
      },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: 1 },
      },
      { type: "message_stop" },
    ];
  },
});

const openaiResponse = (item: Body): Body => ({
  id: `resp_${item.type}`,
  object: "response",
  created_at: 1,
  model: "stub",
  status: "completed",
  output: [{ status: "completed", ...item }],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
});

/** OpenAI's responses; for Codex the tools of an MCP server are in a namespace. */
export const responsesApi = (
  name: string,
  args: object,
  namespace?: string,
): ModelApi => ({
  path: "/v1/responses",
  call: openaiResponse({
    type: "function_call",
    id: "fc_1",
    call_id: CALL_ID,
    namespace,
    name,
    arguments: JSON.stringify(args),
  }),
  end: (text) =>
    openaiResponse({
      type: "message",
      id: "msg_1",
      role: "assistant",
      content: [{ type: "output_text", text, annotations: [] }],
    }),
  events: (response) => [
    { type: "response.created", response: { id: response.id } },
    ...(response.output as Body[]).map((item, output_index) => ({
      type: "response.output_item.done",
      output_index,
      item,
    })),
    { type: "response.completed", response },
  ],
});

const completion = (message: object, finish_reason: string): Body => ({
  id: `chatcmpl_${finish_reason}`,
  object: "chat.completion",
  created: 1,
  model: "stub",
  choices: [{
    index: 0,
    message: { role: "assistant", content: null, ...message },
    finish_reason,
  }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

/** OpenAI's chat completions. */
export const completionsApi: ApiMaker = (name, args) => ({
  path: "/v1/chat/completions",
  call: completion({
    tool_calls: [{
      id: CALL_ID,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    }],
  }, "tool_calls"),
  end: (content) => completion({ content }, "stop"),
});
