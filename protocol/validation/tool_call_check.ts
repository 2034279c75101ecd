import { isIdentifier } from "./identifiers.ts";
import { isPlainObject } from "./plain_values.ts";
import type { ToolCallReq } from "../payloads/tools.ts";

/**
 * Tells whether data is a tool call beyond doubt, as its schema does but without its machinery:
 * every call comes through here twice. What is wrong with anything else the schema says.
 */
export const isToolCallReq = (data: unknown): data is ToolCallReq =>
  isPlainObject(data) &&
  isIdentifier(data.agent) && isIdentifier(data.req_id) &&
  isIdentifier(data.computer) && isIdentifier(data.tool_name) &&
  isPlainObject(data.params) &&
  Number.isInteger(data.timeout) && Number(data.timeout) >= 1 &&
  Number(data.timeout) <= 3600 &&
  !Object.hasOwn(data, "__proto__"); // which the schema leaves out
