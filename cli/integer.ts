import { InvalidArgumentError } from "commander";

/**
 * Creates a parser of option values that accepts the integers of a range.
 *
 * @returns throws an {@linkcode InvalidArgumentError} for anything else
 */
export const integer = (min: number, max: number) => (text: string): number => {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new InvalidArgumentError(`Expected an integer from ${min} to ${max}.`);
};
