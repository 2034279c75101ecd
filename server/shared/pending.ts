/**
 * The clocks of this process, lists of pending work, and token buckets.
 *
 * @module
 */
import { swapRemove } from "../../shared/deadlines.ts";

/** The clocks of this process, both in milliseconds: a monotonic one, and that since 1970. */
export const CLOCK: Readonly<Record<"now" | "date", () => number>> = {
  now: () => performance.now(),
  date: () => Date.now(),
};

/** Removes an item, if it is there, by linear search: the lists are short. */
export function removeItem<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) swapRemove(list, at);
}

/**
 * Limits a rate per second; after an idle second, a burst of the same number is allowed. The caller
 * provides the clock.
 */
export class TokenBucket {
  readonly #perSecond: number;
  #tokens: number;
  #filledAt: number;

  /**
   * @param perSecond at least 1; `Infinity` allows everything
   * @param now milliseconds of a monotonic clock
   */
  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond;
    this.#filledAt = now;
  }

  /** Takes a token; returns whether there was one. */
  take(now: number): boolean {
    if (this.#perSecond === Infinity) return true;
    const earned = (now - this.#filledAt) / 1000 * this.#perSecond;
    this.#tokens = Math.min(this.#perSecond, this.#tokens + earned);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
