import { log } from "./log.ts";

/** How many warnings are remembered; a hostile list of resources could cause any number. */
const MAX_REMEMBERED = 1_000;

/** Logs each warning once: a desktop is organized again and again from the same invalid resources. */
export class WarnOnce {
  readonly #logged = new Set<string>();

  /** Logs the warnings that were not logged before. */
  warn(warnings: readonly string[]): void {
    for (const warning of warnings) {
      if (this.#logged.has(warning)) continue;
      if (this.#logged.size >= MAX_REMEMBERED) this.#logged.clear();
      this.#logged.add(warning);
      log.warn("{warning}", { warning });
    }
  }
}
