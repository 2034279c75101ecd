/**
 * Works on items in their order, a few at a time.
 *
 * @param most how many at a time
 * @throws the first failure; nothing new is begun after it
 */
export async function forEachConcurrent<T>(
  items: readonly T[],
  most: number,
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
  await Promise.all(Array.from({ length: most }, worker));
}
