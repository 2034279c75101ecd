/** Returns the median; of an even number of values, the mean of the middle two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[sorted.length >> 1];
  const lower = sorted[(sorted.length - 1) >> 1];
  if (upper === undefined || lower === undefined) {
    throw new RangeError("Cannot take the median of no values");
  }
  return (lower + upper) / 2;
}

/** Returns the median of each field over records that may lack some. */
export function medianFields<K extends string>(
  records: readonly Partial<Record<K, number>>[],
): Partial<Record<K, number>> {
  const values = new Map<string, number[]>();
  for (const record of records) {
    for (const [field, value] of Object.entries<number | undefined>(record)) {
      if (value === undefined) continue;
      values.set(field, [...values.get(field) ?? [], value]);
    }
  }
  return Object.fromEntries(
    [...values].map(([field, all]) => [field, median(all)]),
  ) as Partial<Record<K, number>>;
}
