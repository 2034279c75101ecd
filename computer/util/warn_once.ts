import { log } from "./log.ts";

/** How many sentences are remembered; a hostile list of resources could have any number. */
const MOST = 1_000;

/** Logs what is odd, once: a desktop is organized again and again, and its resources stay odd. */
export class WarnOnce {
  readonly #said = new Set<string>();

  /** Logs those sentences that are new. */
  warn(warnings: readonly string[]): void {
    for (const warning of warnings) {
      if (this.#said.has(warning)) continue;
      if (this.#said.size >= MOST) this.#said.clear();
      this.#said.add(warning);
      log.warn("{warning}", { warning });
    }
  }
}
