import {
  type CallToolResult,
  resultMeta,
  toErrorPayload,
} from "../../protocol/mod.ts";
import type { Payload } from "../wire/mod.ts";

/**
 * Summarizes how a call ended, for logs and metrics.
 *
 * @param body the Agent's answer; `undefined` if the Agent was gone
 * @returns `ok`, `tool error` (of the MCP server itself), `cancelled`, `agent gone`, or `error` and a code
 */
export function outcomeOf(body: Payload | undefined): string {
  if (body === undefined) return "agent gone";
  if (!body.mayBeError) return "ok";
  const answer = body.peek();
  const refused = toErrorPayload(answer);
  if (refused) return `error ${refused.code}`;
  const result = answer as CallToolResult; // whatever a Computer sent
  if (result.isError !== true) return "ok";
  const { a2c_cancelled, error_code } = resultMeta(result);
  if (a2c_cancelled === true) return "cancelled";
  return Number.isInteger(error_code) ? `error ${error_code}` : "tool error";
}
