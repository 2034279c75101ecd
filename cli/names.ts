import { UsageError } from "./run.ts";

/**
 * Reads a name of the command line; an empty one is most likely a variable without a value.
 *
 * @param flag of the option
 * @param variable that stands for it in the environment
 */
export const readName =
  (flag: string, variable: string) => (text: string): string => {
    if (text.trim() !== "") return text;
    throw new UsageError(
      `${flag} is empty; name something with it, and leave no empty ${variable} in the environment`,
    );
  };
