import {
  type CallToolResult,
  cancelledResult,
  ErrorCode,
  timeoutResult,
  type ToolCallReq,
  toolErrorResult,
  withResultMeta,
} from "../protocol/mod.ts";
import { reasonOf } from "./_values.ts";
import { callFailure } from "./call_failure.ts";
import type { AbortReason } from "./call_table.ts";
import type { McpHost } from "./host.ts";
import { log } from "./log.ts";
import type { NamedTool } from "./tool_naming.ts";

/**
 * Runs a tool and makes a result of whatever comes of it (spec §6, §7); never rejects.
 *
 * @param signal gives the call up; its reason is an {@linkcode AbortReason}
 */
export async function runToolCall(
  request: ToolCallReq,
  host: McpHost,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const found = host.resolve(request.tool_name);
  if (found.kind === "refuse") return toolErrorResult(found.code, found.text);
  const result = await execute(request, found.target, host, signal);
  return withResultMeta(result, {}); // under both names
}

async function execute(
  { tool_name, params, timeout }: ToolCallReq,
  { server, tool }: NamedTool,
  host: McpHost,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const connection = host.server(server.name)?.connection;
  if (!connection) {
    return callFailure(server.name, tool_name, undefined);
  }
  const early = giveUp(timeout, signal);
  try {
    // The MCP SDK answers every abort like a timeout, so who ended the call is known here alone.
    return await Promise.race([
      early.result,
      connection.callTool(tool.name, params, { signal: early.signal }),
    ]);
  } catch (error) {
    log.warn("Tool {tool} of MCP server {server} failed: {reason}", {
      tool: tool_name,
      server: server.name,
      reason: reasonOf(error),
    });
    return callFailure(server.name, tool_name, error);
  } finally {
    early.done();
  }
}

/** What ends a call before its tool does: the time is up, or it is given up. */
function giveUp(timeout: number, signal: AbortSignal): {
  readonly result: Promise<CallToolResult>;
  readonly signal: AbortSignal;
  readonly done: () => void;
} {
  const { promise, resolve } = Promise.withResolvers<CallToolResult>();
  const abort = new AbortController();
  const end = (result: CallToolResult, why: string) => {
    resolve(result);
    abort.abort(why);
  };
  const onAbort = () => end(abortedResult(signal.reason), "cancelled");
  const timer = setTimeout(
    () => end(timeoutResult(timeout), "timeout"),
    timeout * 1000,
  );
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  return {
    result: promise,
    signal: abort.signal,
    done: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

const abortedResult = (reason: AbortReason): CallToolResult =>
  reason === "cancelled" ? cancelledResult() : toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    "The Computer left the office while the tool ran",
  );
