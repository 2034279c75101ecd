import { ConnectionError } from "./errors.ts";
import type { LinkEvents } from "./options.ts";
import { onAbort } from "../shared/async.ts";

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

/**
 * Resolves at the next change: connected, disconnected, or joined an office.
 *
 * @throws the signal's reason when it is aborted
 */
function nextChange(
  events: Emitter<LinkEvents>,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const offs = (["connected", "joined", "disconnected"] as const).map(
      (event) => events.on(event, () => done(resolve)),
    );
    const done = (settle: () => void) => {
      offs.forEach((off) => off());
      settle();
    };
    offs.push(onAbort(signal, () => done(() => reject(signal?.reason))));
  });
}

/**
 * Resolves when `isReady` returns true; checks it after each change of the connection.
 *
 * @param isReady throws if that has become impossible
 */
export async function until(
  isReady: () => boolean,
  events: Emitter<LinkEvents>,
  signal: AbortSignal | undefined,
): Promise<void> {
  while (!isReady()) await nextChange(events, signal);
}

/** Awaits the outcome of the first attempt to connect: `connected`, an error, or the end of the connection. */
export function firstOutcome(events: Emitter<LinkEvents>): {
  readonly done: Promise<void>;
  readonly fail: (error: Error) => void;
} {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const offs = [
    events.on("connected", () => resolve()),
    events.on("disconnected", ({ reason }) => {
      reject(new ConnectionError("closed", `Cannot connect: ${reason}`));
    }),
  ];
  const done = promise.finally(() => offs.forEach((off) => off()));
  return { done, fail: reject };
}
