/**
 * Which hosts are this machine, without a resolver: in browsers too.
 *
 * @module
 */

const IPV4 = /^127(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;

/** As the parser of URLs writes them, `::ffff:127.0.0.1` too. */
const IPV6 = /^\[::(1|ffff:7f[\da-f]{2}:[\da-f]{1,4})\]$/;

/**
 * Returns whether only this machine can reach an address; of names, only `localhost`.
 *
 * @param host without a port; an IPv6 address may be in brackets
 */
export function isLoopback(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  if (bare === "localhost" || IPV4.test(bare)) return true;
  const url = `http://[${bare}]`;
  return /^[\da-f:.]+$/.test(bare) && URL.canParse(url) &&
    IPV6.test(new URL(url).hostname);
}

/** Returns whether the host of a URL is this machine: names below `localhost` too (RFC 6761). */
export const isLoopbackName = (host: string): boolean =>
  isLoopback(host) || host.toLowerCase().endsWith(".localhost");
