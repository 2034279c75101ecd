import { VERSION_PARAMETER } from "../protocol/version.ts";
import type { ConnectionOptions } from "./options.ts";
import { isTls } from "./tls/tls.ts";

/** The parts of a Server's URL. */
export interface ServerAddress {
  /** Scheme, host and port; a path in the URL is not part of it. */
  readonly origin: string;
  /** The parameters of the URL's query, without that of the protocol (spec §2). */
  readonly query: Record<string, string>;
}

/**
 * Parses the URL of a Server; the version cannot be set through it (spec §2).
 *
 * @throws {TypeError} with an example of a valid URL
 */
export function parseServerUrl(url: string): ServerAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^(https?|wss?):$/.test(parsed.protocol)) {
    throw new TypeError(
      `Cannot connect to ${
        JSON.stringify(url)
      }: expected a URL such as "http://127.0.0.1:8787" or "https://smcp.example.com"`,
    );
  }
  const query = Object.fromEntries(parsed.searchParams);
  delete query[VERSION_PARAMETER];
  return { origin: `${parsed.protocol}//${parsed.host}`, query };
}

const SECRET_HEADER = /^(x-api-key|authorization|cookie)$/i;

/** Returns whether the host of a URL is this machine, by its name. */
export const isLoopback = (hostname: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/i.test(hostname);

/**
 * Detects credentials that would be sent to another machine unencrypted (spec §10).
 *
 * @returns a warning that says what to do, or `undefined`
 */
export function secretsInClear(
  { url, auth, headers = {} }: Pick<
    ConnectionOptions,
    "url" | "auth" | "headers"
  >,
): string | undefined {
  if (url === undefined) return undefined; // in this process
  const { host, hostname } = new URL(url);
  if (isTls(url) || isLoopback(hostname)) return undefined;
  const inAuth = typeof auth === "function" ||
    Object.keys(auth ?? {}).length > 0;
  const inHeaders = Object.keys(headers).some((n) => SECRET_HEADER.test(n));
  if (!inAuth && !inHeaders) return undefined;
  return `The key or token goes to ${host} unencrypted, where anyone on the way can read it: use https:// there`;
}
