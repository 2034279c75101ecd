/** A value, and its latest use. */
interface Entry<T> {
  readonly value: T;
  /** The number of uses of all values before it. */
  usedAt: number;
}

/**
 * Values by key, of which the one that is unused longest gives way to another one.
 *
 * A use is stamped and moves nothing, since a `Map` whose entries come and go with each request leaves all
 * of its old tables to the garbage collector.
 */
export class UseTable<T> {
  readonly #entries = new Map<string, Entry<T>>();
  #uses = 0;

  /** How many values it has. */
  get size(): number {
    return this.#entries.size;
  }

  /** The keys and values; those that were used longest ago come first. */
  get all(): [key: string, value: T][] {
    return [...this.#entries]
      .sort(([, a], [, b]) => a.usedAt - b.usedAt)
      .map(([key, { value }]) => [key, value]);
  }

  /** Gets a value. */
  get(key: string): T | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Gets a value, which counts as used by that. */
  use(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.usedAt = ++this.#uses;
    return entry.value;
  }

  /** Adds a value, which counts as used by that. */
  set(key: string, value: T): void {
    this.#entries.set(key, { value, usedAt: ++this.#uses });
  }

  /** Removes a value. */
  delete(key: string): void {
    this.#entries.delete(key);
  }

  /**
   * Drops the idle value that was used longest ago, where another one has no room.
   *
   * @returns whether it has room now: it has none where all are in use
   */
  makeRoom(
    most: number,
    isIdle: (value: T) => boolean,
    drop: (value: T) => Promise<void>,
  ): boolean {
    if (this.size < most) return true;
    const idle = this.all.find(([, value]) => isIdle(value));
    if (idle === undefined) return false;
    const [key, value] = idle;
    this.delete(key);
    void drop(value);
    return true;
  }
}
