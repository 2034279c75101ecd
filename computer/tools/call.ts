import type { BlobStore } from "../blobs/store.ts";
import type { McpHost } from "../host/host.ts";
import { SessionForgottenError } from "../host/mcp/errors.ts";
import type { AnswerQuestion } from "../host/mcp/questions.ts";
import type { NamedTool } from "../host/tool_naming.ts";
import { callFailure } from "./call_failure.ts";
import {
  type AbortReason,
  callFingerprint,
  type CallTable,
} from "./call_table.ts";
import type { Confirmations } from "./confirmations.ts";
import {
  type AskedRequest,
  type Dialogue,
  type Dialogues,
  INPUT_REQUIRED,
} from "./dialogues.ts";
import type { Elicitations } from "./elicitations.ts";
import {
  callingOperator,
  type ToolCallArrived,
  type ToolCallStarted,
} from "./events.ts";
import { CallWaits, type ProgressThrottles } from "./progress.ts";
import { fitResult, limitResult } from "./results.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";
import { transformResult } from "../util/vrl.ts";
import {
  type CallToolResult,
  cancelledResult,
  ErrorCode,
  timeoutResult,
  type ToolCallReq,
  toolErrorResult,
  type ToolProgress,
  type Wait,
  waitingText,
  withResultMeta,
} from "../../protocol/mod.ts";
import { onAbort } from "../../shared/async.ts";
import type { Deadlines } from "../../shared/deadlines.ts";

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

/** What running a tool needs besides the request. */
export interface ToolCallContext {
  /** The MCP servers. */
  readonly host: McpHost;
  /** Asks for user confirmation. */
  readonly confirmations: Confirmations;
  /** Answers questions of MCP servers. */
  readonly elicitations: Elicitations;
  /** Passes questions on to Agents that accept them. */
  readonly dialogues: Dialogues;
  /** Ends the calls that take too long. */
  readonly deadlines: Deadlines;
  /** The name of this Computer, for people. */
  readonly place: string;
}

/** How a call is followed while it runs. */
export interface CallFollowing {
  /** Aborts the call; its reason is an {@linkcode AbortReason}. */
  readonly signal: AbortSignal;
  /** Receives the tool's progress, if the caller asked for it. */
  readonly onProgress: ((progress: ToolProgress) => void) | undefined;
  /** Reports that the call waits for a person. */
  readonly waits: CallWaits;
}

/**
 * Runs a tool; failures become results too (spec §6, §7). Never rejects.
 *
 * @param target the tool that the request names
 */
export async function runToolCall(
  request: ToolCallReq,
  target: NamedTool,
  context: ToolCallContext,
  following: CallFollowing,
): Promise<CallToolResult> {
  const { onProgress } = following;
  const { elicitations, dialogues } = context;
  if (request.accepts?.includes(INPUT_REQUIRED) && !elicitations.canAsk) {
    const dialogue = dialogues.begin(
      askedRequest(request),
      (signal, answer, tell) =>
        execute(request, target, context, {
          ...following,
          signal,
          onProgress: onProgress && tell,
          answer,
        }),
    );
    return await continueCall(dialogue, request, context, following);
  }
  const early = earlyEnd(request, context, following);
  try {
    // The MCP SDK reports every abort as a timeout; only here is it known why the call ended.
    const result = await Promise.race([
      early.result,
      execute(request, target, context, {
        ...following,
        signal: early.signal,
      }),
    ]);
    return withResultMeta(result, {}); // under both names
  } finally {
    early.done();
  }
}

/** A call without what answers its questions is the same call. */
const askedRequest = (request: ToolCallReq): AskedRequest => {
  const { computer, tool_name, params } = request;
  const call = callFingerprint({ tool_name, params });
  return { ...request, about: JSON.stringify([computer, call]) };
};

/**
 * Continues a call that asked its Agent; the timeout is that of this request.
 *
 * @throws {ProtocolError} 400: there is no such call, or no answer to its question
 */
export async function resumeToolCall(
  request: ToolCallReq,
  context: ToolCallContext,
  following: CallFollowing,
): Promise<CallToolResult> {
  const dialogue: Dialogue<CallToolResult> = context.dialogues.resume(
    askedRequest(request),
  );
  return await continueCall(dialogue, request, context, following);
}

