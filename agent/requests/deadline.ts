/** The deadline of a request, which also covers all waiting before it is sent. */
export class Deadline {
  readonly #began = performance.now();
  readonly #ms: number;
  readonly #signal: AbortSignal | undefined;

  /** @param signal the caller's signal, which ends every wait too */
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
   * @param work heeds its signal
   * @param late makes what is thrown when the time is up
   * @throws what `late` makes, or the caller's reason as soon as its signal is aborted
   */
  async wait<T>(
    work: (signal: AbortSignal) => Promise<T>,
    late: () => unknown,
  ): Promise<T> {
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(late()), this.leftMs);
    const signal = this.#signal;
    try {
      return await work(
        signal ? AbortSignal.any([signal, over.signal]) : over.signal,
      );
    } finally {
      clearTimeout(timer);
    }
  }
}
