/** Whether the suite runs in its long form: `deno task test:cluster:long`. */
export const IS_LONG = Deno.env.get("SMCP_CLUSTER_LONG") === "1";

/**
 * Returns how often something is done: a few times in the short form of the suite.
 *
 * @param name of the variable with another number, such as `SMCP_CLUSTER_RACES`
 */
export function times(
  name: string,
  { short, long }: { short: number; long: number },
): number {
  const given = Deno.env.get(name);
  if (given === undefined) return IS_LONG ? long : short;
  const number = Number(given);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new Error(`${name} must be a number above 0, not "${given}"`);
}

/** Returns the `timeout` of a test that does something so often. */
export const timeoutOf = (count: number, eachMs: number): number =>
  60_000 + count * eachMs;
