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
