// @ts-check

const MINUTE = 60;

/**
 * Returns the marks of an axis of values from 0: two to four steps of 1, 2 or 5 times a power of ten.
 *
 * @param {number} most what it must reach
 * @returns {number[]}
 */
export function ticksTo(most) {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = power *
    ([1, 2, 5].find((each) => 4 * each * power >= most) ?? 10);
  return Array.from(
    { length: Math.ceil(most / step) + 1 },
    (_, i) => Number((i * step).toPrecision(6)),
  );
}

/**
 * Returns the marks of an axis of time: the beginnings of minutes.
 *
 * @param {number} from its first second since 1970
 * @param {number} to its last
 * @returns {number[]}
 */
export function minutesOf(from, to) {
  const first = Math.ceil(from / MINUTE) * MINUTE;
  return Array.from(
    { length: Math.max(0, Math.floor((to - first) / MINUTE) + 1) },
    (_, i) => first + i * MINUTE,
  );
}
