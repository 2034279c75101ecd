import { ErrorCode } from "../errors/protocol_error.ts";
import type { CallToolResult } from "./tools.ts";

/**
 * Returns a result's metadata, from `_meta` and `meta` (spec §6).
 *
 * @returns both merged, with precedence of `_meta`; empty if there is none
 */
export function resultMeta(result: CallToolResult): Record<string, unknown> {
  return { ...result.meta, ...result._meta };
}

/** Adds metadata to a result, under both keys: `meta` for the Python SDK, `_meta` for MCP (spec §6). */
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
 * Creates the result of a call that failed before it reached its tool (spec §6).
 *
 * @param code the `error_code`, such as `ErrorCode.TOOL_NOT_FOUND`
 * @param text explains the failure and what to do, for people and models
 * @param fields further metadata of the code, such as `mcp_server`
 */
export function toolErrorResult(
  code: number,
  text: string,
  fields: Record<string, unknown> = {},
): CallToolResult {
  return failed(text, { error_code: code, ...fields });
}

/** Creates the result of a call that exceeded its `timeout`, in seconds (spec §6, §7). */
export function timeoutResult(timeout: number): CallToolResult {
  return failed(`The tool did not answer within ${timeout} s`, {
    error_code: ErrorCode.TOOL_TIMEOUT,
    a2c_timeout: true,
    timeout: true,
  });
}

/** Creates the result of a call that its Agent cancelled (spec §6, §7). */
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
