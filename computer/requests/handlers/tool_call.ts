import {
  type CallToolResult,
  type TOOL_CALL_EVENT,
  toolErrorResult,
  type ToolProgress,
} from "../../../protocol/mod.ts";
import type { RecentServers } from "../../resources/recent_servers.ts";
import { limitResult, measureResult } from "../../tools/answer_limits.ts";
import type { ToolCallStarted } from "../../tools/call_events.ts";
import type { CallTable } from "../../tools/call_table.ts";
import {
  resumeToolCall,
  runToolCall,
  type ToolCallContext,
} from "../../tools/run_tool.ts";
import type { ProgressThrottles } from "../../tools/progress_throttle.ts";
import type { Handler } from "./handler.ts";

/** What {@linkcode toolCall} needs. */
export interface ToolCallNeeds extends ToolCallContext {
  /** The tool calls of the office. */
  readonly calls: CallTable;
  /** The MCP servers whose tools were called. */
  readonly recent: RecentServers;
  /** The Server's limit for messages in bytes, if known. */
  readonly maxPayload: number | undefined;
  /** Called when a call starts; the function that it returns, when the call ends. */
  readonly onCall: (
    call: ToolCallStarted,
  ) => (result?: CallToolResult) => void;
  /** Limits how often progress is told. */
  readonly throttles: ProgressThrottles;
  /** Tells the progress of a call that asked for it. */
  readonly onProgress: (call: ToolCallStarted, progress: ToolProgress) => void;
}

/** Runs a tool, once for each `req_id` (spec §7). */
export const toolCall: Handler<typeof TOOL_CALL_EVENT, ToolCallNeeds> = async (
  request,
  needs,
) => {
  const { host, calls, recent, maxPayload, onCall, throttles } = needs;
  const { agent, req_id: reqId, tool_name: tool } = request;
  const call: ToolCallStarted = { agent, reqId, tool };
  const run = async (signal: AbortSignal): Promise<CallToolResult> => {
    if (request.request_state !== undefined) {
      return await resumeToolCall(request, needs, signal);
    }
    const found = host.resolve(tool);
    if (found.kind === "refuse") {
      const { code, text, fields } = found;
      return toolErrorResult(code, text, fields);
    }
    recent.used(found.target.server.name);
    const throttle = request.progress === true
      ? throttles.open((progress) => needs.onProgress(call, progress))
      : undefined;
    const onProgress = throttle &&
      ((progress: ToolProgress) => throttle.report(progress));
    try {
      return await runToolCall(request, found.target, needs, {
        signal,
        onProgress,
      });
    } finally {
      throttle?.end(!signal.aborted); // before the answer, which is the last word
    }
  };
  const ended = onCall(call);
  let result: CallToolResult | undefined;
  try {
    const measured = await calls.run(request, async (signal) =>
      // Checked before it is stored, so that a repeated request gets the same error.
      limitResult(measureResult(await run(signal)), maxPayload));
    // A stored result was checked against the limit of an earlier Server.
    result = limitResult(measured, maxPayload).result;
    return result;
  } finally {
    ended(result);
  }
};
