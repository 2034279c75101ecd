import { median } from "./ends/statistics.ts";

export { median };

/** The spread of values: minimum, median and maximum. */
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

/** Returns how far values are apart: the range over the median. */
export function apart(values: readonly number[]): number {
  const { low, mid, high } = spreadOf(values);
  return (high - low) / mid;
}
