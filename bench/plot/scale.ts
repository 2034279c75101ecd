/** The scale of an axis. */
export interface Scale {
  /** Returns the position of a value in pixels. */
  at(value: number): number;
  /** Values with a mark, ascending. */
  readonly ticks: readonly number[];
}

/**
 * Creates a linear scale from 0 to a round number.
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
    // Multiply instead of adding up, which accumulates rounding errors.
    ticks: Array.from({ length: count + 1 }, (_, i) => fixed(i * step)),
  };
}

/** Creates a logarithmic scale from one value to another. */
export function ratioScale(
  least: number,
  most: number,
  from: number,
  to: number,
): Scale["at"] {
  // A single value is placed in the middle.
  if (least === most) return () => (from + to) / 2;
  const whole = Math.log(most / least);
  return (value) => from + (to - from) * Math.log(value / least) / whole;
}

/** Creates a logarithmic scale between powers of ten, with marks at them, and between them if they are few. */
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

/** Returns the next of …, 0.5, 1, 2, 5, 10, 20, … */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-9)));
  const digit = [1, 2, 5].find((digit) => digit * power >= least * (1 - 1e-9));
  return (digit ?? 10) * power;
}

const fixed = (value: number) => Number(value.toPrecision(12));
