// @ts-check

/** How long one bar is. */
const BAR_MS = 5000;
/** How many bars there are. */
const BARS = 60;

/** How many minutes a pulse shows. */
export const PULSE_MINUTES = BARS * BAR_MS / 60_000;

/**
 * An event of the stream; its key numbers the events of this page.
 * @typedef {{ key: number, at: number, event: string, data: Readonly<Record<string, any>> }} LogEvent
 *
 * The calls that ended in the time of one bar.
 * @typedef {{ calls: number, failed: number }} Bar
 */

/** Counts the calls of the last minutes in a small space, so that each office may have one. */
export class Pulse {
  #calls = new Uint32Array(BARS);
  #failed = new Uint32Array(BARS);
  #newest = 0;
  /** The last event. @type {LogEvent | undefined} */
  last;

  /**
   * @param {number} at milliseconds since 1970
   * @param {boolean} hasFailed
   */
  add(at, hasFailed) {
    const bar = this.#moveTo(at);
    if (bar <= this.#newest - BARS) return; // a clock has gone back
    const slot = bar % BARS;
    this.#calls[slot] = (this.#calls[slot] ?? 0) + 1;
    if (hasFailed) this.#failed[slot] = (this.#failed[slot] ?? 0) + 1;
  }

  /**
   * Returns the bars, oldest first.
   *
   * @param {number} now milliseconds since 1970
   * @returns {Bar[]}
   */
  bars(now) {
    this.#moveTo(now);
    return Array.from({ length: BARS }, (_, i) => {
      const slot = (this.#newest + 1 + i) % BARS;
      return { calls: this.#calls[slot] ?? 0, failed: this.#failed[slot] ?? 0 };
    });
  }

  /** @param {number} at */
  #moveTo(at) {
    const bar = Math.floor(at / BAR_MS);
    for (
      let next = Math.max(this.#newest, bar - BARS) + 1;
      next <= bar;
      next++
    ) {
      this.#calls[next % BARS] = 0;
      this.#failed[next % BARS] = 0;
    }
    this.#newest = Math.max(this.#newest, bar);
    return bar;
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
  /** @type {Second[]} */
  #seconds = [];

  /** Those with calls in them, oldest first. @returns {readonly Second[]} */
  get all() {
    return this.#seconds;
  }

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
    const known = this.#seconds.findLast((each) => each.at === at);
    if (known) return known;
    const second = {
      at,
      calls: 0,
      errors: new Map(),
      latencies: new Histogram(),
    };
    this.#seconds.push(second);
    while ((this.#seconds[0]?.at ?? at) <= at - KEPT_SECONDS) {
      this.#seconds.shift();
    }
    return second;
  }
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

/**
 * The state of a process in one second.
 * @typedef {{ at: number, queued: number, memory: number, heap: number }} Sample
 */

/** Keeps what the process said of itself, as long as the page is open. */
export class Samples {
  /** @type {Sample[]} */
  #samples = [];

  /** Oldest first. @returns {readonly Sample[]} */
  get all() {
    return this.#samples;
  }

  /** @param {{ queued_bytes: number, memory_bytes: number, heap_bytes: number }} process */
  add({ queued_bytes: queued, memory_bytes: memory, heap_bytes: heap }) {
    const at = Math.floor(Date.now() / 1000);
    this.#samples.push({ at, queued, memory, heap });
    while ((this.#samples[0]?.at ?? at) <= at - KEPT_SECONDS) {
      this.#samples.shift();
    }
  }
}
