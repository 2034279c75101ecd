/**
 * The middle of some numbers; of an even count the mean of the two in the middle.
 *
 * @throws {RangeError} when there are none
 */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)];
  if (upper === undefined) {
    throw new RangeError("Cannot take the median of no values");
  }
  const lower = sorted[Math.ceil(middle) - 1] ?? upper;
  return (lower + upper) / 2;
}

/** How far apart the values are: the smallest, the middle, the largest. */
export interface Spread {
  readonly low: number;
  readonly mid: number;
  readonly high: number;
}

/** @throws {RangeError} when there are no values */
export function spreadOf(values: readonly number[]): Spread {
  return {
    low: Math.min(...values),
    mid: median(values),
    high: Math.max(...values),
  };
}
