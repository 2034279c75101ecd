/** Where a value stands on an axis, and which values are marked on it. */
export interface Scale {
  /** Position of a value in pixels. */
  at(value: number): number;
  /** Values with a mark, rising. */
  readonly ticks: readonly number[];
}

/**
 * Equal distances for equal differences, from 0 to a round number.
 *
 * @param most the largest value; the axis reaches at least that far
 * @param from position of 0
 * @param to position of the axis's end
 */
export function linearScale(most: number, from: number, to: number): Scale {
  const step = roundStep(most / 5);
  const count = Math.max(1, Math.ceil(most / step - 1e-9));
  const end = count * step;
  return {
    at: (value) => from + (to - from) * value / end,
    // Multiplied, not added up: 3 × 0.1 would not be 0.3.
    ticks: Array.from({ length: count + 1 }, (_, i) => fixed(i * step)),
  };
}

/** Equal distances for equal ratios, from one value to another. */
export function ratioScale(
  least: number,
  most: number,
  from: number,
  to: number,
): Scale["at"] {
  // One value alone stands in the middle.
  if (least === most) return () => (from + to) / 2;
  const whole = Math.log(most / least);
  return (value) => from + (to - from) * Math.log(value / least) / whole;
}

/** The same between powers of ten, which are marked; and what is between them when they are few. */
export function logScale(
  least: number,
  most: number,
  from: number,
  to: number,
): Scale {
  const low = Math.floor(Math.log10(least) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.log10(most) - 1e-9));
  const digits = high - low > 3 ? [1] : [1, 2, 5];
  const ticks = Array.from({ length: high - low }, (_, i) => 10 ** (low + i))
    .flatMap((power) => digits.map((digit) => fixed(digit * power)));
  return {
    at: ratioScale(10 ** low, 10 ** high, from, to),
    ticks: [...ticks, fixed(10 ** high)],
  };
}

/** The next of 1, 2, 5, 10, 20, …, or a fraction like that. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  const digit = [1, 2, 5].find((digit) => digit * power >= least * (1 - 1e-9));
  return (digit ?? 10) * power;
}

const fixed = (value: number) => Number(value.toPrecision(12));
