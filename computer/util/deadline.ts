/** Milliseconds of the longest timer there is, 24 days; a longer one goes off at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Does work for so long at most.
 *
 * @param work gets a signal that is aborted when the time is over; what it ends with after that
 * is dropped
 * @throws what the work throws, or an error that says how long it took
 */
export async function withTimeout<T>(
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.abort(new Error(`it took longer than ${milliseconds / 1000} s`));
    reject(late.signal.reason);
  }, milliseconds);
  try {
    return await Promise.race([promise, work(late.signal)]);
  } finally {
    clearTimeout(timer);
  }
}
