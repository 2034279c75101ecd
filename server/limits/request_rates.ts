import { TokenBucket } from "../shared/pending.ts";
import type { Limits } from "./limits.ts";

/** After this time without a request there is nothing to know of a client: its bucket is full again. */
const FORGET_MS = 1000;

interface Client {
  readonly bucket: TokenBucket;
  open: number;
  usedAt: number;
}

/**
 * Limits the HTTP requests of each client of a gateway: how many come in a second, and how many are
 * open at once.
 */
export class RequestRates {
  readonly #limits: Pick<Limits, "eventsPerSecond" | "callsPerAgent">;
  readonly #clients = new Map<string, Client>();
  #sweptAt = -Infinity;

  /** Applies the limits that an Agent of its own would have. */
  constructor(limits: Pick<Limits, "eventsPerSecond" | "callsPerAgent">) {
    this.#limits = limits;
  }

  /** How many clients are remembered. */
  get size(): number {
    return this.#clients.size;
  }

  /**
   * Admits a request.
   *
   * @param client its principal, or its address where nobody has to say who it is
   * @param now milliseconds of a monotonic clock
   * @returns what to call when it has ended, or the limit that it exceeds
   */
  take(
    client: string,
    now: number,
  ): (() => void) | "eventsPerSecond" | "callsPerAgent" {
    this.#sweep(now);
    const { eventsPerSecond, callsPerAgent } = this.#limits;
    let known = this.#clients.get(client);
    if (known === undefined) {
      const bucket = new TokenBucket(eventsPerSecond, now);
      known = { bucket, open: 0, usedAt: now };
      this.#clients.set(client, known);
    }
    const entry = known;
    entry.usedAt = now;
    if (!entry.bucket.take(now)) return "eventsPerSecond";
    if (entry.open >= callsPerAgent) return "callsPerAgent";
    entry.open++;
    return () => void entry.open--;
  }

  #sweep(now: number): void {
    if (now - this.#sweptAt < FORGET_MS) return;
    this.#sweptAt = now;
    for (const [client, { open, usedAt }] of this.#clients) {
      if (open === 0 && now - usedAt >= FORGET_MS) this.#clients.delete(client);
    }
  }
}
