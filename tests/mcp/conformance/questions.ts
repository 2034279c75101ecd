// @ts-types="@modelcontextprotocol/sdk/types"
import type {
  CallToolResult,
  CreateMessageRequestParamsBase,
  ElicitRequestFormParams,
  ElicitResult,
  ServerNotification,
  ServerRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { text } from "./results.ts";

/** Asks whoever uses the tool. */
export type Ask = (question: ElicitRequestFormParams) => Promise<ElicitResult>;

type Properties = ElicitRequestFormParams["requestedSchema"]["properties"];

/** A tool that asks before it answers. */
type Question = (
  ask: Ask,
  given: Readonly<Record<string, unknown>>,
) => Promise<CallToolResult>;

/** How a question is asked. */
interface Asking {
  /** The fields that have to be filled in; default all. */
  readonly required?: string[];
  /** What the question is called. */
  readonly key?: string;
}

/** A form. */
const form = (
  message: string,
  properties: Properties,
  { required = Object.keys(properties), key }: Asking = {},
): ElicitRequestFormParams => ({
  message,
  requestedSchema: { type: "object", properties, required },
  ...(key !== undefined && { _meta: { "a2c-smcp/key": key } }),
});

const answered = (before: string, { action, content = {} }: ElicitResult) =>
  text(`${before}: action=${action}, content=${JSON.stringify(content)}`);

const NAME = form("What is your name?", { name: { type: "string" } }, {
  key: "user_name",
});
const STEPS = ["name", "color"].map((field, index) =>
  form(`Step ${index + 1}: what is your ${field}?`, {
    [field]: { type: "string" },
  }, { key: `step${index + 1}` })
);
const CONFIRM = form("Please confirm", { ok: { type: "boolean" } }, {
  key: "confirm",
});

/** What a prompt asks. */
export const CONTEXT: ElicitRequestFormParams = form(
  "What context should the prompt use?",
  { context: { type: "string" } },
  { key: "user_context" },
);

const DEFAULTS = form("Please review and update the form fields", {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: {
    type: "string",
    enum: ["active", "inactive", "pending"],
    default: "active",
  },
  verified: { type: "boolean", default: true },
}, { required: [] });

const OPTIONS = ["option1", "option2", "option3"];
const TITLED = ["First", "Second", "Third"].map((title, index) => ({
  const: `value${index + 1}`,
  title: `${title} Option`,
}));

/** Each way in which a form can offer a choice. */
const ENUMS = form("Please select options from the enum fields", {
  untitledSingle: { type: "string", enum: OPTIONS },
  titledSingle: { type: "string", oneOf: TITLED },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: {
    type: "array",
    minItems: 1,
    maxItems: 3,
    items: { type: "string", enum: OPTIONS },
  },
  titledMulti: {
    type: "array",
    minItems: 1,
    maxItems: 3,
    items: { anyOf: TITLED },
  },
}, { required: [] });

/** The tools that ask. */
export const QUESTIONS: Readonly<Record<string, Question>> = {
  test_elicitation: async (ask, { message }) => {
    const question = form(String(message), { response: { type: "string" } });
    return answered("User response", await ask(question));
  },
  test_elicitation_sep1034_defaults: async (ask) =>
    answered("Elicitation completed", await ask(DEFAULTS)),
  test_elicitation_sep1330_enums: async (ask) =>
    answered("Elicitation completed", await ask(ENUMS)),
  test_input_required_result_elicitation: async (ask) => {
    const { content } = await ask(NAME);
    return text(`Hello, ${content?.name}!`);
  },
  test_input_required_result_request_state: async (ask) => {
    const { content } = await ask(CONFIRM);
    return text(content?.ok === true ? "state-ok" : "not confirmed");
  },
  test_input_required_result_tampered_state: async (ask) => {
    await ask(CONFIRM);
    return text("integrity-ok");
  },
  test_input_required_result_multi_round: async (ask) => {
    const answers: unknown[] = [];
    for (const step of STEPS) answers.push((await ask(step)).content);
    return text(`Multi-round complete: ${JSON.stringify(answers)}`);
  },
  test_streaming_elicitation: async (ask) => {
    const { action } = await ask(CONFIRM);
    return text(`Asked on the stream: ${action}`);
  },
};

/** How a tool reaches the client during its call. */
export interface Reach {
  /** Asks it something, and returns its answer. */
  request(request: ServerRequest): Promise<Record<string, unknown>>;
  /** Tells it something. */
  notify(notification: ServerNotification): Promise<void>;
}

/** A tool that needs something of the client. */
type Needing = (
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

const asJson = (answer: unknown) => text(JSON.stringify(answer));

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
    asJson(await ask(reach, String(prompt))),
  test_missing_capability: async (reach) =>
    asJson(await ask(reach, "Are you there?")),
  test_input_required_result_sampling: async (reach) =>
    asJson(await ask(reach, "What is the capital of France?")),
  test_input_required_result_capabilities: async (reach) =>
    asJson(await ask(reach, "What can you do?")),
  test_input_required_result_list_roots: async (reach) =>
    asJson(await roots(reach)),
  test_input_required_result_multiple_inputs: async (reach) =>
    asJson([await ask(reach, "Generate a greeting"), await roots(reach)]),
};
