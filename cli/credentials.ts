import type { Command } from "commander";
import { isHeaderText } from "../client/check_options.ts";
import { UsageError } from "./run.ts";

/** Credentials on the command line; visible to everybody who lists processes, unlike the environment. */
export interface CredentialFlags {
  /** `--api-key` or `SMCP_API_KEY`. */
  apiKey?: string;
  /** `--token` or `SMCP_TOKEN`. */
  token?: string;
}

/** Adds the options of {@linkcode CredentialFlags} to a command. */
export function addCredentials(command: Command): Command {
  return command
    .addOption(
      command.createOption(
        "--api-key <key>",
        "the Server's API key for you; better in the environment, where others do not see it",
      ).env("SMCP_API_KEY"),
    )
    .addOption(
      command.createOption("--token <jwt>", "a token for the Server, likewise")
        .env("SMCP_TOKEN"),
    );
}

/**
 * Creates the headers that carry the credentials, for polling and WebSocket (spec §10).
 *
 * @throws {UsageError} for a character that no header carries, without showing the credentials
 */
export function credentialHeaders(
  { apiKey = "", token = "" }: CredentialFlags,
): Record<string, string> {
  check("--api-key (SMCP_API_KEY)", apiKey);
  check("--token (SMCP_TOKEN)", token);
  return {
    ...(apiKey && { "x-api-key": apiKey }),
    ...(token && { Authorization: `Bearer ${token}` }),
  };
}

function check(flag: string, value: string): void {
  if (isHeaderText(value)) return;
  throw new UsageError(
    `${flag} has a line break or another character that HTTP cannot carry; copy it again`,
  );
}
