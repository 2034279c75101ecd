import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Tells whether only this machine can reach an address; a name that is not `localhost` might be anywhere. */
export function isLoopback(hostname: string): boolean {
  const family = isIP(hostname);
  if (family === 0) return hostname.toLowerCase() === "localhost";
  return loopback.check(hostname, family === 4 ? "ipv4" : "ipv6");
}

/**
 * Tells what is wrong with listening on an address (spec §10).
 *
 * @param authenticated whether clients have to prove who they are
 * @returns the rest of a sentence that ends in "listen on", or `undefined` when nothing is
 */
export const exposure = (
  hostname: string,
  authenticated: boolean,
): string | undefined =>
  authenticated || isLoopback(hostname)
    ? undefined
    : `${hostname} without authentication: anybody could use the tools of every computer`;

/**
 * Tells what is wrong with listening on an address without TLS (spec §10).
 *
 * @returns like {@linkcode exposure}
 */
export const clearText = (
  hostname: string,
  secured: boolean,
): string | undefined =>
  secured || isLoopback(hostname)
    ? undefined
    : `${hostname} without TLS: keys, calls and results can be read on their way`;
