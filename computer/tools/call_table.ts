import {
  type AgentCallData,
  ErrorCode,
  ProtocolError,
  type ToolCallCancel,
  type ToolCallReq,
} from "../../protocol/mod.ts";
import type { MeasuredResult } from "./answer_limits.ts";
import { callFingerprint } from "./call_fingerprint.ts";
import { ResultStore, type ResultStoreLimits } from "./result_store.ts";

/** Why a running call is aborted: it was cancelled, for what reason, or the Computer left the office. */
export type AbortReason =
  | "cancelled"
  | "left"
  | NonNullable<ToolCallCancel["reason"]>;

/** One execution, shared by any number of equal requests. */
interface RunningCall {
  readonly fingerprint: string;
  readonly result: Promise<MeasuredResult>;
  readonly abort: AbortController;
}

const DEFAULT_LIMITS: ResultStoreLimits = { count: 1_000, bytes: 16 * 2 ** 20 };

/**
 * Keeps the running and ended tool calls of one office by Agent and `req_id`, which makes calls
 * idempotent (spec §7.4, §7.6).
 *
 * Must be cleared when the Computer leaves the office.
 */
export class CallTable {
  readonly #running = new Map<string, RunningCall>();
  readonly #ended: ResultStore;

  /** @param limits bound the results of ended calls that are kept */
  constructor(limits: ResultStoreLimits = DEFAULT_LIMITS) {
    this.#ended = new ResultStore(limits);
  }

  /** Number of running calls. */
  get running(): number {
    return this.#running.size;
  }

  /**
   * Executes a call once: an equal request shares the execution or gets the stored result.
   *
   * @param execute gets a signal whose reason is an {@linkcode AbortReason}; must not reject on abort
   * @throws {ProtocolError} 400 when the `req_id` was used for another tool or other params
   */
  run(
    request: ToolCallReq,
    execute: (signal: AbortSignal) => Promise<MeasuredResult>,
  ): Promise<MeasuredResult> {
    const key = keyOf(request);
    const fingerprint = callFingerprint(request);
    const running = this.#running.get(key);
    const ended = this.#ended.get(key);
    const known = running ?? ended;
    if (known && known.fingerprint !== fingerprint) {
      return Promise.reject(reused(request.req_id));
    }
    if (running) return running.result;
    if (ended) {
      return Promise.resolve({ result: ended.result, bytes: ended.bytes });
    }
    const abort = new AbortController();
    const call: RunningCall = {
      fingerprint,
      abort,
      result: execute(abort.signal).then((measured) => {
        if (this.#running.get(key) === call) {
          this.#ended.add(key, { fingerprint, ...measured });
        }
        return measured;
      }).finally(() => {
        if (this.#running.get(key) === call) this.#running.delete(key);
      }),
    };
    this.#running.set(key, call);
    return call.result;
  }

  /** Aborts a running call; unknown and ended calls are ignored (spec §7.6). */
  cancel(call: ToolCallCancel): void {
    const { reason } = call;
    const why: AbortReason = reason === "timeout" || reason === "operator"
      ? reason
      : "cancelled"; // a Server passes on any other value
    this.#running.get(keyOf(call))?.abort.abort(why);
  }

  /** Aborts all running calls and forgets all results. */
  clear(): void {
    const calls = [...this.#running.values()];
    this.#running.clear();
    this.#ended.clear();
    for (const { abort } of calls) abort.abort("left" satisfies AbortReason);
  }
}

const keyOf = ({ agent, req_id }: AgentCallData): string =>
  JSON.stringify([agent, req_id]);

const reused = (reqId: string): ProtocolError =>
  new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `Cannot run call ${
      JSON.stringify(reqId)
    }: this req_id was used for another tool or other params; use a new one for each call`,
  );
