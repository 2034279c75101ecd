/** Milliseconds between two lines about the same thing. */
const QUIET = 10_000;

/** So many things are remembered each for itself; what comes beyond them shares the lines of one. */
const REMEMBERED = 1000;

/** The last line about something, and how many were left out since. */
interface Line {
  readonly at: number;
  omitted: number;
}

/**
 * Keeps floods out of a log: one line about a thing in ten seconds, which says how many were left
 * out before it. However many things there are, no more than a thousand lines come in that time.
 *
 * Pure but for its own memory: the caller brings the clock.
 */
export class LineLimit {
  readonly #lines = new Map<string, Line>();

  /**
   * Decides about one line.
   *
   * @param thing what the line is about
   * @param now milliseconds of a clock that never goes back
   * @returns how many were left out since the last one, or `undefined`: this one is left out too
   */
  take(thing: string, now: number): number | undefined {
    const key = this.#keyOf(thing, now);
    const last = this.#lines.get(key);
    if (last !== undefined && now - last.at < QUIET) {
      last.omitted++;
      return undefined;
    }
    this.#lines.delete(key); // the map is in the order of its lines
    this.#lines.set(key, { at: now, omitted: 0 });
    return last?.omitted ?? 0;
  }

  /** The thing itself, or what stands for all that can not be remembered. */
  #keyOf(thing: string, now: number): string {
    if (this.#lines.has(thing) || this.#lines.size < REMEMBERED) return thing;
    for (const [known, { at }] of this.#lines) {
      if (now - at < QUIET) break;
      this.#lines.delete(known);
    }
    return this.#lines.size < REMEMBERED ? thing : OTHERS;
  }
}

const OTHERS = "others";
