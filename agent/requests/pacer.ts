import { onAbort, sleep } from "../../shared/async.ts";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";

/** Share of the Server's rate to use: cancellations count too, and clocks differ. */
const RATE_SHARE = 0.9;
/** After this long without a request the Server allows a burst again. */
const RECOVERED_MS = 1_000;
/** Delay before another attempt if a refusal names none. */
const DEFAULT_RETRY_MS = 100;

/** A refusal of a request that did not run and can be sent again (spec §10). */
export interface Refusal {
  /** The error as received. */
  readonly error: ProtocolError;
  /** Milliseconds to wait before another attempt. */
  readonly retryInMs: number;
}

/** Reads a refusal of a request that did not run; `undefined` for every other failure. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (
    !(error instanceof ProtocolError) ||
    error.code !== ErrorCode.TOO_MANY_REQUESTS || error.details?.ran !== false
  ) return undefined;
  const { retry_in_ms } = error.details;
  const retryInMs = isPositive(retry_in_ms) ? retry_in_ms : DEFAULT_RETRY_MS;
  return { error, retryInMs };
}

/**
 * Keeps an Agent's requests below the limits of its Server: requests are sent at once until the
 * Server refuses one and names a limit; from then on they are sent in order, at that rate.
 */
export class Pacer {
  /** The latest refusal, the reason why requests wait. */
  last: Refusal | undefined;
  /** Milliseconds between two requests; 0 while no rate is known. */
  #gapMs = 0;
  /** When the next request may be sent. */
  #nextAt = 0;
  #maxRunning = Infinity;
  #running = 0;
  readonly #waiting = new Set<() => void>();

  /** Takes a turn if one is free at once; release it with `done`. */
  tryTurn(): boolean {
    if (this.#gapMs > 0 || this.#running >= this.#maxRunning) return false;
    this.#running++;
    return true;
  }

  /** Waits for a turn; release it with `done`. */
  async turn(signal: AbortSignal): Promise<void> {
    while (this.#running >= this.#maxRunning) await this.#slot(signal);
    this.#running++;
    const ms = this.#book(performance.now());
    if (ms < 1) return; // below the resolution of timers
    try {
      await sleep(ms, signal);
    } catch (error) {
      this.done();
      throw error;
    }
  }

  /** Releases a turn after its request ended. */
  done(): void {
    this.#running--;
    const [next] = this.#waiting;
    if (next === undefined || this.#running >= this.#maxRunning) return;
    this.#waiting.delete(next);
    next();
  }

  /** Adapts the rate to a refusal. */
  learn(refusal: Refusal): void {
    this.last = refusal;
    const { limit, max } = refusal.error.fields;
    if (!isPositive(max)) return;
    if (limit === "events_per_second") {
      this.#gapMs = 1000 / (max * RATE_SHARE);
      const free = performance.now() + refusal.retryInMs;
      this.#nextAt = Math.max(this.#nextAt, free);
    } else if (limit === "calls_per_agent") {
      this.#maxRunning = max;
    }
  }

  /** Reserves the next turn, and returns the milliseconds until it. */
  #book(now: number): number {
    if (now - this.#nextAt > RECOVERED_MS) {
      this.#gapMs = 0;
      return 0;
    }
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + this.#gapMs;
    return at - now;
  }

  /** Waits until fewer requests are pending than the limit allows. */
  #slot(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const off = onAbort(signal, () => {
        this.#waiting.delete(go);
        reject(signal.reason);
      });
      const go = () => {
        off();
        resolve();
      };
      this.#waiting.add(go);
    });
  }
}

const isPositive = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value) && value > 0;
