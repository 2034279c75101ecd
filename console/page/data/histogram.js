// @ts-check

/** Buckets; the last has all that is longer than 25 minutes. */
const BUCKETS = 200;
/** How many buckets a duration passes until it is twice as long: each is 9 % wider than the one before. */
const PER_DOUBLING = 8;
/** The durations of the first bucket, in milliseconds. */
const LEAST_MS = 0.05;

/** Counts durations in a small space: what it says of them is off by at most 5 %. */
export class Histogram {
  #counts = new Uint32Array(BUCKETS);
  /** How many were counted. */
  count = 0;

  /** @param {number} ms */
  add(ms) {
    const doublings = Math.log2(Math.max(ms, LEAST_MS) / LEAST_MS);
    const bucket = Math.min(BUCKETS - 1, Math.floor(doublings * PER_DOUBLING));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.count++;
  }

  /**
   * Returns the duration that a part of all does not exceed.
   *
   * @param {number} part such as 0.99
   * @returns {number | undefined} in milliseconds; `undefined` when nothing was counted
   */
  quantile(part) {
    if (this.count === 0) return undefined;
    let left = part * this.count;
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return LEAST_MS * 2 ** ((bucket + 0.5) / PER_DOUBLING);
    }
    return undefined;
  }
}
