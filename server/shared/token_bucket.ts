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
