import {
  type CallToolResult,
  ErrorCode,
  resultMeta,
  toErrorPayload,
} from "../../protocol/mod.ts";
import { AGENT_GONE, type CallEnd, OK } from "../shared/call_end.ts";
import type { Payload } from "../wire/mod.ts";

const TIMEOUT_OF_COMPUTER: CallEnd = {
  outcome: "timeout",
  ended_by: "computer",
};
const CANCELLED_BY_COMPUTER: CallEnd = {
  outcome: "cancelled",
  ended_by: "computer",
};

/**
 * Tells by its answer how a request ended.
 *
 * @param body the answer; `undefined` if the Agent was gone
 * @param stopped how the request ends if the answer is that of a cancelled one, or there is none: its
 * Agent has cancelled it
 */
export function endOf(body: Payload | undefined, stopped?: CallEnd): CallEnd {
  if (body === undefined) return stopped ?? AGENT_GONE;
  if (!body.mayBeError) return OK;
  const answer = body.peek();
  const refused = toErrorPayload(answer);
  if (refused) {
    return refused.code === ErrorCode.TIMEOUT
      ? TIMEOUT_OF_COMPUTER
      : { outcome: `error ${refused.code}` };
  }
  const result = answer as CallToolResult; // whatever a Computer sent
  if (result.isError !== true) return OK;
  const { a2c_cancelled, error_code } = resultMeta(result);
  if (a2c_cancelled === true) return stopped ?? CANCELLED_BY_COMPUTER;
  if (error_code === ErrorCode.TOOL_TIMEOUT) {
    return stopped ?? TIMEOUT_OF_COMPUTER;
  }
  return {
    outcome: Number.isInteger(error_code)
      ? `error ${error_code}`
      : "tool error",
  };
}
