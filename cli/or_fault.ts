/** What is needed of `node:process`. */
interface Faults {
  once(name: "uncaughtException", take: (error: unknown) => void): unknown;
  off(name: "uncaughtException", take: (error: unknown) => void): unknown;
}

/**
 * Runs work whose failure may surface outside of its promise: Deno throws a missing permission from
 * inside a socket of `node:net`.
 *
 * @returns what it resolves to; rejects with its reason, or with an error that was uncaught meanwhile
 */
export async function orFault<T>(
  start: () => Promise<T>,
  process: Faults,
): Promise<T> {
  const fault = Promise.withResolvers<never>();
  process.once("uncaughtException", fault.reject);
  try {
    return await Promise.race([start(), fault.promise]);
  } finally {
    process.off("uncaughtException", fault.reject);
  }
}
