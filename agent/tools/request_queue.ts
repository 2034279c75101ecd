import { sleep } from "../../shared/async.ts";
import { backoff } from "../../client/wire.ts";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";

/** Concurrent requests that an Agent makes on its own; leaves slots for those of its user. */
const MAX_CONCURRENT = 8;

/**
 * Makes requests in order with bounded concurrency, and repeats those that the Server refuses for
 * their rate (spec §10): an office may have more members than an Agent may ask within a second.
 */
export class RequestQueue {
  #running = 0;
  #waiting: (() => void)[] = [];
  #over = new AbortController();

  /**
   * Makes a request, at once if a slot is free.
   *
   * @param isTransient selects the failures worth another attempt
   * @throws what `request` throws, or an `AbortError` after {@linkcode RequestQueue.end}
   */
  async run<T>(
    request: () => Promise<T>,
    isTransient: (error: unknown) => boolean = isTooMany,
  ): Promise<T> {
    const { signal } = this.#over;
    for (let attempt = 0;; attempt++) {
      while (this.#running >= MAX_CONCURRENT) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
        signal.throwIfAborted();
      }
      this.#running++;
      try {
        return await request();
      } catch (error) {
        if (signal.aborted || !isTransient(error)) throw error;
      } finally {
        this.#running--;
        this.#waiting.shift()?.();
      }
      await sleep(backoff(attempt, Math.random()), signal);
    }
  }

  /** Drops all waiting requests. */
  end(): void {
    this.#over.abort();
    this.#over = new AbortController();
    for (const go of this.#waiting.splice(0)) go();
  }
}

/** Checks whether the Server refused a request for its rate. */
export const isTooMany = (error: unknown): boolean =>
  error instanceof ProtocolError &&
  error.code === ErrorCode.TOO_MANY_REQUESTS;
