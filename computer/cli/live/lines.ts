import { plain } from "../../../cli/terminal_text.ts";
import { ErrorCode, resultMeta } from "../../../protocol/mod.ts";
import type { ToolCallEnded, ToolCallStarted } from "../../tools/events.ts";
import type { ServerStatus } from "../../host/server_status.ts";

/** Returns the name of an MCP server, with what identifies it where that is something else. */
export const labelOf = (
  { name, bundleId }: Pick<ServerStatus, "name" | "bundleId">,
): string => bundleId === name ? name : `${name} (${bundleId})`;

/** Describes a state of an MCP server; undefined if not worth reporting, as the start of an attempt. */
export function stateLine(
  { name, state, tools, error, nextAttempt, problems }: ServerStatus,
): string | undefined {
  if (state === "running") {
    return [
      `MCP server ${name}: running, ${tools} ${tools === 1 ? "tool" : "tools"}`,
      ...problems.map((text) => `  ${text}`),
    ].join("\n");
  }
  if (error === undefined) return `MCP server ${name}: ${state}`;
  if (!nextAttempt && state !== "failed") return undefined;
  const line = `MCP server ${name}: ${state}: ${error}`;
  return nextAttempt ? `${line}\n  it will be restarted` : line;
}

/** Describes who called. */
export const callerText = (
  { agent, operator }: Pick<ToolCallStarted, "agent" | "operator">,
): string =>
  operator === undefined ? plain(agent) : `operator ${plain(operator)}`;

/** Describes an ended tool call. */
export const callLine = (call: ToolCallEnded): string =>
  `call of ${plain(call.tool)} by ${callerText(call)}: ${
    howItEnded(call.result)
  }, ${Math.round(call.durationMs)} ms`;

/** How a call ended that not simply its caller has cancelled, in the words of the Server. */
const CANCELLED: ReadonlyMap<unknown, string> = new Map([
  ["agent_timeout", "timeout of the agent"],
  ["operator_requested", "cancelled by the operator"],
]);

/** Summarizes the outcome of a tool call in a word or two. */
export function howItEnded(result: ToolCallEnded["result"]): string {
  if (!result) return "refused";
  if (!result.isError) return "ok";
  const { error_code, a2c_cancelled, a2c_cancel_reason } = resultMeta(result);
  if (a2c_cancelled) {
    return CANCELLED.get(a2c_cancel_reason) ?? "cancelled";
  }
  if (error_code === ErrorCode.TOOL_TIMEOUT) return "timeout of the computer";
  return error_code === undefined ? "tool error" : `failed (${error_code})`;
}
