// @ts-check
/// <reference lib="dom" />
import { h, svg } from "../kit/element.js";
import { tile } from "../kit/parts.js";

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

/**
 * Draws the calls of the last minutes; those that failed in another colour.
 *
 * @param {readonly Bar[]} bars oldest first
 */
export function sparkline(bars) {
  const most = Math.max(1, ...bars.map(({ calls }) => calls));
  /** Even one is seen. @param {(bar: Bar) => number} of @param {number} least */
  const path = (of, least) =>
    bars.map((bar, i) => {
      const height = Math.max(
        of(bar) && least,
        Math.round(22 * of(bar) / most),
      );
      return height === 0 ? "" : `M${2 * i} 24v-${height}h1.5v${height}z`;
    }).join("");
  const { calls, failed } = totalOf(bars);
  const count = calls === 0
    ? "no call"
    : calls === 1
    ? "1 call"
    : `${calls} calls`;
  return svg(
    "svg",
    {
      class: "spark",
      viewBox: `0 0 ${2 * bars.length} 24`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `${count} in the last ${PULSE_MINUTES} minutes${
        failed > 0 ? `, ${failed} failed` : ""
      }`,
    },
    svg("path", { class: "calls", d: path((bar) => bar.calls, 2) }),
    svg("path", { class: "failed", d: path((bar) => bar.failed, 5) }),
  );
}

/** @param {readonly Bar[]} bars */
const totalOf = (bars) => ({
  calls: bars.reduce((all, { calls }) => all + calls, 0),
  failed: bars.reduce((all, { failed }) => all + failed, 0),
});

/**
 * Makes the figures of the last minutes.
 *
 * @param {readonly Bar[]} bars oldest first
 */
export function pulseTiles(bars) {
  const { calls, failed } = totalOf(bars);
  return [
    tile(`Calls in ${PULSE_MINUTES} min`, calls, sparkline(bars)),
    tile(
      `Failures in ${PULSE_MINUTES} min`,
      h("span", { class: failed > 0 ? "bad" : "" }, failed),
    ),
  ];
}
