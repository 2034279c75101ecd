/**
 * The turn of a client's request.
 *
 * All clients of an office share one Agent, whose Server limits calls a second and calls at once. A
 * request is admitted, waits in the queue for its turn, and is then sent under the `req_id` that was
 * admitted.
 *
 * @module
 */
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import type { Admitted, McpCall, ResolvedOptions } from "../options.ts";
import { onAbort } from "../../shared/async.ts";

/** One request of a client, which waits for its turn among all requests of the seat. */
export interface Turn {
  /** Gives the request up. */
  readonly signal: AbortSignal;
  /**
   * Makes the Agent's request for it, when it is admitted and has its turn.
   *
   * @param work sends it under the `req_id` that was admitted
   * @throws what refuses it, the signal's reason, or what the work throws
   */
  run<T>(
    subject: Pick<McpCall, "computer" | "tool" | "uri" | "prompt">,
    work: (request: { signal: AbortSignal; reqId: string }) => Promise<T>,
  ): Promise<T>;
}

/** What the turns of requests depend on. */
export interface TurnParts {
  /** The turns of all requests of the seat. */
  readonly queue: CallQueue;
  /** Who decides whether a request may be made. */
  readonly options: Pick<ResolvedOptions, "admit">;
  /** Gives the signal that cancels whatever a server does now; absent where the requests' own do. */
  readonly cancelled?: () => AbortSignal;
}

/** Returns the turn of a request. */
export function turnOf(
  server: Server,
  { mcpReq, http }: ServerContext,
  { queue, options, cancelled }: TurnParts,
): Turn {
  const principal = http?.authInfo?.clientId;
  const { name, version } = server.getClientVersion() ?? {};
  const signal = cancelled
    ? AbortSignal.any([mcpReq.signal, cancelled()])
    : mcpReq.signal;
  return {
    signal,
    run: async (subject, work) => {
      const reqId = crypto.randomUUID();
      const ended: Admitted = await options.admit?.({
        reqId,
        ...subject,
        ...(principal !== undefined && { principal }),
        ...(name !== undefined && version !== undefined &&
          { client: { name, version } }),
      });
      try {
        return await queue.run(() => work({ signal, reqId }), signal);
      } finally {
        ended?.();
      }
    },
  };
}

/** What a queue needs of the world. */
export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Runs a function later; returns what prevents it. */
  after(ms: number, run: () => void): () => void;
}

/** What may run. */
interface CallLimits {
  /** The most that begin in a second, and how many may begin at once. */
  readonly perSecond: number;
  /** The most that run at once. */
  readonly running: number;
}

/**
 * Lets calls begin in their order, as many as the limits of the Agent's seat allow: all clients
 * share that seat, and a refused call helps none of them.
 */
export class CallQueue {
  readonly #limits: CallLimits;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #running = 0;
  /** How many may begin now. */
  #allowance: number;
  #allowedAt: number;
  #stopTimer: (() => void) | undefined;

  constructor(limits: CallLimits, clock: Clock = systemClock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#allowance = limits.perSecond;
    this.#allowedAt = clock.now();
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Runs work in its turn.
   *
   * @throws the signal's reason, as soon as that is aborted while the work waits
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turn(signal);
    try {
      return await work();
    } finally {
      this.#running--;
      this.#next();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const off = onAbort(signal, () => {
        this.#waiting.delete(begin);
        this.#next();
        reject(signal.reason);
      });
      const begin = () => {
        off();
        resolve();
      };
      this.#waiting.add(begin);
      this.#next();
    });
  }

  #next(): void {
    const { perSecond, running } = this.#limits;
    this.#refill();
    for (const begin of this.#waiting) {
      if (this.#running >= running) return; // the end of a call goes on
      if (this.#allowance < 1) {
        const ms = Math.ceil((1 - this.#allowance) * 1000 / perSecond);
        this.#stopTimer ??= this.#clock.after(ms, () => {
          this.#stopTimer = undefined;
          this.#next();
        });
        return;
      }
      this.#waiting.delete(begin);
      this.#allowance--;
      this.#running++;
      begin();
    }
    this.#stopTimer?.(); // nobody waits for it any more
    this.#stopTimer = undefined;
  }

  #refill(): void {
    const { perSecond } = this.#limits;
    if (perSecond === Infinity) return; // Infinity times no time at all is NaN
    const now = this.#clock.now();
    const earned = (now - this.#allowedAt) * perSecond / 1000;
    this.#allowance = Math.min(perSecond, this.#allowance + earned);
    this.#allowedAt = now;
  }
}

const systemClock: Clock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
