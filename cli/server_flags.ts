import type { Command, Option } from "commander";
import type { ConnectionOptions } from "../client/options.ts";
import { checkTls, type ClientTlsOptions } from "../client/tls/tls.ts";
import { parseServerUrl } from "../client/url.ts";
import {
  CLIENT_PROTOCOLS,
  type ClientProtocol,
} from "../client/version_choice.ts";
import {
  addCredentials,
  type CredentialFlags,
  credentialHeaders,
} from "./credentials.ts";
import { orUsageError, UsageError } from "./run.ts";

/** The address of a Server and the identity to join with, from the command line. */
export interface ServerFlags extends CredentialFlags {
  /** Address of the Server. */
  url: string;
  /** HTTP path of its Socket.IO endpoint. */
  path: string;
  /** The protocol version to speak. */
  protocol?: ClientProtocol | "auto";
  /** The name to join with. */
  name: string;
  /** File with the client's certificate. */
  tlsCert?: string;
  /** File with its private key. */
  tlsKey?: string;
  /** File with the certificate authorities to trust. */
  tlsCa?: string;
}

/** Adds the options of {@linkcode ServerFlags} to a command, except the name. */
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
      )
      .addOption(protocolOption(command))
      .addOption(
        command.createOption(
          "--tls-cert <file>",
          "a client certificate in PEM form, for a Server that wants one",
        ).env("SMCP_TLS_CERT"),
      )
      .addOption(
        command.createOption("--tls-key <file>", "its private key")
          .env("SMCP_TLS_KEY"),
      )
      .addOption(
        command.createOption(
          "--tls-ca <file>",
          "trust the certificate authorities of this file instead of the machine's",
        ).env("SMCP_TLS_CA"),
      ),
  );

/**
 * Checks the address of a Server.
 *
 * @throws {ConnectionError} when it is none
 */
export const checkServerUrl = (url: string): void => void parseServerUrl(url);

/** Creates the option for the version of a client. */
export const protocolOption = (command: Command): Option =>
  command.createOption(
    "--protocol <version>",
    "the version of A2C-SMCP to speak; auto: 0.2, or what a Server that refuses it speaks",
  ).choices(["auto", ...CLIENT_PROTOCOLS]).default("auto")
    .env("SMCP_CLIENT_PROTOCOL");

/**
 * Creates the options of a client from the command line.
 *
 * @param read reads a text file
 * @throws {UsageError} that names the invalid file
 */
export function connectionOptions(
  { url, path, protocol, name, tlsCert, tlsKey, tlsCa, ...credentials }:
    ServerFlags,
  read: (file: string) => string,
): ConnectionOptions {
  parseServerUrl(url);
  const files = { cert: tlsCert, key: tlsKey, ca: tlsCa };
  const tls: { -readonly [N in keyof ClientTlsOptions]: string } = {};
  const names = { cert: "--tls-cert", key: "--tls-key", ca: "--tls-ca" };
  for (const kind of ["cert", "key", "ca"] as const) {
    const file = files[kind];
    if (file === undefined) continue;
    names[kind] += ` ${file}`;
    tls[kind] = readOrExplain(names[kind], file, read);
  }
  orUsageError(() => checkTls(tls, url, names));
  return {
    url,
    path,
    ...(protocol && { protocol }),
    name,
    ...(Object.keys(tls).length > 0 && { tls }),
    headers: credentialHeaders(credentials),
  };
}

function readOrExplain(
  what: string,
  file: string,
  read: (file: string) => string,
): string {
  try {
    return read(file);
  } catch (error) {
    const { code, message }: { code?: unknown; message?: unknown } = Object(
      error,
    );
    throw new UsageError(
      `Cannot read ${what}: ${
        code === "ENOENT" ? "there is no such file" : message
      }`,
    );
  }
}
