// @ts-types="@modelcontextprotocol/sdk/types"
import type {
  CallToolResult,
  ElicitRequestFormParams,
  ElicitResult,
} from "@modelcontextprotocol/sdk/types.js";
import { text } from "./results.ts";

/** Asks whoever uses the tool. */
type Ask = (question: ElicitRequestFormParams) => Promise<ElicitResult>;

type Properties = ElicitRequestFormParams["requestedSchema"]["properties"];

/** A tool that asks before it answers. */
export type Question = (
  ask: Ask,
  given: Readonly<Record<string, unknown>>,
) => Promise<CallToolResult>;

/** A form, of which all fields have to be filled in unless told otherwise. */
const form = (
  message: string,
  properties: Properties,
  required: string[] = Object.keys(properties),
): ElicitRequestFormParams => ({
  message,
  requestedSchema: { type: "object", properties, required },
});

const answered = (before: string, { action, content = {} }: ElicitResult) =>
  text(`${before}: action=${action}, content=${JSON.stringify(content)}`);

const NAME = form("What is your name?", { name: { type: "string" } });
const COLOR = form("What is your favorite color?", {
  color: { type: "string" },
});
const CONFIRM = form("Please confirm", { ok: { type: "boolean" } });

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
}, []);

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
}, []);

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
    const name = (await ask(NAME)).content?.name;
    const color = (await ask(COLOR)).content?.color;
    return text(`Multi-round complete for ${name} who likes ${color}`);
  },
  test_input_required_result_capabilities: async (ask) => {
    const { action } = await ask(form("Value", { value: { type: "string" } }));
    return text(`capabilities-ok: ${action}`);
  },
};
