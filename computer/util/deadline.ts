/** The longest delay that `setTimeout` takes, about 24 days; a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Runs `work` with a time limit.
 *
 * @param work gets a signal that is aborted at the limit; its outcome after that is dropped
 * @throws what `work` throws, or an error that states the limit
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
