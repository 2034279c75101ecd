/**
 * Tool calls, from the request to its result (protocol §6, §7), in the order in which it happens: a call
 * is looked up in the table of calls, so that it runs once; its progress and its waiting are
 * reported; its tool is found; it runs until its result, its timeout or its cancellation; the person
 * confirms it, the MCP server executes it, and a VRL program transforms the result.
 *
 * @module
 */
import type { Emitter } from "../../client/emitter.ts";
import {
  type CallToolResult,
  cancelledResult,
  timeoutResult,
  type ToolCallCancel,
  type ToolCallProgress,
  type ToolCallReq,
  type ToolProgress,
  type Wait,
  withResultMeta,
} from "../../protocol/mod.ts";
import { ofTheRoute } from "../../protocol/payloads/request_meta.ts";
import { operatorOf, waitingText } from "../../protocol/payloads/tools.ts";
import { onAbort } from "../../shared/async.ts";
import { type Deadline, Deadlines } from "../../shared/deadlines.ts";
import type { BlobStore } from "../blobs/store.ts";
import type { McpHost } from "../host/host.ts";
import type { HostedServer } from "../host/hosted_server.ts";
import { SessionForgottenError } from "../host/mcp/errors.ts";
import type { AnswerQuestion } from "../host/mcp/mcp_connection.ts";
import type { NamedTool } from "../host/tool_naming.ts";
import { log } from "../util/log.ts";
import { hideSecrets } from "../util/secrets.ts";
import { reasonOf } from "../util/values.ts";
import { transformResult } from "../util/vrl.ts";
import { CallClock, timesOf } from "./call_clock.ts";
import { callFailure, refused } from "./call_failure.ts";
import { configurationHash, definitionHash } from "./asked_call.ts";
import { CallWaits } from "./call_waits.ts";
import { Confirmations, type ConfirmationsOptions } from "./confirmations.ts";
import type { Run } from "./decision.ts";
import {
  type AskedRequest,
  type Dialogue,
  Dialogues,
  mayAsk,
} from "./dialogues.ts";
import { type Elicit, Elicitations } from "./elicitations.ts";
import type { ComputerEvents, ToolCallStarted } from "./events.ts";
import { ProgressThrottle } from "./progress.ts";
import {
  type AbortReason,
  callFingerprint,
  CallTable,
  failed,
  fitResult,
  limitResult,
  type MeasuredResult,
} from "./results.ts";

/** Where a request came from: an office, or this process. */
export interface RequestOrigin {
  /** The Server's limit for messages in bytes; absent if it is unknown, and for this process. */
  readonly maxPayload: number | undefined;
  /** Sends the caller the progress of its call. */
  progressed(progress: Omit<ToolCallProgress, "computer">): void;
}

/** Options of {@linkcode ToolCalls}. */
interface ToolCallsOptions extends ConfirmationsOptions {
  /** Answers questions of MCP servers. */
  readonly elicit: Elicit | undefined;
  /** Keeps content that is too large for a message. */
  readonly blobs: BlobStore;
}

/** A call while it runs. */
interface RunningCall {
  readonly request: ToolCallReq;
  /** The caller: an Agent, or an operator. */
  readonly caller: Pick<ToolCallStarted, "agent" | "operator">;
  /** Aborts the call; its reason is an {@linkcode AbortReason}. */
  readonly signal: AbortSignal;
  /** Receives the tool's progress, if the caller asked for it. */
  readonly onProgress: ((progress: ToolProgress) => void) | undefined;
  /** Reports that the call waits for a person. */
  readonly waits: CallWaits;
  /** Explains why no answer came, from when its MCP server gets the call. */
  readonly silence: { explain: () => string };
  /** What is left of its time. */
  readonly time: CallClock;
  /** Answers the questions of the MCP server; absent where the person at this Computer does. */
  readonly answer?: AnswerQuestion;
}

