import {
  type CallToolResult,
  ErrorCode,
  toolErrorResult,
} from "../../protocol/mod.ts";
import { type MeasuredResult, measureResult } from "./answer_limits.ts";

/** The limits of a {@linkcode ResultStore}. */
export interface ResultStoreLimits {
  /** Number of results. */
  readonly count: number;
  /** Total bytes of the results as JSON. */
  readonly bytes: number;
}

/** A result as it was answered, and the call that it belongs to. */
export interface StoredResult extends MeasuredResult {
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
