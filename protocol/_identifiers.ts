import * as z from "zod";

/** `agent`, `req_id`, `computer`, `tool_name`, `mcp_server`: 1 to 256 UTF-16 units (spec §4). */
export const identifier = z.string().refine(
  // zod's max() counts code points.
  (text) => text.length >= 1 && text.length <= 256,
  "expected 1 to 256 characters",
).meta({ minLength: 1, maxLength: 256 }); // for JSON Schema, which can not see a refinement

// deno-lint-ignore no-control-regex -- control characters are what it is about
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** `name` and `office_id`: an identifier without control characters (spec §5). */
export const officeIdentifier = identifier.refine(
  (text) => !CONTROL.test(text),
  "must not contain control characters",
);

/** `AgentCallData`, the base of every request of an Agent (spec §4). */
export const agentCallDataShape = { agent: identifier, req_id: identifier };

/** The base of every request that the Server routes to a Computer (spec §4). */
export const computerCallShape = {
  ...agentCallDataShape,
  computer: identifier,
};
