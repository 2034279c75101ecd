import { isOfficeName } from "../protocol/validation/office_name.ts";
import { UsageError } from "./run.ts";

/**
 * Creates a parser of names that rejects those that no Server takes, and empty ones: most likely a
 * variable had no value.
 *
 * @param flag the flag of the option
 * @param variable its environment variable
 */
export const readName =
  (flag: string, variable: string) => (text: string): string => {
    if (text.trim() === "") {
      throw new UsageError(
        `${flag} is empty; name something with it, and leave no empty ${variable} in the environment`,
      );
    }
    if (isOfficeName(text)) return text;
    throw new UsageError(
      `${flag} (${variable}) is no name: expected 1 to 256 characters without control characters`,
    );
  };
