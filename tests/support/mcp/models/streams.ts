import { z } from "zod";
import type { ModelApi } from "./stub_model.ts";

/** The id of the one call. */
export const CALL_ID = "call_1";

const messageStart = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "stub",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
};

const messageEnd = (reason: string) => [
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: reason, stop_sequence: null },
    usage: { output_tokens: 1 },
  },
  { type: "message_stop" },
];

const anthropicBody = z.object({
  tools: z.array(z.unknown()).default([]),
  messages: z.array(z.object({ content: z.unknown() })),
});
const toolResults = z.array(z.unknown()).transform((blocks) =>
  blocks.flatMap((block) => {
    const read = z.object({
      type: z.literal("tool_result"),
      tool_use_id: z.literal(CALL_ID),
      content: z.unknown(),
    }).safeParse(block);
    return read.success ? [JSON.stringify(read.data.content)] : [];
  })
);

/** What requests to Anthropic's API have in them. */
export const anthropicRequests = {
  path: "/v1/messages",
  hasTools: (body: unknown) => anthropicBody.parse(body).tools.length > 0,
  resultIn: (body: unknown) =>
    anthropicBody.parse(body).messages
      .flatMap(({ content }) => toolResults.safeParse(content).data ?? [])
      .at(0),
};

/** The API of Anthropic, as Claude Code uses it. */
export const anthropicApi = (tool: string, args: object): ModelApi => ({
  ...anthropicRequests,
  call: [
    messageStart,
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", id: CALL_ID, name: tool, input: {} },
    },
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "input_json_delta", partial_json: JSON.stringify(args) },
    },
    ...messageEnd("tool_use"),
  ],
  end: () => [
    messageStart,
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "text", text: "" },
    },
    {
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: "done" },
    },
    ...messageEnd("end_turn"),
  ],
});

const openaiBody = z.object({
  tools: z.array(z.unknown()).default([]),
  input: z.array(z.unknown()),
});
const toolOutput = z.object({
  type: z.literal("function_call_output"),
  call_id: z.literal(CALL_ID),
  output: z.unknown(),
});

const openaiAnswer = (item: object) => [
  { type: "response.created", response: { id: "resp_1" } },
  { type: "response.output_item.done", output_index: 0, item },
  {
    type: "response.completed",
    response: {
      id: "resp_1",
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    },
  },
];

/** What requests to OpenAI's API of responses have in them. */
export const openaiRequests = {
  path: "/v1/responses",
  hasTools: (body: unknown) => openaiBody.parse(body).tools.length > 0,
  resultIn: (body: unknown) =>
    openaiBody.parse(body).input.flatMap((item) => {
      const read = toolOutput.safeParse(item);
      return read.success ? [JSON.stringify(read.data.output)] : [];
    }).at(0),
};

/** The API of OpenAI, as Codex uses it: the tools of an MCP server are in a namespace. */
export const openaiApi = (
  namespace: string,
  tool: string,
  args: object,
): ModelApi => ({
  ...openaiRequests,
  call: openaiAnswer({
    type: "function_call",
    id: "fc_1",
    call_id: CALL_ID,
    namespace,
    name: tool,
    arguments: JSON.stringify(args),
  }),
  end: () =>
    openaiAnswer({
      type: "message",
      id: "msg_1",
      role: "assistant",
      content: [{ type: "output_text", text: "done" }],
    }),
});