/** The tool calls of a Computer, with what belongs to one office: must be cleared when it leaves. */
export class ToolCalls {
  /** Decides whether a call may run. */
  readonly confirmations: Confirmations;
  /** Answers questions of MCP servers. */
  readonly elicitations: Elicitations;
  /** Passes questions on to Agents that accept them. */
  readonly dialogues: Dialogues = new Dialogues();
  /** The MCP servers whose tools were called. */
  readonly recent: RecentServers = new RecentServers();
  readonly #host: McpHost;
  readonly #events: Emitter<ComputerEvents>;
  readonly #options: ToolCallsOptions;
  readonly #table = new CallTable();
  readonly #deadlines = new Deadlines(true);
  readonly #throttle = new ProgressThrottle();

  constructor(
    host: McpHost,
    events: Emitter<ComputerEvents>,
    options: ToolCallsOptions,
  ) {
    this.#host = host;
    this.#events = events;
    this.#options = options;
    this.confirmations = new Confirmations(options);
    this.elicitations = new Elicitations(options.elicit);
  }

  /** Number of running calls. */
  get running(): number {
    return this.#table.running;
  }

  /**
   * Runs a tool, once for each `req_id`; failures become results too.
   *
   * @throws {ProtocolError} 400: its `req_id` was used for another call, or it continues no call
   */
  async run(
    request: ToolCallReq,
    origin: RequestOrigin,
  ): Promise<CallToolResult> {
    const { agent, req_id: reqId, tool_name: tool, params } = request;
    const operator = operatorOf(request);
    const caller = { agent, ...(operator !== undefined && { operator }) };
    const call = { ...caller, reqId, tool };
    const start = performance.now();
    this.#events.emit("callStarted", { ...call, params });
    let result: CallToolResult | undefined;
    try {
      const measured = await this.#table.run(
        request,
        (signal) => this.#follow({ request, caller, signal }, call, origin),
      );
      // A stored result was checked against the limit of an earlier Server.
      result = limitResult(measured, origin.maxPayload).result;
      return result;
    } finally {
      const durationMs = performance.now() - start;
      const ended = { ...call, durationMs, ...(result && { result }) };
      this.#events.emit("callEnded", ended);
    }
  }

  /** Cancels a call; unknown and ended calls are ignored (protocol §7). */
  cancel(call: ToolCallCancel): void {
    this.#table.cancel(call);
    this.dialogues.end(call);
  }

  /** Ends all calls, and forgets their results and the history. */
  clear(): void {
    this.#table.clear();
    this.dialogues.end();
    this.recent.clear();
  }

  /** Lets the timer end with the last running call. */
  release(): void {
    this.#deadlines.release();
  }

  /**
   * Runs a call while its progress and its waiting are reported; fits its result into a message before it is
   * stored, so that a repeated request gets the same.
   */
  async #follow(
    call: Pick<RunningCall, "request" | "caller" | "signal">,
    started: ToolCallStarted,
    origin: RequestOrigin,
  ): Promise<MeasuredResult> {
    const { agent, reqId: req_id } = started;
    let result: CallToolResult;
    const report = (progress: ToolProgress) =>
      origin.progressed({ agent, req_id, ...progress });
    const throttle = call.request.progress === true
      ? this.#throttle.open((progress) => {
        this.#events.emit("callProgress", { ...started, progress });
        report(progress);
      })
      : undefined;
    let done = 0;
    const onProgress = throttle && ((progress: ToolProgress) => {
      done = progress.progress;
      throttle.report(progress);
    });
    const { timeout, confirmation_timeout } = call.request;
    const time = new CallClock(timesOf(timeout, confirmation_timeout));
    const waits = new CallWaits((waiting) => {
      this.#events.emit("callWaiting", { ...started, waiting });
      const message = waiting && waitingText(waiting, this.#options.place());
      report({ progress: done, ...(message && { message }), waiting });
    }, time);
    try {
      const silence = { explain: () => "" };
      result = await this.#begin({
        ...call,
        onProgress,
        waits,
        silence,
        time,
      });
    } finally {
      waits.end();
      throttle?.end(!call.signal.aborted); // before the answer, which is the last word
    }
    return await fitResult(result, this.#options.blobs, origin.maxPayload);
  }

  /** Finds the tool and runs it, or continues the call that asked its Agent. */
  #begin(call: RunningCall): CallToolResult | Promise<CallToolResult> {
    const { request, onProgress } = call;
    if (request.request_state !== undefined) {
      const asked = askedRequest(request);
      return this.#converse(this.dialogues.resume(asked), call);
    }
    const found = this.#host.resolve(request.tool_name);
    if (found.kind === "refuse") return refused(found);
    const { target } = found;
    this.recent.used(target.server.bundleId);
    if (!mayAsk(request) || this.elicitations.canAsk) {
      return this.#untilEnd(
        call,
        (signal) => this.#execute(target, { ...call, signal }),
      );
    }
    const dialogue = this.dialogues.begin(
      askedRequest(request),
      (signal, answer, report) => {
        const further = { signal, answer, onProgress: onProgress && report };
        return this.#execute(target, { ...call, ...further });
      },
    );
    return this.#converse(dialogue, call);
  }

  /** Waits for the next question or the result; the call goes on behind a question. */
  async #converse(
    dialogue: Dialogue<CallToolResult>,
    call: RunningCall,
  ): Promise<CallToolResult> {
    dialogue.onProgress = call.onProgress;
    try {
      return await this.#untilEnd(call, async (signal) => {
        onAbort(signal, () => dialogue.end.abort(signal.reason));
        const turn = await dialogue.turn.promise;
        return "result" in turn
          ? turn.result
          : { content: [], ...turn.question };
      });
    } finally {
      dialogue.onProgress = undefined;
    }
  }

  /** Waits for the result of `work`; on timeout or abort, ends before it does. */
  async #untilEnd(
    { signal, waits, silence, time }: RunningCall,
    work: (signal: AbortSignal) => Promise<CallToolResult>,
  ): Promise<CallToolResult> {
    const early = Promise.withResolvers<CallToolResult>();
    const abort = new AbortController();
    const end = (result: CallToolResult, why: string) => {
      early.resolve(result);
      abort.abort(why);
    };
    const wait = (): Wait | undefined => {
      const waiting = waits.current;
      const { lateMs } = waits;
      return waiting && {
        waiting,
        computer: this.#options.place(),
        ...(waiting === "confirmation" && lateMs > 0 && {
          late: lateText(lateMs),
        }),
      };
    };
    const now = performance.now();
    time.begin();
    const deadline: Deadline & { due: number } = {
      due: now + time.limitMs,
      expire: () => {
        const silent = hideSecrets(silence.explain());
        const result = timeoutResult(time.limitMs / 1000, wait(), silent);
        end(result, "timeout");
      },
    };
    this.#deadlines.add(deadline, now);
    time.changed = () => this.#deadlines.move(deadline, time.leftMs);
    const off = onAbort(signal, () => {
      if (signal.reason === "timeout") silence.explain(); // to the log alone
      const why = signal.reason === "timeout" ? "timeout" : "cancelled";
      end(abortedResult(signal.reason, wait()), why);
    });
    try {
      // The MCP SDK reports every abort as a timeout; only here is it known why the call ended.
      const result = await Promise.race([early.promise, work(abort.signal)]);
      return withResultMeta(result, {}); // under both names
    } finally {
      this.#deadlines.remove(deadline);
      off();
    }
  }

  /** Confirms, calls and transforms; all of it counts against the call's timeout. */
  async #execute(
    target: NamedTool,
    call: RunningCall,
  ): Promise<CallToolResult> {
    const { server: view, tool: { name: tool } } = target;
    const { request: { tool_name: name, params }, signal, onProgress } = call;
    const { name: server, bundleId, config } = view;
    const { introduction } = this.#host.server(bundleId)?.connection ?? {};
    const decision = await this.confirmations.decide({
      target,
      name,
      ...call.caller,
      params,
      introduction,
    }, call);
    if (decision.kind === "refuse") return refused(decision);
    const failure = (error?: unknown) =>
      callFailure(name, this.#host.server(bundleId)?.view ?? view, error);
    try {
      signal.throwIfAborted();
      const connected = this.#connected(target, decision);
      if ("refusal" in connected) return connected.refusal;
      const { now, connection } = connected;
      if (!connection) return failure();
      const answer = call.answer ?? this.#asksHere(target, call);
      call.silence.explain = connection.watchOutput();
      const { _meta } = call.request;
      const meta = decision.isClosed && _meta ? ofTheRoute(_meta) : _meta;
      const options = { signal, onProgress, answer, meta };
      const result = await connection.callTool(tool, params, options)
        .catch(async (error) => {
          if (!(error instanceof SessionForgottenError)) throw error;
          // The server ran nothing, so the tool still runs at most once.
          await now.connectAgain(connection);
          signal.throwIfAborted();
          const next = this.#connected(target, decision);
          if ("refusal" in next) return next.refusal;
          if (!next.connection || next.now !== now) throw error;
          return await next.connection.callTool(tool, params, options);
        });
      const called = { server, tool, parameters: params };
      return config.vrl
        ? await transformResult(result, config.vrl, called)
        : result;
    } catch (error) {
      if (!signal.aborted) {
        const properties = { tool: name, server, reason: reasonOf(error) };
        log.warn(
          "Tool {tool} of MCP server {server} failed: {reason}",
          properties,
        );
      }
      return failure(error);
    }
  }

  /** Finds the MCP server for a call that was decided on, unless that was about something else. */
  #connected(
    target: NamedTool,
    { seen }: Run,
  ):
    | { now: HostedServer; connection: HostedServer["connection"] }
    | { refusal: CallToolResult } {
    const now = this.#host.server(target.server.bundleId);
    const change = changedMeanwhile(target, now, seen);
    return now !== undefined && change === undefined
      ? { now, connection: now.connection }
      : { refusal: failed(`Tool "${target.name}" did not run: ${change}`) };
  }

  /** Lets the person at this Computer answer what an MCP server asks during a call. */
  #asksHere(
    { server: { name: server, bundleId } }: NamedTool,
    { caller, request, waits }: RunningCall,
  ): AnswerQuestion {
    const by = {
      server,
      ...(bundleId !== server && { bundleId }),
      ...caller,
      tool: request.tool_name,
    };
    return (question, context) =>
      waits.during(
        "answer",
        () => this.elicitations.ask(by, question, context),
      );
  }
}

