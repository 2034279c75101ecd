/**
 * The options of commands that dial a Server: its address, proxy and certificates, and credentials.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import type { Agent } from "node:http";
import type { Command, Option } from "commander";
import type { RequestOptions } from "node:https";
import { addOptions, option } from "./flags.ts";
import { orUsageError, UsageError } from "./run.ts";
import { isHeaderText } from "../client/check_options.ts";
import type { ConnectionError } from "../client/errors.ts";
import type { ClientProtocol, UrlOptions } from "../client/options.ts";
import {
  chooseProxy,
  proxyRoute,
  unreadableExemptions,
} from "../client/network/proxy.ts";
import { parseServerUrl } from "../client/server_url.ts";
import { checkTls, type ClientTlsOptions } from "../client/network/tls.ts";
import { unreachable } from "../client/unreachable.ts";
import { CLIENT_PROTOCOLS } from "../client/versions.ts";

/** Credentials on the command line; visible in lists of processes, unlike the environment. */
export interface CredentialFlags {
  /** `--api-key` or `SMCP_API_KEY`. */
  apiKey?: string;
  /** `--token` or `SMCP_TOKEN`. */
  token?: string;
}

const credentialOptions = (): Option[] => [
  option(
    "--api-key <key>",
    "the Server's API key for you; better in the environment, where others do not see it",
  ),
  option("--token <jwt>", "a token for the Server, likewise"),
];

/**
 * Creates the headers that carry the credentials, for polling and WebSocket (protocol §10).
 *
 * @throws {UsageError} for a character that no header carries, without showing the credentials
 */
function credentialHeaders(
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

/** How to reach a Server, from the command line. */
export interface AddressFlags {
  /** Address of the Server. */
  url: string;
  /** An HTTP proxy, or `none`. */
  proxy?: string;
  /** File with the client's certificate. */
  tlsCert?: string;
  /** File with its private key. */
  tlsKey?: string;
  /** File with the certificate authorities to trust. */
  tlsCa?: string;
}

/** The address of a Server and the identity to join with, from the command line. */
export interface ServerFlags extends AddressFlags, CredentialFlags {
  /** HTTP path of its Socket.IO endpoint. */
  path: string;
  /** The protocol version to speak. */
  protocol?: ClientProtocol | "auto";
  /** The name to join with. */
  name: string;
}

/** Adds the options of {@linkcode ServerFlags} to a command, except the name. */
export const addServerFlags = (command: Command): Command =>
  addOptions(
    command,
    urlOption(),
    option(
      "--path <path>",
      "HTTP path of the Server's Socket.IO endpoint; /socket.io/ for one of the Python SDK",
    ).default("/smcp/"),
    protocolOption(command),
    ...routeOptions(),
    ...credentialOptions(),
  );

/** Adds the options of {@linkcode AddressFlags} and of credentials to a command. */
export const addAddressFlags = (command: Command): Command =>
  addOptions(command, urlOption(), ...routeOptions(), ...credentialOptions());

const urlOption = (): Option =>
  option("--url <url>", "address of the Server")
    .default("http://127.0.0.1:8787");

/** Creates the options for the way to a Server: proxy and certificates. */
export const routeOptions = (): Option[] => [
  option(
    "--proxy <url>",
    "reach the Server through this HTTP proxy, or none (default: the one of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, but for the hosts of NO_PROXY)",
  ),
  option(
    "--tls-cert <file>",
    "a client certificate in PEM form, for a Server that requires one",
  ),
  option("--tls-key <file>", "its private key"),
  option(
    "--tls-ca <file>",
    "trust the certificate authorities of this file instead of the machine's",
  ),
];

/** Creates the option for the version of a client. */
export const protocolOption = (command: Command): Option =>
  command.createOption(
    "--protocol <version>",
    "the version of A2C-SMCP to speak; auto: the newest that the Server accepts",
  ).choices(["auto", ...CLIENT_PROTOCOLS]).default("auto")
    .env("SMCP_CLIENT_PROTOCOL");

/**
 * Creates the options of a client from the command line.
 *
 * @throws {UsageError} that names the invalid file
 */
export const connectionOptions = (flags: ServerFlags): UrlOptions => ({
  ...readAddress(flags),
  path: flags.path,
  ...(flags.protocol && { protocol: flags.protocol }),
  name: flags.name,
  headers: credentialHeaders(flags),
});

/** How requests of `node:http` and `node:https` reach a Server. */
export interface HttpRoute {
  /** Returns options for a request. */
  options(): Promise<RequestOptions>;
  /** Creates the error for a request that reached no Server, as other clients explain it. */
  failure(error: unknown): Promise<ConnectionError>;
  /** A warning for the user, with its remedy. */
  readonly warning: string | undefined;
}

/**
 * Reads how requests reach a Server from the command line.
 *
 * @throws {UsageError} that names the invalid file or option
 */
export function httpRoute(flags: AddressFlags): HttpRoute {
  const options = orUsageError(() => readAddress(flags));
  const route = proxyRoute(options);
  return {
    // Node's own agent could use a proxy of the environment against --proxy none.
    options: async () => ({
      ...options.tls,
      agent: (await route?.())?.agent as Agent | undefined ?? false,
    }),
    failure: async (error) =>
      await unreachable(options, { description: error }, await route?.()),
    warning: unreadableExemptions(options),
  };
}

function readAddress(
  { url, proxy, tlsCert, tlsKey, tlsCa }: AddressFlags,
): Pick<UrlOptions, "url" | "proxy" | "tls"> {
  parseServerUrl(url);
  const files = { cert: tlsCert, key: tlsKey, ca: tlsCa };
  const names = { cert: "--tls-cert", key: "--tls-key", ca: "--tls-ca" };
  const tls: { -readonly [N in keyof ClientTlsOptions]: string } = {};
  for (const kind of ["cert", "key", "ca"] as const) {
    const file = files[kind];
    if (file === undefined) continue;
    names[kind] += ` ${file}`;
    try {
      tls[kind] = readFileSync(file, "utf8");
    } catch (error) {
      const reason = Object(error).code === "ENOENT"
        ? "there is no such file"
        : Object(error).message;
      throw new UsageError(`Cannot read ${names[kind]}: ${reason}`);
    }
  }
  orUsageError(() => checkTls(tls, url, names));
  const through = proxy === "none" ? false : proxy;
  orUsageError(() => chooseProxy(url, through, undefined, "--proxy"));
  return {
    url,
    ...(through !== undefined && { proxy: through }),
    ...(Object.keys(tls).length > 0 && { tls }),
  };
}
