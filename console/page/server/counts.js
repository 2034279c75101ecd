// @ts-check
/** @import { LogEvent } from "./events.js" */

/** How long one bar is. */
const BAR_MS = 5000;
/** How many bars there are. */
const BARS = 60;

/** How many minutes a pulse shows. */
export const PULSE_MINUTES = BARS * BAR_MS / 60_000;

/**
 * The calls that ended in the time of one bar.
 * @typedef {{ calls: number, failed: number }} Bar
 */

/** Counts the calls of the last minutes in a small space, so that each office may have one. */
export class Pulse {
  /** Each replaces one that is too old. @type {(Bar & { number: number })[]} */
  #bars = [];
  /** The number of the newest bar: the clock of a Server may be ahead of that of the page. */
  #newest = 0;
  /** The last event. @type {LogEvent | undefined} */
  last;

  /**
   * @param {number} at milliseconds since 1970
   * @param {boolean} hasFailed
   */
  add(at, hasFailed) {
    const number = this.#moveTo(at);
    let bar = this.#bars[number % BARS];
    if (!bar || bar.number < number) {
      bar = this.#bars[number % BARS] = { number, calls: 0, failed: 0 };
    }
    if (bar.number > number) return; // a clock has gone back
    bar.calls++;
    if (hasFailed) bar.failed++;
  }

  /**
   * Returns the bars, oldest first.
   *
   * @param {number} now milliseconds since 1970
   * @returns {Bar[]}
   */
  bars(now) {
    this.#moveTo(now);
    const first = this.#newest - BARS + 1;
    return Array.from({ length: BARS }, (_, i) => {
      const bar = this.#bars[(first + i) % BARS];
      return bar?.number === first + i ? bar : { calls: 0, failed: 0 };
    });
  }

  /** Returns the number of the bar of a time. @param {number} at */
  #moveTo(at) {
    const number = Math.floor(at / BAR_MS);
    this.#newest = Math.max(this.#newest, number);
    return number;
  }
}

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
 * Adds the sample of a second, and drops those that are too old.
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

/** Counts durations in little memory: quantiles are off by at most 5 %. */
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

const MINUTE = 60;

/**
 * Returns the marks of an axis of values from 0: two to four steps of 1, 2 or 5 times a power of ten.
 *
 * @param {number} most the value that they reach at least
 * @returns {number[]}
 */
export function ticksTo(most) {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = power *
    ([1, 2, 5].find((each) => 4 * each * power >= most) ?? 10);
  return Array.from(
    { length: Math.ceil(most / step) + 1 },
    (_, i) => Number((i * step).toPrecision(6)),
  );
}

/**
 * Returns the marks of an axis of time: the beginnings of minutes.
 *
 * @param {number} from its first second since 1970
 * @param {number} to its last
 * @returns {number[]}
 */
export function minutesOf(from, to) {
  const first = Math.ceil(from / MINUTE) * MINUTE;
  return Array.from(
    { length: Math.max(0, Math.floor((to - first) / MINUTE) + 1) },
    (_, i) => first + i * MINUTE,
  );
}
