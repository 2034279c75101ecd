import { withDeadline } from "../../shared/async.ts";

/** The deadline of a request, which also covers all waiting before it is sent. */
export class Deadline {
  readonly #began = performance.now();
  readonly #ms: number;
  readonly #signal: AbortSignal | undefined;

  /** @param signal the caller's signal, which also ends every wait */
  constructor(ms: number, signal: AbortSignal | undefined) {
    this.#ms = ms;
    this.#signal = signal;
  }

  /** Milliseconds since the request was made. */
  get passedMs(): number {
    return performance.now() - this.#began;
  }

  /** Milliseconds until the deadline, at least 1. */
  get leftMs(): number {
    return Math.max(1, this.#ms - this.passedMs);
  }

  /**
   * Waits for work, at most until the deadline.
   *
   * @param work must react to its signal
   * @param timeoutError creates the error that is thrown at the deadline
   * @throws the timeout error, or the reason of the caller's signal
   */
  wait<T>(
    work: (signal: AbortSignal) => Promise<T>,
    timeoutError: () => unknown,
  ): Promise<T> {
    return withDeadline(this.leftMs, work, {
      signal: this.#signal,
      error: timeoutError,
    });
  }
}
