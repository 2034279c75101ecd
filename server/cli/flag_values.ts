import { InvalidArgumentError } from "commander";

/** Reads an integer of a range; anything else is a mistake of the command line. */
export const integer = (min: number, max: number) => (text: string): number => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new InvalidArgumentError(
    `Expected an integer from ${min} to ${max}.`,
  );
};

/**
 * Reads a switch from the environment: commander would take `0` and `false` for yes.
 *
 * @throws {InvalidArgumentError} when it is neither yes nor no
 */
export function isSet(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const value = env[name] ?? "";
  if (["1", "true", "yes"].includes(value)) return true;
  if (["", "0", "false", "no"].includes(value)) return false;
  throw new InvalidArgumentError(
    `error: environment variable ${name} is ${
      JSON.stringify(value)
    }, expected 1 or 0`,
  );
}
