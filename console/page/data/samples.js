// @ts-check
import { KEPT_SECONDS } from "./seconds.js";

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
