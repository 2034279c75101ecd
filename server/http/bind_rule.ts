import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Returns whether only this machine can reach an address; of names, only `localhost` counts. */
export function isLoopback(hostname: string): boolean {
  const family = isIP(hostname);
  if (family === 0) return hostname.toLowerCase() === "localhost";
  return loopback.check(hostname, family === 4 ? "ipv4" : "ipv6");
}

/**
 * Describes the danger of listening on an address without authentication (spec §10).
 *
 * @param authenticated whether clients must authenticate
 * @returns the rest of a sentence that begins with "Cannot listen on", or `undefined` if there is no danger
 */
export const exposure = (
  hostname: string,
  authenticated: boolean,
): string | undefined =>
  authenticated || isLoopback(hostname)
    ? undefined
    : `${hostname} without authentication: anybody could use the tools of every computer`;

/**
 * Describes the danger of listening on an address without TLS (spec §10).
 *
 * @returns as {@linkcode exposure}
 */
export const clearText = (
  hostname: string,
  secured: boolean,
): string | undefined =>
  secured || isLoopback(hostname)
    ? undefined
    : `${hostname} without TLS: keys, calls and results can be read on their way`;
