/** Calls listeners by event name; an error of one affects neither the others nor the caller. */
export class Emitter<Events> {
  readonly #listeners = new Map<keyof Events, Set<unknown>>();
  readonly #onThrow: (error: unknown) => void;

  /** @param onThrow receives errors and rejections of listeners, for the log */
  constructor(onThrow: (error: unknown) => void) {
    this.#onThrow = onThrow;
  }

  /** Adds a listener, at most once; returns the function that removes it. */
  on<E extends keyof Events>(
    event: E,
    listener: Listener<Events[E]>,
  ): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Calls the listeners in the order in which they were added, without waiting for promises. */
  emit<E extends keyof Events>(event: E, value: Events[E]): void {
    for (const listener of [...this.#listeners.get(event) ?? []]) {
      try {
        Promise.resolve((listener as Listener<Events[E]>)(value))
          .catch(this.#onThrow);
      } catch (error) {
        this.#onThrow(error);
      }
    }
  }

  /** Removes all listeners. */
  clear(): void {
    this.#listeners.clear();
  }
}

/** Receives the payload of an event; a promise that it returns is not awaited. */
export type Listener<T> = (value: T) => unknown;
