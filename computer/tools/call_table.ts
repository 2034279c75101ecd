/**
 * The table of calls, which makes them idempotent (spec §7.4): equal requests share one execution,
 * and the last results are kept within limits.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { type MeasuredResult, measureResult } from "./results.ts";
import {
  type AgentCallData,
  type CallToolResult,
  ErrorCode,
  ProtocolError,
  type ToolCallCancel,
  type ToolCallReq,
  toolErrorResult,
} from "../../protocol/mod.ts";

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

/** A text up to this length is used unhashed: hashing it would take longer than everything else. */
const MAX_UNHASHED_CHARACTERS = 512;

/**
 * Computes a short text that is equal for calls of the same tool with equal params; the order of
 * keys does not matter (spec §7.4).
 */
export function callFingerprint(
  { tool_name, params, request_state, input_responses }:
    & Pick<ToolCallReq, "tool_name" | "params">
    & Partial<Pick<ToolCallReq, "request_state" | "input_responses">>,
): string {
  const call = request_state === undefined
    ? [tool_name, params]
    : [tool_name, params, request_state, input_responses];
  const text = JSON.stringify(sorted(call)); // starts with a bracket; no hash does
  return text.length <= MAX_UNHASHED_CHARACTERS
    ? text
    : createHash("sha256").update(text).digest("base64");
}

/** Returns an equal value with the keys of all objects sorted. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
      .map(([key, item]) => [key, sorted(item)]),
  );
}

/** The limits of a {@linkcode ResultStore}. */
interface ResultStoreLimits {
  /** Number of results. */
  readonly count: number;
  /** Total bytes of the results as JSON. */
  readonly bytes: number;
}

/** A result as it was answered, and the call that it belongs to. */
interface StoredResult extends MeasuredResult {
  /** See `callFingerprint`. */
  readonly fingerprint: string;
}

/** Keeps the results of the last calls; over a limit, the oldest are shrunk or dropped first (spec §7.4). */
export class ResultStore {
  readonly #limits: ResultStoreLimits;
  readonly #entries = new Map<string, StoredResult & { counted: number }>();
  #bytes = 0;

  /** Creates an empty store. */
  constructor(limits: ResultStoreLimits) {
    this.#limits = limits;
  }

  /** Returns the result of a call, if it is still kept. */
  get(key: string): StoredResult | undefined {
    return this.#entries.get(key);
  }

  /** Adds a result; one that is too large is replaced with an error, so that its tool does not run again. */
  add(key: string, stored: StoredResult): void {
    const { bytes } = stored;
    this.#remove(key);
    this.#entries.set(key, { ...stored, counted: bytes });
    this.#bytes += bytes;
    if (bytes > this.#limits.bytes) this.#shrink(key);
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#limits.bytes) break;
      if (entry.counted > 0) this.#shrink(oldest);
    }
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.count) break;
      this.#remove(oldest);
    }
  }

  /** Forgets everything. */
  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #shrink(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    const { bytes, fingerprint } = entry;
    this.#bytes -= bytes;
    const measured = measureResult(notKept(bytes));
    this.#entries.set(key, { fingerprint, ...measured, counted: 0 });
  }

  #remove(key: string): void {
    this.#bytes -= this.#entries.get(key)?.counted ?? 0;
    this.#entries.delete(key);
  }
}

const notKept = (bytes: number): CallToolResult =>
  toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `The tool ran, and is not run again for the same req_id; its result of ${bytes} bytes was too large to keep`,
  );
