/** Milliseconds between two lines about the same subject. */
const SUMMARY_INTERVAL_MS = 10_000;

/** The number of subjects that are tracked separately; all others share one entry. */
const MAX_TRACKED_KEYS = 1000;

/** The last line about something, and what was left out since. */
interface Line<T> {
  readonly at: number;
  omitted: number;
  /** The last of those. */
  last: T | undefined;
}

/**
 * Keeps floods out of a log: one line about a thing in ten seconds, which says how many were left
 * out before it. However many things there are, no more than a thousand lines come in that time,
 * and as many for what was left out of things that nobody hears of any more: all are counted.
 *
 * Pure but for its own memory: the caller brings the clock.
 */
export class LogThrottle<T> {
  readonly #write: (item: T, omitted: number) => void;
  readonly #lines = new Map<string, Line<T>>();

  /** @param write writes a line with the number of lines omitted before it */
  constructor(write: (item: T, omitted: number) => void) {
    this.#write = write;
  }

  /**
   * Writes a line, or omits it.
   *
   * @param thing what the line is about
   * @param now milliseconds of a clock that never goes back
   * @returns whether it was written
   */
  take(thing: string, item: T, now: number): boolean {
    const key = this.#keyOf(thing, now);
    const line = this.#lines.get(key);
    if (line !== undefined && now - line.at < SUMMARY_INTERVAL_MS) {
      line.omitted++;
      line.last = item;
      return false;
    }
    this.#lines.delete(key); // the map is in the order of its lines
    this.#lines.set(key, { at: now, omitted: 0, last: undefined });
    this.#write(item, line?.omitted ?? 0);
    return true;
  }

  /** Writes what was left out and not told yet: the last line about each thing, and the number of the others. */
  flush(): void {
    for (const line of this.#lines.values()) this.#tell(line);
    this.#lines.clear();
  }

  /** The thing itself, or what stands for all that cannot be remembered. */
  #keyOf(thing: string, now: number): string {
    if (this.#lines.has(thing) || this.#lines.size < MAX_TRACKED_KEYS) {
      return thing;
    }
    for (const [known, line] of this.#lines) {
      if (now - line.at < SUMMARY_INTERVAL_MS) break;
      this.#lines.delete(known);
      this.#tell(line);
    }
    return this.#lines.size < MAX_TRACKED_KEYS ? thing : OTHERS_KEY;
  }

  #tell({ last, omitted }: Line<T>): void {
    if (last !== undefined) this.#write(last, omitted - 1);
  }
}

const OTHERS_KEY = "others";
