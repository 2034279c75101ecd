import { ConnectionError } from "../../client/errors.ts";
import {
  type CallToolResult,
  type ElicitParams,
  type ElicitResult,
  timeoutResult,
  TOOL_CALL_EVENT,
  type ToolCallReq,
  type Wait,
} from "../../protocol/mod.ts";
import { fetchWhole } from "../blobs/fetch_blob.ts";
import { MAX_RESTORED_BYTES, restoreResult } from "../blobs/restore_result.ts";
import type { CallToolOptions } from "../requests/options.ts";
import { inputFields } from "../requests/question_fields.ts";
import type { Requests } from "../requests/requests.ts";
import { wireTimeout } from "../requests/wire_timeout.ts";

/** The default timeout of a tool call. */
const TOOL_TIMEOUT_MS = 60_000;

type Call = Pick<ToolCallReq, "computer" | "tool_name" | "params">;

/** Calls a tool, answers its questions, and fetches what its result lacks (0.4 §7.3). */
export async function callTool(
  requests: Requests,
  call: Call,
  options: CallToolOptions,
): Promise<CallToolResult> {
  const result = await callAnswering(requests, call, options);
  const { signal, blobs = "restore" } = options;
  if (blobs === "keep") return result;
  const { computer } = call;
  return await restoreResult(
    result,
    (content) =>
      fetchWhole(
        { requests, computer, ...content },
        MAX_RESTORED_BYTES,
        signal,
      ),
    signal,
  );
}

/** Calls a tool, and answers its questions (an extension of this package). */
async function callAnswering(
  requests: Requests,
  call: Call,
  options: CallToolOptions,
): Promise<CallToolResult> {
  const { onElicit, signal, ...rest } = options;
  if (!onElicit) return await callOnce(requests, call, options);
  let { input = {}, reqId = crypto.randomUUID() } = rest;
  for (;;) {
    const part = { ...options, input, reqId };
    const result = await callOnce(requests, call, part);
    const questions = questionsOf(result);
    if (!questions) return result;
    const responses: Record<string, ElicitResult> = {};
    try {
      for (const [key, params] of questions.requests) {
        responses[key] = await onElicit(params);
        signal?.throwIfAborted();
      }
    } catch (error) {
      requests.cancel(reqId);
      throw error;
    }
    input = { responses, state: questions.state };
    reqId = crypto.randomUUID();
  }
}

/** Returns the questions that a result asks, if it asks any. */
function questionsOf(
  { resultType, inputRequests, requestState }: CallToolResult,
): { requests: [string, ElicitParams][]; state: string } | undefined {
  if (resultType !== "input_required" || typeof requestState !== "string") {
    return undefined;
  }
  const requests = Object.entries(
    inputRequests as Record<string, { params: ElicitParams }>,
  ).map(([key, { params }]): [string, ElicitParams] => [key, params]);
  return { requests, state: requestState };
}

/** Calls a tool; a call that times out or is aborted here is cancelled at the Computer (spec §7). */
async function callOnce(
  requests: Requests,
  call: Call,
  options: CallToolOptions,
): Promise<CallToolResult> {
  const { timeoutMs = TOOL_TIMEOUT_MS, reqId = crypto.randomUUID() } = options;
  const { signal, onProgress, input } = options;
  const { computer } = call;
  let wait: Wait | undefined;
  const unfollow = requests.follow(reqId, (told) => {
    const { waiting } = told;
    if (waiting !== undefined) {
      wait = waiting === null ? undefined : { waiting, computer };
    }
    return onProgress?.(told);
  });
  try {
    return await requests.request(
      TOOL_CALL_EVENT,
      {
        ...call,
        timeout: wireTimeout(timeoutMs),
        progress: onProgress ? true : "waiting",
        ...(input && inputFields(input)),
      },
      { timeoutMs, signal, reqId },
    );
  } catch (error) {
    const timedOut = error instanceof ConnectionError &&
      error.code === "timeout";
    if (timedOut) {
      requests.cancel(reqId, "timeout");
      return timeoutResult(timeoutMs / 1000, wait);
    }
    if (signal?.aborted) requests.cancel(reqId);
    throw error;
  } finally {
    unfollow();
  }
}