/**
 * Returns why a tool must not run that was decided on: a new configuration may be another program, or forbid
 * the tool; and a person was asked about its definition, and the program that has it.
 */
function changedMeanwhile(
  { server: { name, config }, tool }: NamedTool,
  now: HostedServer | undefined,
  seen: Run["seen"],
): string | undefined {
  if (now?.seen !== config) {
    return `MCP server "${name}" was replaced or removed before it could`;
  }
  const { connection } = now;
  if (seen === undefined || connection === undefined) return undefined;
  const { configuration, definition } = seen;
  const listed = now.view.tools.find((each) => each.name === tool.name);
  return configurationHash(config, connection.introduction) === configuration &&
      listed !== undefined && definitionHash(listed) === definition
    ? undefined
    : `MCP server "${name}" changed it while its call was confirmed; call it again`;
}

/** Advises what to do where the person may still answer. */
const lateText = (lateMs: number): string =>
  `. The person can still answer: repeat the call unchanged if it is still wanted, and a yes within ${
    Math.round(lateMs / 60_000)
  } minutes lets it run at once`;

/** A call without what answers its questions is the same call. */
const askedRequest = (request: ToolCallReq): AskedRequest => {
  const { computer, tool_name, params } = request;
  const call = callFingerprint({ tool_name, params });
  return { ...request, about: JSON.stringify([computer, call]) };
};

const abortedResult = (
  reason: AbortReason,
  wait: Wait | undefined,
): CallToolResult =>
  reason === "left"
    ? failed("The Computer left the office while the tool ran")
    : cancelledResult(reason === "cancelled" ? undefined : reason, wait);

/**
 * Remembers which MCP servers were used last, for the order of Desktop and Finder (protocol §8.1); must be
 * cleared with the office, whose history must not leak into another.
 */
export class RecentServers extends Set<string> {
  /** The `bundle_id` of each server once, the most recent last. */
  get history(): string[] {
    return [...this];
  }

  /** Records a tool call of a server. */
  used(server: string): void {
    this.delete(server);
    this.add(server);
  }
}
