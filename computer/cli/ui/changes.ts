/** Numbers the changes of what a page shows, so that each reader gets what is new to it. */
export class Changes {
  readonly #listeners = new Set<() => void>();
  #last = 0;

  /** The number of the last change. */
  get last(): number {
    return this.#last;
  }

  /** Counts a change, and tells the listeners. */
  next(): number {
    const version = ++this.#last;
    for (const listener of this.#listeners) listener();
    return version;
  }

  /** Adds a listener; returns the function that removes it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
