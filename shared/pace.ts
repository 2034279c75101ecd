/**
 * Long work in a process that has other work to do.
 *
 * It is done in slices of some milliseconds. Between two slices, of whichever work, the event loop turns
 * once: however much long work there is, anything else waits for one slice.
 *
 * @module
 */

/** How long a slice lasts: too short to notice, and far longer than a turn of the event loop takes. */
const SLICE_MS = 5;

/** Settles with the turn of the last slice that waits. */
let last: Promise<void> = Promise.resolve();

/** Some long work, from its first slice on. */
export class Pace {
  #since = performance.now();
  readonly #signal: AbortSignal | undefined;

  /** @param signal ends the work with the next slice */
  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether the slice has lasted long enough, so that {@linkcode Pace.turn} must be awaited. */
  get isDue(): boolean {
    return performance.now() - this.#since >= SLICE_MS;
  }

  /**
   * Ends a slice, and resolves when the next one may begin.
   *
   * @throws the signal's reason when it is aborted
   */
  async turn(): Promise<void> {
    // In Deno, immediates that follow each other keep sockets waiting, as timers do not.
    last = last.then(() => new Promise((resolve) => setTimeout(resolve, 1)));
    await last;
    this.#signal?.throwIfAborted();
    this.#since = performance.now();
  }
}

/**
 * Runs work that yields where it can be interrupted, in slices; returns what it returns, without a promise
 * where it is not interrupted.
 *
 * @throws what the work throws, or the reason of the pace's signal
 */
export function inSlices<T>(
  work: Iterator<unknown, T>,
  pace?: Pace,
): T | Promise<T> {
  const { done, value } = work.next();
  return done ? value : inFurtherSlices(work, pace ?? new Pace());
}

async function inFurtherSlices<T>(
  work: Iterator<unknown, T>,
  pace: Pace,
): Promise<T> {
  for (;;) {
    if (pace.isDue) await pace.turn();
    const { done, value } = work.next();
    if (done) return value;
  }
}
