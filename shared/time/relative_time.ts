/**
 * Times as people say them.
 *
 * @module
 */

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/**
 * Writes a time as people say it, such as `3 days ago` or `in 5 hours`.
 *
 * @param time in ISO 8601
 * @param now milliseconds since 1970
 */
export function relativeTime(time: string, now: number): string {
  const ms = Date.parse(time) - now;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(ms) >= size) ?? [];
  if (unit === undefined) return ms > 0 ? "in a moment" : "just now";
  const count = Math.trunc(ms / size);
  return new Intl.RelativeTimeFormat("en").format(count, unit);
}
