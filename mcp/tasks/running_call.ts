/**
 * One call of a client that supports tasks: it is answered with its result, or with a task once it
 * waits for a person, or runs for long.
 *
 * A task runs on when the HTTP request has ended. What the MCP server asks before that is asked by
 * the answer of the request; what it asks later, by the task.
 *
 * @module
 */
import { isInputRequiredResult } from "@modelcontextprotocol/server";
import type * as Mcp from "@modelcontextprotocol/server";
import { callerIn } from "../caller.ts";
import { hasTasks, toTaskError } from "./extension.ts";
import { KEPT_MS, type Task } from "./task.ts";
import type { TaskTable } from "./task_table.ts";
import type { ToolProgress } from "../../protocol/mod.ts";
import { waitingText } from "../../protocol/payloads/tools.ts";
import { abortable, onAbort } from "../../shared/async.ts";

/**
 * How long a call runs before it becomes a task. Clients and proxies give up a silent request after 10
 * seconds at the earliest, and most after 60.
 */
export const TASK_AFTER_MS = 8_000;
/** How long the answers to questions are waited for, as the Computer waits for them. */
export const ANSWERS_MS = 10 * 60_000;

/** What handlers of the MCP SDK are. */
export type Handler = (
  request: Mcp.JSONRPCRequest,
  context: Mcp.ServerContext,
) => Promise<Mcp.Result>;

/** Where calls become tasks. */
export interface TaskParts {
  readonly tasks: TaskTable;
  readonly options: { readonly callTimeoutMs: number };
}

/**
 * Lets a handler of `tools/call` answer clients that support tasks with one.
 *
 * @param begun finds the call of a request, where that has begun already
 */
export const answeringWithTasks = (
  answer: Handler,
  parts: TaskParts,
  begun: (context: Mcp.ServerContext) => RunningCall | undefined,
): Handler =>
async (request, context) => {
  if (!hasTasks(context)) return await answer(request, context);
  const running = begun(context) ?? new RunningCall(parts);
  return await running.answer(answer, { request, context });
};

/** Finds the call that a handler runs for, if it may become a task. */
export function runningCallOf(
  context: Mcp.ServerContext,
): RunningCall | undefined {
  const { running }: { running?: unknown } = context as OwnContext;
  return running instanceof RunningCall ? running : undefined;
}

/** The context of a handler; the MCP SDK keeps fields that it does not know. */
type OwnContext = Mcp.ServerContext & { readonly running?: unknown };

/** A request of the MCP SDK. */
interface SdkRequest {
  readonly request: Mcp.JSONRPCRequest;
  readonly context: Mcp.ServerContext;
}

/** One call, which may become a task. */
export class RunningCall {
  readonly #parts: TaskParts;
  #onDue: () => void;
  #isDue = false;
  /** Cancels the call: with its request, until it is a task. */
  readonly #stop = new AbortController();
  readonly #answered = Promise.withResolvers<Mcp.Result>();
  readonly #timer: ReturnType<typeof setTimeout>;
  #isAnswered = false;
  #task: Task | undefined;
  #waits: string | undefined;

  /** @param onDue called where it has to become a task before the MCP SDK has its request */
  constructor(parts: TaskParts, onDue: () => void = () => {}) {
    this.#parts = parts;
    this.#onDue = onDue;
    this.#timer = setTimeout(() => this.#due(), TASK_AFTER_MS);
  }

  /** Whether it is a task. */
  get isTask(): boolean {
    return this.#task !== undefined;
  }

  /** Settles when its request is answered by the MCP SDK, with a task or with its result. */
  get answered(): Promise<unknown> {
    return this.#answered.promise;
  }

  /** Notes that it has ended: it becomes no task any more. */
  end(): void {
    clearTimeout(this.#timer);
  }

  /** Runs the call; resolves with its result, or with the task that it has become. */
  async answer(handler: Handler, asked: SdkRequest): Promise<Mcp.Result> {
    const { signal } = asked.context.mcpReq;
    const detach = onAbort(signal, () => this.#stop.abort(signal.reason));
    this.#onDue = () => this.#becomeTask(asked);
    if (this.#isDue) this.#onDue();
    void this.#run(handler, asked);
    try {
      return await this.#answered.promise;
    } finally {
      detach();
      this.end();
    }
  }

  /** Takes note of the call's progress; a call that begins to wait for a person becomes a task. */
  report(
    { waiting, message, progress, total }: ToolProgress,
    computer: string,
  ): void {
    if (waiting) {
      this.#waits = waitingText(waiting, computer);
      this.#due();
    } else if (waiting === null) this.#waits = undefined;
    const share = total === undefined
      ? `${progress}`
      : `${progress} of ${total}`;
    const text = waiting === undefined ? message ?? share : undefined;
    this.#task?.note(this.#waits ?? text, this.#waits !== undefined);
  }

  #due(): void {
    this.#isDue = true;
    this.#onDue();
  }

  async #run(
    handler: Handler,
    { request, context }: SdkRequest,
  ): Promise<void> {
    const own = this.#ownContext(context);
    try {
      let result = await handler(request, own);
      while (this.#task && isInputRequiredResult(result)) {
        const inputResponses = await this.#ask(this.#task, result);
        const { requestState } = result;
        const mcpReq = {
          ...own.mcpReq,
          inputResponses,
          requestState: <T>() => requestState as T | undefined,
        };
        result = await handler(request, { ...own, mcpReq });
      }
      this.#end(result);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The context of the call: its signal, and whether it can still be answered, are its own. */
  #ownContext(context: Mcp.ServerContext): OwnContext {
    const { mcpReq } = context;
    return {
      ...context,
      running: this,
      mcpReq: {
        ...mcpReq,
        signal: this.#stop.signal,
        // A task has no notifications but its own.
        notify: async (...notice) => {
          if (!this.#task) await mcpReq.notify(...notice);
        },
      },
    };
  }

  #becomeTask({ context: { http } }: SdkRequest): void {
    // A client that is gone before would never read the id of its task.
    if (this.#isAnswered || this.#stop.signal.aborted) return;
    const { tasks, options: { callTimeoutMs } } = this.#parts;
    const task = tasks.begin(
      callerIn(http?.authInfo),
      callTimeoutMs + KEPT_MS,
      (why) => this.#stop.abort(new Error(`The task has ended: ${why}`)),
    );
    if (!task) return; // its client waits, as any other
    this.#task = task;
    this.#isAnswered = true;
    task.note(this.#waits, this.#waits !== undefined);
    this.#answered.resolve({ ...task.describe(), resultType: "task" });
  }

  /** Asks the client by the task; resolves with all answers. */
  async #ask(
    task: Task,
    { inputRequests = {} }: Mcp.InputRequiredResult,
  ): Promise<Mcp.InputResponses> {
    const { callTimeoutMs } = this.#parts.options;
    const timer = setTimeout(
      () => task.cancel("no answer has come in time"),
      ANSWERS_MS,
    );
    try {
      const asking = task.ask(inputRequests, callTimeoutMs + KEPT_MS);
      return await abortable(asking, this.#stop.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  #end(result: Mcp.Result): void {
    this.#isAnswered = true;
    if (!this.#task) return this.#answered.resolve(result);
    // As the request itself would have been answered.
    const complete = { ...result, resultType: "complete" };
    this.#task.end({ status: "completed", result: complete });
  }

  #fail(error: unknown): void {
    this.#isAnswered = true;
    if (!this.#task) return this.#answered.reject(error);
    const failed = toTaskError(error);
    this.#task.end({ status: "failed", error: failed }, failed.message);
  }
}
