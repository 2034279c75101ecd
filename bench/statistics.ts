import { median } from "./ends/statistics.ts";

export { median };

/** How far apart values are: the smallest, the one in the middle, the largest. */
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
