import { ConnectionError } from "../../client/errors.ts";
import {
  type CallToolResult,
  timeoutResult,
  TOOL_CALL_EVENT,
  type ToolCallReq,
} from "../../protocol/mod.ts";
import { refuseMissingBlobs } from "./missing_blobs.ts";
import type { CallToolOptions } from "../requests/options.ts";
import type { Requests } from "../requests/requests.ts";

/** The default timeout of a tool call. */
const TOOL_TIMEOUT_S = 60;

/** Calls a tool; a call that times out or is aborted here is cancelled at the Computer (spec §7). */
export async function callTool(
  requests: Requests,
  call: Pick<ToolCallReq, "computer" | "tool_name" | "params">,
  options: CallToolOptions,
): Promise<CallToolResult> {
  const { timeout = TOOL_TIMEOUT_S, reqId = crypto.randomUUID(), signal } =
    options;
  try {
    return refuseMissingBlobs(
      await requests.request(
        TOOL_CALL_EVENT,
        { ...call, timeout },
        timeout,
        signal,
        reqId,
      ),
    );
  } catch (error) {
    const timedOut = error instanceof ConnectionError &&
      error.code === "timeout";
    if (timedOut || signal?.aborted) requests.cancel(reqId);
    if (timedOut) return timeoutResult(timeout);
    throw error;
  }
}
