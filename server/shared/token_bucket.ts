/**
 * Allows a number of things per second, and as many at once when none came for a second.
 *
 * Pure but for its own two numbers: the caller brings the clock.
 */
export class TokenBucket {
  readonly #perSecond: number;
  #tokens: number;
  #filledAt: number;

  /**
   * @param perSecond at least 1; `Infinity` allows everything
   * @param now milliseconds of a clock that never goes back
   */
  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond;
    this.#filledAt = now;
  }

  /** Takes one if there is one; tells whether there was. */
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
