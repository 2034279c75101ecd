import {
  type CallToolResult,
  type ToolCallReq,
  toolErrorResult,
  type ToolProgress,
  waitingText,
} from "../../protocol/mod.ts";
import type { BlobStore } from "../blobs/blob_store.ts";
import { limitResult } from "./answer_limits.ts";
import {
  callingOperator,
  type ToolCallArrived,
  type ToolCallStarted,
} from "./call_events.ts";
import type { CallTable } from "./call_table.ts";
import { CallWaits } from "./call_waits.ts";
import { fitResult } from "./fit_result.ts";
import type { ProgressThrottles } from "./progress_throttle.ts";
import {
  type CallFollowing,
  resumeToolCall,
  runToolCall,
  type ToolCallContext,
} from "./run_tool.ts";

/** What {@linkcode callOnce} needs. */
export interface ToolCallNeeds extends ToolCallContext {
  /** The tool calls of the office. */
  readonly calls: CallTable;
  /** Remembers the MCP servers whose tools were called. */
  readonly recent: { used(server: string): void };
  /** The Server's limit for messages in bytes, if known. */
  readonly maxPayload: number | undefined;
  /** Keeps content that is too large for a message; absent where Agents cannot fetch it. */
  readonly store: BlobStore | undefined;
  /** Called when a call starts; the function that it returns, when the call ends. */
  readonly onCall: (
    call: ToolCallArrived,
  ) => (result?: CallToolResult) => void;
  /** Limits how often progress is told. */
  readonly throttles: ProgressThrottles;
  /** Tells the progress of a call that asked for it. */
  readonly onProgress: (call: ToolCallStarted, progress: ToolProgress) => void;
  /** Reports that a call waits for a person, asked for or not. */
  readonly onWaiting: (
    call: ToolCallStarted,
    progress: ToolProgress & Required<Pick<ToolProgress, "waiting">>,
  ) => void;
}

/** Runs a tool, once for each `req_id` (spec §7). */
export async function callOnce(
  request: ToolCallReq,
  needs: ToolCallNeeds,
): Promise<CallToolResult> {
  const { calls, maxPayload, onCall } = needs;
  const { agent, req_id: reqId, tool_name: tool, params } = request;
  const call: ToolCallStarted = {
    agent,
    ...callingOperator(request),
    reqId,
    tool,
  };
  const ended = onCall({ ...call, params });
  let result: CallToolResult | undefined;
  try {
    const measured = await calls.run(request, async (signal) =>
      // Before it is stored, so that a repeated request gets the same.
      await fitResult(await run(request, call, needs, signal), needs));
    // A stored result was checked against the limit of an earlier Server.
    result = limitResult(measured, maxPayload).result;
    return result;
  } finally {
    ended(result);
  }
}

async function run(
  request: ToolCallReq,
  call: ToolCallStarted,
  needs: ToolCallNeeds,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const throttle = request.progress === true
    ? needs.throttles.open((progress) => needs.onProgress(call, progress))
    : undefined;
  let done = 0;
  const onProgress = throttle && ((progress: ToolProgress) => {
    done = progress.progress;
    throttle.report(progress);
  });
  const waits = new CallWaits((waiting) =>
    needs.onWaiting(call, {
      progress: done,
      ...(waiting && { message: waitingText(waiting, needs.place) }),
      waiting,
    })
  );
  try {
    return await runOrResume(request, needs, { signal, onProgress, waits });
  } finally {
    waits.end();
    throttle?.end(!signal.aborted); // before the answer, which is the last word
  }
}

async function runOrResume(
  request: ToolCallReq,
  needs: ToolCallNeeds,
  following: CallFollowing,
): Promise<CallToolResult> {
  if (request.request_state !== undefined) {
    return await resumeToolCall(request, needs, following);
  }
  const found = needs.host.resolve(request.tool_name);
  if (found.kind === "refuse") {
    const { code, text, fields } = found;
    return toolErrorResult(code, text, fields);
  }
  needs.recent.used(found.target.server.bundleId);
  return await runToolCall(request, found.target, needs, following);
}
