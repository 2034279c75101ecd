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
import { wireTimeout } from "../requests/wire_timeout.ts";

/** The default timeout of a tool call. */
const TOOL_TIMEOUT_MS = 60_000;

/** Calls a tool; a call that times out or is aborted here is cancelled at the Computer (spec §7). */
export async function callTool(
  requests: Requests,
  call: Pick<ToolCallReq, "computer" | "tool_name" | "params">,
  options: CallToolOptions,
): Promise<CallToolResult> {
  const { timeoutMs = TOOL_TIMEOUT_MS, reqId = crypto.randomUUID() } = options;
  const { signal, onProgress } = options;
  const unfollow = onProgress && requests.follow(reqId, onProgress);
  try {
    return refuseMissingBlobs(
      await requests.request(
        TOOL_CALL_EVENT,
        {
          ...call,
          timeout: wireTimeout(timeoutMs),
          ...(onProgress && { progress: true }),
        },
        timeoutMs,
        signal,
        reqId,
      ),
    );
  } catch (error) {
    const timedOut = error instanceof ConnectionError &&
      error.code === "timeout";
    if (timedOut || signal?.aborted) requests.cancel(reqId);
    if (timedOut) return timeoutResult(timeoutMs / 1000);
    throw error;
  } finally {
    unfollow?.();
  }
}
