import {
  type CallToolResult,
  ErrorCode,
  resultMeta,
  type Role,
  toErrorPayload,
} from "../../protocol/mod.ts";
import type { Payload } from "./payload.ts";

/** Who cancelled a call, or whose timeout ended it. */
export type EndedBy = "agent" | "operator" | "server" | "computer";

/** How a request ended: fields of log lines and events, and labels of metrics. */
export interface CallEnd {
  /** `ok`, `tool error` (of the MCP server itself), `cancelled`, `timeout`, `agent gone`, or `error` and a code. */
  readonly outcome: string;
  /** Of `cancelled` and `timeout` alone. */
  readonly ended_by?: EndedBy;
}

/** It was answered, and did not fail. */
export const OK: CallEnd = { outcome: "ok" };
/** Its Agent left the office, or lost its connection, before the answer. */
export const AGENT_GONE: CallEnd = { outcome: "agent gone" };
/** An operator ended it, or kicked its Agent. */
export const CANCELLED_BY_OPERATOR: CallEnd = {
  outcome: "cancelled",
  ended_by: "operator",
};
/** Its Computer did not answer within the Server's deadline. */
export const TIMEOUT_OF_SERVER: CallEnd = {
  outcome: "timeout",
  ended_by: "server",
};

/** Names the end of a call in a few words, such as `timeout of the agent`, for people. */
export const endText = ({ outcome, ended_by }: CallEnd): string =>
  ended_by === undefined
    ? outcome
    : `${outcome} ${outcome === "timeout" ? "of" : "by"} the ${ended_by}`;

/** How requests end without a fault of anybody. */
const FINE: readonly string[] = ["ok", "cancelled", "agent gone"];

/**
 * Returns whether the end of a call is an error of one of its two members. An Agent that did not wait
 * longer says nothing of its Computer.
 */
export const isFaultOf = (
  role: Role,
  { outcome, ended_by }: CallEnd,
): boolean =>
  !FINE.includes(outcome) && !(role === "computer" && ended_by === "agent");

const TIMEOUT_OF_COMPUTER: CallEnd = {
  outcome: "timeout",
  ended_by: "computer",
};
const CANCELLED_BY_COMPUTER: CallEnd = {
  outcome: "cancelled",
  ended_by: "computer",
};

/**
 * Derives from its answer how a request ended.
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
