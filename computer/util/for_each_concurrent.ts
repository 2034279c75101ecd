/**
 * Runs `work` over items, in order and with bounded concurrency.
 *
 * @param limit how many items are worked on at a time
 * @throws the first failure; no further item is started after it
 */
export async function forEachConcurrent<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const item = items[next++] as T;
      try {
        await work(item);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
}