/** Waits for the next question or the result; the call goes on behind a question. */
async function continueCall(
  dialogue: Dialogue<CallToolResult>,
  request: ToolCallReq,
  context: ToolCallContext,
  following: CallFollowing,
): Promise<CallToolResult> {
  const early = earlyEnd(request, context, following);
  dialogue.follow(following.onProgress);
  const off = onAbort(early.signal, () => dialogue.abort(early.signal.reason));
  try {
    const next = dialogue.next.then((turn) =>
      "result" in turn ? turn.result : { content: [], ...turn.question }
    );
    return withResultMeta(await Promise.race([early.result, next]), {});
  } finally {
    dialogue.follow(undefined);
    off();
    early.done();
  }
}

/** Confirms, calls and transforms; all of it counts against the call's timeout. */
async function execute(
  request: ToolCallReq,
  { server: view, tool: { name: tool } }: NamedTool,
  { host, confirmations, elicitations, place }: ToolCallContext,
  { waits, ...following }: CallFollowing & { readonly answer?: AnswerQuestion },
): Promise<CallToolResult> {
  const { agent, tool_name, params } = request;
  const { name: server, bundleId, config } = view;
  const caller = { agent, ...callingOperator(request) };
  const named = { server, ...(bundleId !== server && { bundleId }) };
  const { signal } = following;
  const failure = (error?: unknown) =>
    callFailure(tool_name, host.server(bundleId)?.view ?? view, error);
  const decision = await confirmations.decide(
    { ...named, ...caller, tool, name: tool_name, params },
    config,
    { signal, waits, place },
  );
  if (decision.kind === "refuse") {
    return toolErrorResult(decision.code, decision.text, decision.fields);
  }
  try {
    signal.throwIfAborted();
    const now = host.server(bundleId);
    // The decision was about that configuration: a new one may be another program, or forbid the tool.
    if (now?.view.config !== config) return replaced(tool_name, server);
    const { connection } = now;
    if (!connection) return failure();
    const answer: AnswerQuestion = following.answer ??
      ((question, context) =>
        waits.during("answer", () =>
          elicitations.ask(
            { ...named, ...caller, tool: tool_name },
            question,
            context,
          )));
    const options = { ...following, answer };
    const result = await connection.callTool(tool, params, options)
      .catch(async (error) => {
        if (!(error instanceof SessionForgottenError)) throw error;
        // The server ran nothing, so the tool still runs at most once.
        const next = await now.connectAgain(connection);
        signal.throwIfAborted();
        if (!next || host.server(bundleId) !== now) throw error;
        return await next.callTool(tool, params, options);
      });
    return await transformResult(result, config.vrl, {
      server,
      tool,
      parameters: params,
    });
  } catch (error) {
    if (!signal.aborted) {
      log.warn("Tool {tool} of MCP server {server} failed: {reason}", {
        tool: tool_name,
        server,
        reason: reasonOf(error),
      });
    }
    return failure(error);
  }
}

/** Ends a call before its tool does: on timeout or abort. */
function earlyEnd(
  { timeout }: ToolCallReq,
  { place, deadlines }: ToolCallContext,
  { signal, waits }: CallFollowing,
): {
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
  const late = () =>
    end(timeoutResult(timeout, waitOf(waits, place)), "timeout");
  deadlines.add(late, timeout * 1000);
  const off = onAbort(
    signal,
    () => end(abortedResult(signal.reason, waitOf(waits, place)), "cancelled"),
  );
  return {
    result: promise,
    signal: abort.signal,
    done: () => {
      deadlines.remove(late);
      off();
    },
  };
}

const replaced = (tool: string, server: string): CallToolResult =>
  toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `Tool "${tool}" did not run: MCP server "${server}" was replaced or removed before it could`,
  );

const waitOf = ({ now }: CallWaits, computer: string): Wait | undefined =>
  now && { waiting: now, computer };

function abortedResult(
  reason: AbortReason,
  wait: Wait | undefined,
): CallToolResult {
  if (reason === "left") {
    return toolErrorResult(
      ErrorCode.TOOL_EXECUTION_FAILED,
      "The Computer left the office while the tool ran",
    );
  }
  return cancelledResult(reason === "cancelled" ? undefined : reason, wait);
}
