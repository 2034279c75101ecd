/** @internal Either weeks, or days and a time; years and months have no fixed length. */
export const ISO_DURATION =
  /^P(?:(\d+(?:\.\d+)?)W|(?:(\d+(?:\.\d+)?)D)?(?:T(?=\d)(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?)$/;

const SECONDS_PER_UNIT = [7 * 86_400, 86_400, 3_600, 60, 1];

/**
 * Parses an ISO 8601 duration such as `PT30S` or `P1DT2H`; returns seconds (spec §4).
 *
 * @throws {TypeError} for anything else, including years and months
 */
export function parseDuration(text: string): number {
  const parts = ISO_DURATION.exec(text)?.slice(1);
  if (!parts?.some((part) => part !== undefined)) {
    throw new TypeError(
      `expected an ISO 8601 duration such as "PT30S", got ${
        JSON.stringify(text)
      }`,
    );
  }
  return SECONDS_PER_UNIT.reduce(
    (sum, unit, i) => sum + unit * Number(parts[i] ?? 0),
    0,
  );
}
