import { UsageError } from "./run.ts";

/**
 * Creates a parser of names that rejects empty ones: most likely a variable had no value.
 *
 * @param flag the flag of the option
 * @param variable its environment variable
 */
export const readName =
  (flag: string, variable: string) => (text: string): string => {
    if (text.trim() !== "") return text;
    throw new UsageError(
      `${flag} is empty; name something with it, and leave no empty ${variable} in the environment`,
    );
  };
