import { randomBytes } from "node:crypto";
import { type Command, InvalidArgumentError, Option } from "commander";
import { orUsageError, UsageError } from "./run.ts";
import { isOfficeName, OFFICE_NAME_RULE } from "../protocol/names.ts";
import { readPublicUrl } from "../shared/http.ts";

/**
 * Adds a summary and examples to a command's help, before the list of options.
 *
 * @param summary one line, also shown in lists of commands
 * @param examples command lines
 */
export const addHelp = (
  command: Command,
  summary: string,
  examples: readonly string[],
): Command =>
  command.summary(summary).description(
    [summary, "", "Examples:", ...examples.map((line) => `  $ ${line}`)]
      .join("\n"),
  );

/** Creates an option with its environment variable: `--tls-key` has `SMCP_TLS_KEY`. */
export function option(flags: string, description: string): Option {
  const made = new Option(flags, description);
  const name = `${made.long}`.slice(2).toUpperCase().replaceAll("-", "_");
  return made.env(`SMCP_${name}`);
}

/** Adds options to a command, in the order of its help. */
export function addOptions(command: Command, ...options: Option[]): Command {
  for (const each of options) command.addOption(each);
  return command;
}

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
        `${flag} is empty; give it a value, and unset ${variable} where that is empty`,
      );
    }
    if (isOfficeName(text)) return text;
    throw new UsageError(
      `${flag} (${variable}) is not a name: expected ${OFFICE_NAME_RULE}`,
    );
  };

/**
 * Creates the option for the URL by which clients reach a Server.
 *
 * @param effect the rest of its description
 */
export const publicUrlOption = (effect = ""): Option =>
  option(
    "--public-url <url>",
    `the URL by which clients reach the Server through a proxy or tunnel, such as https://smcp.example.com: links and OAuth metadata have it, and requests may be for its host${effect}`,
  ).argParser((text) =>
    orUsageError(() => readPublicUrl(text, "--public-url (SMCP_PUBLIC_URL)"))
  );

/** Creates the operator token of a Server that only this machine reaches. */
export const newOperatorToken = (): string => randomBytes(32).toString("hex");

/**
 * Returns lines with the operator API, its token and the link to the console; for stdout, not for the
 * log, which others may read.
 */
export const operatorLines = (url: string, token: string): string =>
  `Operators: ${url}/operator/v1 with the token ${token}
Console: ${url}/console#token=${token}`;

/**
 * Makes the flag that switches the operator API off.
 *
 * @param access who has access without it
 */
export const operatorOption = (access: string): Option =>
  option(
    "--no-operator",
    `serve no operator API; by default it is open to ${access}`,
  );
