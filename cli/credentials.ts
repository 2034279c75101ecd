import type { Command } from "commander";

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

/** Creates the headers that carry the credentials, for polling and WebSocket (spec §10). */
export const credentialHeaders = (
  { apiKey, token }: CredentialFlags,
): Record<string, string> => ({
  ...(apiKey && { "x-api-key": apiKey }),
  ...(token && { Authorization: `Bearer ${token}` }),
});
