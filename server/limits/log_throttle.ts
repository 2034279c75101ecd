/** Milliseconds between two lines about the same subject. */
const SUMMARY_INTERVAL_MS = 10_000;

/** The number of subjects that are tracked separately; all others share one entry. */
const MAX_TRACKED_KEYS = 1000;

/** The last line about a subject, and what was omitted since. */
interface Line<T> {
  readonly at: number;
  omitted: number;
  /** The last omitted item. */
  last: T | undefined;
}

/**
 * Keeps floods out of a log: writes one line per subject in ten seconds, with the number of lines
 * omitted before it.
 *
 * At most a thousand subjects are written in that time, and as many summaries of subjects that are
 * forgotten; every line is counted in one of them. The caller provides the clock.
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
   * @param subject what the line is about
   * @param now milliseconds of a monotonic clock
   * @returns whether it was written
   */
  take(subject: string, item: T, now: number): boolean {
    const key = this.#keyOf(subject, now);
    const line = this.#lines.get(key);
    if (line !== undefined && now - line.at < SUMMARY_INTERVAL_MS) {
      line.omitted++;
      line.last = item;
      return false;
    }
    this.#lines.delete(key); // keeps the map in the order of the last lines
    this.#lines.set(key, { at: now, omitted: 0, last: undefined });
    this.#write(item, line?.omitted ?? 0);
    return true;
  }

  /** Writes summaries of all omitted lines: the last line about each subject, and the number of the others. */
  flush(): void {
    for (const line of this.#lines.values()) this.#summarize(line);
    this.#lines.clear();
  }

  /** Returns the subject, or the shared key when too many subjects are tracked. */
  #keyOf(subject: string, now: number): string {
    if (this.#lines.has(subject) || this.#lines.size < MAX_TRACKED_KEYS) {
      return subject;
    }
    for (const [known, line] of this.#lines) {
      if (now - line.at < SUMMARY_INTERVAL_MS) break;
      this.#lines.delete(known);
      this.#summarize(line);
    }
    return this.#lines.size < MAX_TRACKED_KEYS ? subject : OTHERS_KEY;
  }

  #summarize({ last, omitted }: Line<T>): void {
    if (last !== undefined) this.#write(last, omitted - 1);
  }
}

const OTHERS_KEY = "others";
