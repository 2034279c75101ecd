/**
 * The table of calls, which makes them idempotent (spec §7.4): equal requests share one execution,
 * and the last results are kept within limits.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { failed, type MeasuredResult, measureResult } from "./results.ts";
import {
  type AgentCallData,
  ErrorCode,
  ProtocolError,
  type ToolCallCancel,
  type ToolCallReq,
} from "../../protocol/mod.ts";

/** Why a running call is aborted: it was cancelled, for what reason, or the Computer left the office. */
export type AbortReason =
  | "cancelled"
  | "left"
  | NonNullable<ToolCallCancel["reason"]>;

/** One execution, shared by any number of equal requests. */
interface Execution {
  readonly fingerprint: string;
  readonly result: Promise<MeasuredResult>;
}

/** How many results are kept, and how many bytes they have as JSON in all. */
const MAX_RESULTS = 1_000;
const MAX_BYTES = 16 * 2 ** 20;

/**
 * Keeps the running and ended tool calls of one office by Agent and `req_id`, which makes calls
 * idempotent (spec §7.4, §7.6). Over a limit, the oldest results are shrunk or dropped first.
 *
 * Must be cleared when the Computer leaves the office.
 */
export class CallTable {
  readonly #running = new Map<
    string,
    Execution & { readonly abort: AbortController }
  >();
  readonly #ended = new Map<string, Execution & { readonly bytes: number }>();
  /** Of the results that are kept. */
  #bytes = 0;

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
  async run(
    request: ToolCallReq,
    execute: (signal: AbortSignal) => Promise<MeasuredResult>,
  ): Promise<MeasuredResult> {
    const key = keyOf(request);
    const fingerprint = callFingerprint(request);
    const known = this.#running.get(key) ?? this.#ended.get(key);
    if (known && known.fingerprint !== fingerprint) {
      const id = JSON.stringify(request.req_id);
      throw new ProtocolError(
        ErrorCode.BAD_REQUEST,
        `Cannot run call ${id}: this req_id was used for another tool or other params; use a new one for each call`,
      );
    }
    if (known) return await known.result;
    const abort = new AbortController();
    const call = { fingerprint, abort, result: execute(abort.signal) };
    this.#running.set(key, call);
    const isForgotten = () => this.#running.get(key) !== call;
    try {
      const measured = await call.result;
      if (!isForgotten()) this.#keep(key, call, measured.bytes);
      return measured;
    } finally {
      if (!isForgotten()) this.#running.delete(key);
    }
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
    this.#bytes = 0;
    for (const { abort } of calls) abort.abort("left" satisfies AbortReason);
  }

  /** Keeps a result; one that is too large is replaced with an error, so that its tool does not run again. */
  #keep(key: string, { fingerprint, result }: Execution, bytes: number): void {
    this.#ended.set(key, { fingerprint, result, bytes });
    this.#bytes += bytes;
    if (bytes > MAX_BYTES) this.#shrink(key);
    for (const oldest of this.#ended.keys()) {
      if (this.#bytes <= MAX_BYTES) break;
      this.#shrink(oldest);
    }
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= MAX_RESULTS) break;
      this.#bytes -= this.#ended.get(oldest)?.bytes ?? 0;
      this.#ended.delete(oldest);
    }
  }

  #shrink(key: string): void {
    const { fingerprint, bytes = 0 } = this.#ended.get(key) ?? {};
    if (fingerprint === undefined || bytes === 0) return;
    this.#bytes -= bytes;
    const error = failed(
      `The tool ran, and is not run again for the same req_id; its result of ${bytes} bytes was too large to keep`,
    );
    const result = Promise.resolve(measureResult(error));
    this.#ended.set(key, { fingerprint, result, bytes: 0 });
  }
}

const keyOf = ({ agent, req_id }: AgentCallData): string =>
  JSON.stringify([agent, req_id]);

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
