import type { CallToolResult } from "../protocol/mod.ts";
import { jsonBytes } from "../protocol/client/json_bytes.ts";

/** How much a {@linkcode ResultStore} keeps. */
export interface ResultStoreLimits {
  /** How many results. */
  readonly count: number;
  /** Bytes of all of them, as JSON. */
  readonly bytes: number;
}

/** A result and the call that it belongs to. */
export interface StoredResult {
  /** See `callFingerprint`. */
  readonly fingerprint: string;
  /** As it was answered. */
  readonly result: CallToolResult;
}

/** Keeps the results of the last calls within bounds, the oldest going first (spec §7.4). */
export class ResultStore {
  readonly #limits: ResultStoreLimits;
  readonly #entries = new Map<string, StoredResult & { bytes: number }>();
  #bytes = 0;

  /** Makes an empty store. */
  constructor(limits: ResultStoreLimits) {
    this.#limits = limits;
  }

  /** The result of a call, while it is kept. */
  get(key: string): StoredResult | undefined {
    return this.#entries.get(key);
  }

  /** Keeps a result; one that is larger than the whole store is not kept. */
  add(key: string, stored: StoredResult): void {
    const bytes = jsonBytes(stored.result);
    if (bytes > this.#limits.bytes) return;
    this.#remove(key);
    this.#entries.set(key, { ...stored, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      const fits = this.#entries.size <= this.#limits.count &&
        this.#bytes <= this.#limits.bytes;
      if (fits) break;
      this.#remove(oldest);
    }
  }

  /** Forgets everything. */
  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #remove(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}
