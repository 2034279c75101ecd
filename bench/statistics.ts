/** The spread of values: lowest, median and highest. */
export interface Spread {
  readonly low: number;
  readonly mid: number;
  readonly high: number;
}

/**
 * Returns a quantile, linear between two values.
 *
 * @param share 0 to 1; 0.5 is the median
 * @throws {RangeError} when there are no values
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const lower = sorted[Math.floor(at)];
  const upper = sorted[Math.ceil(at)];
  if (lower === undefined || upper === undefined) {
    throw new RangeError("Cannot take a quantile of no values");
  }
  return lower + (upper - lower) * (at - Math.floor(at));
}

/** Returns the median; of an even number of values, the mean of the middle two. */
export const median = (values: readonly number[]): number =>
  quantile(values, 0.5);

/** @throws {RangeError} when there are no values */
export const spreadOf = (values: readonly number[]): Spread => ({
  low: quantile(values, 0),
  mid: median(values),
  high: quantile(values, 1),
});

/** Returns the range of values over their median. */
export function apart(values: readonly number[]): number {
  const { low, mid, high } = spreadOf(values);
  return (high - low) / mid;
}

/** Divides each value by the one of the same round. */
export const ratios = (
  values: readonly number[],
  bases: readonly number[],
): number[] =>
  values.flatMap((value, round) => {
    const base = bases[round];
    return base === undefined ? [] : [value / base];
  });

/** Formats a spread: "1.72 (1.61–1.94)". */
export const spreadText = (
  { low, mid, high }: Spread,
  digits = 2,
  unit = "",
): string =>
  `${mid.toFixed(digits)}${unit} (${low.toFixed(digits)}–${
    high.toFixed(digits)
  })`;

/** Formats ratios of rounds by their median, quartiles and range. */
export function quartilesText(values: readonly number[]): string {
  const at = (share: number) => quantile(values, share).toFixed(3);
  return `median ${at(0.5)}, quartiles ${at(0.25)}–${at(0.75)}, range ${
    at(0)
  }–${at(1)} of ${values.length} rounds`;
}
