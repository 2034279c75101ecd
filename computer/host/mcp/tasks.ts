/**
 * Calls that MCP servers run as tasks, in both forms: MCP 2025-11-25, where the client asks for a task, and
 * the extension of 2026-07-28 (SEP-2663), where the server makes one of any call.
 *
 * The task is the call: it is followed until its result, its texts are the call's progress, and the end of
 * the call cancels it.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  ErrorCode,
  McpError,
  type ServerCapabilities,
} from "@modelcontextprotocol/sdk/types.js";
import { isRecord } from "../../../protocol/names.ts";
import { sleep } from "../../../shared/async.ts";
import { sdkFailure } from "./errors.ts";

/** Time between two looks at a task whose server names none, and the limits of what servers name. */
const POLL_MS = 1_000;
const MIN_POLL_MS = 50;
const MAX_POLL_MS = 60_000;

/** How long a server keeps a task: as long as the longest call (2025-11-25). */
export const TASK_TTL_MS = 3_600_000;

/** Returns whether a server of 2025-11-25 runs calls of tools as tasks. */
export const runsTasks = ({ tasks }: ServerCapabilities): boolean =>
  tasks?.requests?.tools?.call !== undefined;

/** Returns whether an entry of `tools/list` can be called as a task alone (2025-11-25). */
export const isTaskOnly = (entry: unknown): boolean =>
  isRecord(entry) && isRecord(entry.execution) &&
  entry.execution.taskSupport === "required";

/** The parts of a task that are read; both forms of MCP have other names for some. */
interface Task {
  readonly taskId: string;
  readonly status: unknown;
  readonly statusMessage?: unknown;
  readonly pollMs: number;
  /** The fields of its form. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How a task is followed. */
export interface TaskPort {
  /** Asks the MCP server about the task. */
  request(
    method: string,
    params: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>>;
  /** Answers what the task asks for (2026-07-28). */
  answers(
    asked: Readonly<Record<string, unknown>>,
  ): Promise<Record<string, unknown>>;
  /** Reports the server's text about it. */
  report(message: string): void;
  /** Ends the task. */
  readonly signal: AbortSignal;
}

/** Follows the task that a call has become to its result; returns any other result as it is. */
export async function finished(
  result: Record<string, unknown>,
  port: TaskPort,
): Promise<Record<string, unknown>> {
  const isExtension = result.resultType === "task";
  const first = readTask(isExtension ? result : result.task);
  if (!first) return result;
  try {
    return isExtension
      ? await followExtension(first, port)
      : await followSession(first, port);
  } catch (error) {
    const { taskId } = first;
    const isAnswer = error instanceof McpError &&
      sdkFailure(error) === undefined;
    if (port.signal.aborted || !isAnswer) {
      port.request("tasks/cancel", { taskId }).catch(() => {
        // It has ended, or its server cancels none: nothing waits for it any more.
      });
    }
    throw error;
  }
}

/** Follows a task of 2025-11-25; its questions come with the answer to the request for its result. */
async function followSession(first: Task, port: TaskPort) {
  const { taskId } = first;
  for await (const { status, statusMessage } of looks(first, port)) {
    if (status === "cancelled") throw cancelled(statusMessage);
    if (status === "working") continue;
    return await port.request("tasks/result", { taskId }, port.signal);
  }
  throw cancelled(undefined);
}

/** Follows a task of the extension. */
async function followExtension(first: Task, port: TaskPort) {
  const { taskId } = first;
  const answered = new Set<string>();
  for await (const { status, statusMessage, fields } of looks(first, port)) {
    if (status === "cancelled") throw cancelled(statusMessage);
    if (status === "failed") throw failure(fields.error, statusMessage);
    if (status === "completed" && isRecord(fields.result)) return fields.result;
    if (status !== "input_required" || !isRecord(fields.inputRequests)) {
      continue;
    }
    const asked = Object.entries(fields.inputRequests)
      .filter(([key]) => !answered.has(key));
    if (asked.length === 0) continue;
    const inputResponses = await port.answers(Object.fromEntries(asked));
    await port.request("tasks/update", { taskId, inputResponses }, port.signal);
    for (const [key] of asked) answered.add(key);
  }
  throw cancelled(undefined);
}

/** Looks at a task again and again. */
async function* looks(first: Task, port: TaskPort): AsyncGenerator<Task> {
  let text: unknown;
  for (let task = first;;) {
    const { taskId, statusMessage, status, pollMs } = task;
    if (typeof statusMessage === "string" && statusMessage !== text) {
      port.report(text = statusMessage);
    }
    yield task;
    if (task !== first || status === "working") {
      await sleep(pollMs, port.signal);
    }
    const next = await port.request("tasks/get", { taskId }, port.signal);
    // Servers of 2025-11-25 may have the fields in `task`, as in the first answer.
    task = readTask(next) ?? readTask(next.task) ?? task;
  }
}

function readTask(data: unknown): Task | undefined {
  if (!isRecord(data) || typeof data.taskId !== "string") return undefined;
  const { taskId, status, statusMessage, pollIntervalMs, pollInterval } = data;
  const named = Number(pollIntervalMs ?? pollInterval ?? POLL_MS);
  const pollMs = Math.min(Math.max(named || POLL_MS, MIN_POLL_MS), MAX_POLL_MS);
  return { taskId, status, statusMessage, pollMs, fields: data };
}

const cancelled = (message: unknown): McpError =>
  failure(undefined, message ?? "The task was cancelled");

function failure(error: unknown, message: unknown): McpError {
  const { code, message: text, data } = isRecord(error) ? error : {};
  return new McpError(
    typeof code === "number" ? code : ErrorCode.InternalError,
    String(text ?? message ?? "The task failed"),
    data,
  );
}
