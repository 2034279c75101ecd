import { ErrorCode } from "../errors/protocol_error.ts";
import type { CallToolResult } from "./tools.ts";

/**
 * Reads a result's metadata, whichever of `_meta` and `meta` it was written under (spec §6).
 *
 * @returns both merged, `_meta` winning; empty when there is none
 */
export function resultMeta(result: CallToolResult): Record<string, unknown> {
  return { ...result.meta, ...result._meta };
}

/** Adds metadata to a result, under both keys, equal: `meta` for the Python SDK, `_meta` for MCP (spec §6). */
export function withResultMeta(
  result: CallToolResult,
  added: Record<string, unknown>,
): CallToolResult {
  const meta = { ...resultMeta(result), ...added };
  return Object.keys(meta).length === 0
    ? result
    : { ...result, meta, _meta: meta };
}

/**
 * Makes the result of a call that failed on the way to its tool (spec §6).
 *
 * @param code the `error_code`, such as `ErrorCode.TOOL_NOT_FOUND`
 * @param text for people and models: what happened and what to do
 * @param fields what the code adds to the metadata, such as `mcp_server`
 */
export function toolErrorResult(
  code: number,
  text: string,
  fields: Record<string, unknown> = {},
): CallToolResult {
  return failed(text, { error_code: code, ...fields });
}

/** Makes the result of a call that ran out of its `timeout`, in seconds (spec §6, §7). */
export function timeoutResult(timeout: number): CallToolResult {
  return failed(`The tool did not answer within ${timeout} s`, {
    error_code: ErrorCode.TOOL_TIMEOUT,
    a2c_timeout: true,
    timeout: true,
  });
}

/** Makes the result of a call that its Agent cancelled (spec §6, §7). */
export function cancelledResult(): CallToolResult {
  return failed("The call was cancelled by the agent", {
    a2c_cancelled: true,
    a2c_cancel_reason: "agent_requested",
  });
}

const failed = (
  text: string,
  meta: Record<string, unknown>,
): CallToolResult =>
  withResultMeta({ content: [{ type: "text", text }], isError: true }, meta);
