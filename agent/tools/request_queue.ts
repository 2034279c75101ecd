import { backoff } from "../../client/backoff.ts";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { sleep } from "../requests/sleep.ts";

/** Requests that an Agent makes on its own at once; its user's have to find room beside them. */
const AT_ONCE = 8;

/**
 * Makes requests a few at a time, in their order, and again where the Server says that it is too
 * much (spec §10): an office may have more members than an Agent may ask within a second.
 */
export class Patience {
  #running = 0;
  #waiting: (() => void)[] = [];
  #over = new AbortController();

  /**
   * Makes a request, at once where there is room.
   *
   * @param isTransient which failures are no answer yet
   * @throws what `request` throws, or an `AbortError` after {@linkcode Patience.end}
   */
  async ask<T>(
    request: () => Promise<T>,
    isTransient: (error: unknown) => boolean = isTooMany,
  ): Promise<T> {
    const { signal } = this.#over;
    for (let attempt = 0;; attempt++) {
      while (this.#running >= AT_ONCE) {
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

  /** Forgets what waits. */
  end(): void {
    this.#over.abort();
    this.#over = new AbortController();
    for (const go of this.#waiting.splice(0)) go();
  }
}

/** Whether the Server wants less at a time. */
export const isTooMany = (error: unknown): boolean =>
  error instanceof ProtocolError &&
  error.code === ErrorCode.TOO_MANY_REQUESTS;
