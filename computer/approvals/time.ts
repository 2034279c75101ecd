/**
 * The time of approvals: ticks, which prove that a device's answer is a recent one; and waiting for a change.
 *
 * @module
 */
import { randomBytes, toBase64url } from "../../shared/approvals/bytes.ts";
import { LIMITS } from "../../shared/approvals/question.ts";
import { limitTime } from "../../shared/deadlines.ts";

/** Returns milliseconds that never go back. */
export type Now = () => number;

/** More than a device can need within a minute. */
const MOST_TICKS = 256;

/** The ticks of one device: random values that the Computer gave it with the news of the last minute. */
export class Ticks {
  readonly #given = new Map<string, number>();

  /** Makes the next one. */
  give(now: number): string {
    const tick = toBase64url(randomBytes(16));
    this.#given.set(tick, now);
    for (const [old, at] of this.#given) {
      const isOver = this.#given.size > MOST_TICKS;
      if (now - at <= LIMITS.tickMs && !isOver) break; // the first is the oldest
      this.#given.delete(old);
    }
    return tick;
  }

  /** Whether this device got it within the last minute. */
  isFresh(tick: string, now: number): boolean {
    const at = this.#given.get(tick);
    return at !== undefined && now - at <= LIMITS.tickMs;
  }
}

/** Wakes those who wait for a change. */
export class Changes {
  #next = Promise.withResolvers<void>();

  /** Reports a change. */
  report(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** Resolves with the next change, or after a time. */
  async next(milliseconds: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const off = limitTime(milliseconds, resolve);
    await Promise.race([this.#next.promise, promise]);
    off();
  }
}
