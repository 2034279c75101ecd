/**
 * The APIs of models as frameworks use them that do not stream: the model calls a tool once, and then
 * repeats its result.
 *
 * @module
 */
import { z } from "zod";
import type { ModelApi } from "./stub_model.ts";
import { anthropicRequests, CALL_ID, openaiRequests } from "./streams.ts";

/** Makes an API whose model calls a tool with arguments. */
export type ApiMaker = (tool: string, args: object) => ModelApi;

/** What the model says in the end. */
const answerWith = (result: string | undefined) => `The tool says ${result}`;

const message = (content: object, stop_reason: string) => ({
  body: {
    id: `msg_${stop_reason}`, // frameworks tell answers apart by it
    type: "message",
    role: "assistant",
    model: "stub",
    content: [content],
    stop_reason,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
});

/** Anthropic's messages. */
export const messagesApi: ApiMaker = (tool, args) => ({
  ...anthropicRequests,
  call: message(
    { type: "tool_use", id: CALL_ID, name: tool, input: args },
    "tool_use",
  ),
  end: (result) =>
    message({ type: "text", text: answerWith(result) }, "end_turn"),
});

const response = (item: { type: string; [field: string]: unknown }) => ({
  body: {
    id: `resp_${item.type}`,
    object: "response",
    created_at: 1,
    model: "stub",
    status: "completed",
    output: [{ status: "completed", ...item }],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  },
});

/** OpenAI's responses. */
export const responsesApi: ApiMaker = (tool, args) => ({
  ...openaiRequests,
  call: response({
    type: "function_call",
    id: "fc_1",
    call_id: CALL_ID,
    name: tool,
    arguments: JSON.stringify(args),
  }),
  end: (result) =>
    response({
      type: "message",
      id: "msg_1",
      role: "assistant",
      content: [
        { type: "output_text", text: answerWith(result), annotations: [] },
      ],
    }),
});

const chatBody = z.object({
  tools: z.array(z.unknown()).default([]),
  messages: z.array(z.unknown()),
});
const toolMessage = z.object({
  role: z.literal("tool"),
  tool_call_id: z.literal(CALL_ID),
  content: z.unknown(),
});

const completion = (message: object, finish_reason: string) => ({
  body: {
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
  },
});

/** OpenAI's chat completions. */
export const completionsApi: ApiMaker = (tool, args) => ({
  path: "/v1/chat/completions",
  hasTools: (body) => chatBody.parse(body).tools.length > 0,
  resultIn: (body) =>
    chatBody.parse(body).messages.flatMap((message) => {
      const read = toolMessage.safeParse(message);
      return read.success ? [JSON.stringify(read.data.content)] : [];
    }).at(0),
  call: completion({
    tool_calls: [{
      id: CALL_ID,
      type: "function",
      function: { name: tool, arguments: JSON.stringify(args) },
    }],
  }, "tool_calls"),
  end: (result) => completion({ content: answerWith(result) }, "stop"),
});
