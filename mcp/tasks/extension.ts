/**
 * The Tasks extension of MCP 2026-07-28 (SEP-2663): its messages, and who may use it.
 *
 * @module
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import type * as Mcp from "@modelcontextprotocol/server";
import { messageOf } from "../tools/result.ts";
import { TASKS_CAPABILITY, TASKS_EXTENSION } from "../../protocol/mcp/tasks.ts";

/** How far a task is, with what belongs to that. */
export type TaskState =
  | { readonly status: "working" }
  | {
    readonly status: "input_required";
    /** The questions without an answer, by keys that are unique in the task. */
    readonly inputRequests: Mcp.InputRequests;
  }
  | { readonly status: "completed"; readonly result: Mcp.Result }
  | { readonly status: "failed"; readonly error: TaskError }
  | { readonly status: "cancelled" };

/** The error of JSON-RPC that a request ended with. */
export interface TaskError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A task as clients see it. */
export type DescribedTask = TaskState & {
  readonly taskId: string;
  /** For people: what it waits for, or why it has ended. */
  readonly statusMessage?: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Milliseconds from its creation for which it is kept. */
  readonly ttlMs: number;
  /** Milliseconds between two requests for it, as a hint. */
  readonly pollIntervalMs: number;
};

/** Whether the capabilities of a client, as a request has them, declare the extension. */
export const declaresTasks = (capabilities: unknown): boolean =>
  Object.hasOwn(
    Object(Object(capabilities).extensions),
    TASKS_EXTENSION,
  );

/** Whether the client of a request declares the extension in it; no revision before 2026-07-28 has it. */
export const hasTasks = (
  { mcpReq: { envelope } }: Pick<Mcp.ServerContext, "mcpReq">,
): boolean => declaresTasks(Object(envelope)[CLIENT_CAPABILITIES_META_KEY]);

/** Makes the error for clients that use the extension without declaring it. */
export const undeclared = (): MissingRequiredClientCapabilityError =>
  new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: TASKS_CAPABILITY },
  });

/** Whether a request is about a task: it needs no Agent. */
export const isTaskRequest = (message: unknown): boolean =>
  isTaskMethod(Object(message).method);

/** Whether a method is one of the extension. */
export const isTaskMethod = (method: unknown): boolean =>
  typeof method === "string" && method.startsWith("tasks/");

/** Returns the error of JSON-RPC that a request gets for what its handler throws. */
export function toTaskError(error: unknown): TaskError {
  const { code, data }: { code?: unknown; data?: unknown } = Object(error);
  return {
    code: Number.isSafeInteger(code)
      ? Number(code)
      : ProtocolErrorCode.InternalError,
    message: messageOf(error),
    ...(data !== undefined && { data }),
  };
}
