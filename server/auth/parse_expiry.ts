/** A time as the field `expires` of an API key holds it: with its zone, so that it is the same everywhere. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Parses the time at which a key expires.
 *
 * @returns milliseconds since 1970; `undefined` when it is none
 */
export function parseExpiry(text: string): number | undefined {
  const time = TIME.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(time) ? undefined : time;
}
