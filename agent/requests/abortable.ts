/**
 * Makes work abortable that may ignore the signal; its outcome after an abort is dropped.
 *
 * @throws what the work throws, or the signal's reason as soon as that is aborted
 */
export async function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
