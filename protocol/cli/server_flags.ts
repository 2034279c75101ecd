import type { Command } from "commander";
import type { ConnectionOptions } from "../client/options.ts";
import {
  addCredentials,
  type CredentialFlags,
  credentialHeaders,
} from "./credentials.ts";

/** Where a Server is and as whom to come there, from the command line. */
export interface ServerFlags extends CredentialFlags {
  /** Address of the Server. */
  url: string;
  /** Where it answers Socket.IO. */
  path: string;
  /** The name to join with. */
  name: string;
}

/** Adds the options of {@linkcode ServerFlags} to a command, but for the name. */
export const addServerFlags = (command: Command): Command =>
  addCredentials(
    command
      .addOption(
        command.createOption("--url <url>", "address of the Server")
          .env("SMCP_URL").default("http://127.0.0.1:8787"),
      )
      .addOption(
        command.createOption(
          "--path <path>",
          "HTTP path of the Server's Socket.IO endpoint; /socket.io/ for one of the Python SDK",
        ).env("SMCP_PATH").default("/smcp/"),
      ),
  );

/** What a client is made with. */
export const connectionOptions = (
  { url, path, name, ...credentials }: ServerFlags,
): ConnectionOptions => ({
  url,
  path,
  name,
  headers: credentialHeaders(credentials),
});
