/** Calls listeners by event name; what one throws reaches neither the others nor the emitter. */
export class Emitter<Events> {
  readonly #listeners = new Map<keyof Events, Set<unknown>>();
  readonly #onThrow: (error: unknown) => void;

  /** @param onThrow receives what a listener throws or rejects with, for the log */
  constructor(onThrow: (error: unknown) => void) {
    this.#onThrow = onThrow;
  }

  /** Adds a listener; the same one twice is called once. Returns the function that takes it away. */
  on<E extends keyof Events>(
    event: E,
    listener: Listener<Events[E]>,
  ): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** Calls the listeners in the order in which they were added; does not wait for them. */
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
