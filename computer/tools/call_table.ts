import {
  type AgentCallData,
  type CallToolResult,
  ErrorCode,
  ProtocolError,
  type ToolCallReq,
} from "../../protocol/mod.ts";
import { callFingerprint } from "./call_fingerprint.ts";
import { ResultStore, type ResultStoreLimits } from "./result_store.ts";

/** Why a running call is given up. */
export type AbortReason = "cancelled" | "left";

/** One execution that any number of equal requests wait for. */
interface RunningCall {
  readonly fingerprint: string;
  readonly result: Promise<CallToolResult>;
  readonly abort: AbortController;
}

/** Results of the last calls; together with the running ones, what makes calls idempotent. */
const DEFAULT_LIMITS: ResultStoreLimits = { count: 1_000, bytes: 16 * 2 ** 20 };

/**
 * The tool calls of one office, running and ended, by Agent and `req_id` (spec §7.4, §7.6).
 *
 * Cleared when the Computer leaves the office.
 */
export class CallTable {
  readonly #running = new Map<string, RunningCall>();
  readonly #ended: ResultStore;

  /** Makes an empty table. */
  constructor(limits: ResultStoreLimits = DEFAULT_LIMITS) {
    this.#ended = new ResultStore(limits);
  }

  /** How many calls are running. */
  get running(): number {
    return this.#running.size;
  }

  /**
   * Executes a call once: an equal request shares the execution, or gets the stored result.
   *
   * @param execute gets a signal whose reason is an {@linkcode AbortReason}; must not throw for it
   * @throws {ProtocolError} 400 when the `req_id` stands for another tool or other params
   */
  run(
    request: ToolCallReq,
    execute: (signal: AbortSignal) => Promise<CallToolResult>,
  ): Promise<CallToolResult> {
    const key = keyOf(request);
    const fingerprint = callFingerprint(request);
    const running = this.#running.get(key);
    const known = running ?? this.#ended.get(key);
    if (known && known.fingerprint !== fingerprint) {
      return Promise.reject(reused(request.req_id));
    }
    if (known) return Promise.resolve(known.result);
    const abort = new AbortController();
    const call: RunningCall = {
      fingerprint,
      abort,
      result: execute(abort.signal).then((result) => {
        if (this.#running.get(key) === call) {
          this.#ended.add(key, { fingerprint, result });
        }
        return result;
      }).finally(() => {
        if (this.#running.get(key) === call) this.#running.delete(key);
      }),
    };
    this.#running.set(key, call);
    return call.result;
  }

  /** Gives a running call up; one that is unknown or has ended is ignored (spec §7.6). */
  cancel(call: AgentCallData): void {
    this.#running.get(keyOf(call))?.abort.abort(
      "cancelled" satisfies AbortReason,
    );
  }

  /** Gives every running call up and forgets all results. */
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
