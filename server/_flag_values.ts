import { InvalidArgumentError } from "commander";

/** Reads an integer of a range; anything else is a mistake of the command line. */
export const integer = (min: number, max: number) => (text: string): number => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new InvalidArgumentError(
    `Expected an integer from ${min} to ${max}.`,
  );
};
