// @ts-check
import { Histogram } from "./histogram.js";

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
