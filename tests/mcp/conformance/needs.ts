// @ts-types="@modelcontextprotocol/sdk/types"
import type {
  CallToolResult,
  CreateMessageRequestParamsBase,
  ServerNotification,
  ServerRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { text } from "./results.ts";

/** How a tool reaches the client during its call. */
export interface Reach {
  /** Asks it something, and returns its answer. */
  request(request: ServerRequest): Promise<Record<string, unknown>>;
  /** Tells it something. */
  notify(notification: ServerNotification): Promise<void>;
}

/** A tool that needs something of the client. */
export type Needing = (
  reach: Reach,
  given: Readonly<Record<string, unknown>>,
) => Promise<CallToolResult>;

const sample = (prompt: string): CreateMessageRequestParamsBase => ({
  messages: [{ role: "user", content: { type: "text", text: prompt } }],
  maxTokens: 100,
});

/** Asks the client's model. */
async function ask({ request }: Reach, prompt: string): Promise<unknown> {
  const params = sample(prompt);
  return await request({ method: "sampling/createMessage", params });
}

const answered = (answer: unknown) => text(JSON.stringify(answer));

const roots = ({ request }: Reach) => request({ method: "roots/list" });

/** Tells what it does, in three lines. */
const logs: Needing = async ({ notify }) => {
  for (const data of ["started", "processing data", "completed"]) {
    await notify({
      method: "notifications/message",
      params: { level: "info", logger: "test", data: `Tool ${data}` },
    });
  }
  return text("Tool with logging executed");
};

/** The tools that use more of the client than an answer to a question. */
export const NEEDING: Readonly<Record<string, Needing>> = {
  test_tool_with_logging: logs,
  test_logging_tool: logs,
  test_sampling: async (reach, { prompt }) =>
    answered(await ask(reach, String(prompt))),
  test_missing_capability: async (reach) =>
    answered(await ask(reach, "Are you there?")),
  test_input_required_result_sampling: async (reach) =>
    answered(await ask(reach, "What is the capital of France?")),
  test_input_required_result_capabilities: async (reach) =>
    answered(await ask(reach, "What can you do?")),
  test_input_required_result_list_roots: async (reach) =>
    answered(await roots(reach)),
  test_input_required_result_multiple_inputs: async (reach) =>
    answered([await ask(reach, "Generate a greeting"), await roots(reach)]),
};
