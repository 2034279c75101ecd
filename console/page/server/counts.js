// @ts-check

/** How many seconds are kept. */
export const KEPT_SECONDS = 600;

/**
 * What happened in one second.
 * @typedef {object} Second
 * @property {number} at its number since 1970
 * @property {number} calls that ended in it
 * @property {Map<string, number>} errors how many ended with each outcome but `ok`
 * @property {Histogram} latencies
 */

/** Counts calls by the seconds in which they ended. */
export class Seconds {
  /** Those with calls in them, oldest first. @type {Second[]} */
  all = [];

  /**
   * @param {number} at in milliseconds since 1970
   * @param {number} ms
   * @param {string} outcome
   */
  add(at, ms, outcome) {
    const second = this.#of(Math.floor(at / 1000));
    second.calls++;
    second.latencies.add(ms);
    if (outcome === "ok") return;
    second.errors.set(outcome, (second.errors.get(outcome) ?? 0) + 1);
  }

  /** @param {number} at */
  #of(at) {
    // Almost always the last; a clock may have gone back.
    const known = this.all.findLast((each) => each.at === at);
    if (known) return known;
    const latencies = new Histogram();
    const second = { at, calls: 0, errors: new Map(), latencies };
    keep(this.all, second);
    return second;
  }
}

/**
 * Adds what was so in a second, and drops what is too old.
 *
 * @template {{ at: number }} Item
 * @param {Item[]} list oldest first
 * @param {Item} item
 */
export function keep(list, item) {
  list.push(item);
  while ((list[0]?.at ?? item.at) <= item.at - KEPT_SECONDS) list.shift();
}

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
