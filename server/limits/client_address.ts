import { isIP, isIPv4, isIPv6 } from "node:net";

/**
 * Returns the address that a request came from (spec §10).
 *
 * Each trusted proxy appends the address of its own client to `X-Forwarded-For`; entries before
 * those may be forged and are ignored.
 *
 * @param peer the remote address of the TCP connection; empty when it is closed already
 * @param forwarded the `X-Forwarded-For` header
 * @param proxies the number of trusted proxies in front of the server; 0 ignores the header
 */
export function clientAddress(
  peer: string,
  forwarded: string | string[] | undefined,
  proxies: number,
): string {
  if (proxies === 0 || forwarded === undefined) return plain(peer);
  const hops = String(forwarded).split(",").map((hop) =>
    plain(bare(hop.trim()))
  );
  const hop = hops.at(-proxies) ?? hops[0];
  return hop !== undefined && isIP(hop) !== 0 ? hop : plain(peer);
}

/** Groups addresses for counting: an IPv4 address by itself, IPv6 addresses by their /64 network. */
export function addressGroup(address: string): string {
  // Fast path: this runs for each event of a flood.
  if (!address.includes(":") || !isIPv6(address)) return address;
  return `${expand(address).slice(0, 4).join(":")}::/64`;
}

/** Removes a port, and the brackets of an IPv6 address. */
function bare(hop: string): string {
  const [, address = hop] = /^\[(.*)\](?::\d+)?$/.exec(hop) ??
    /^([^:]*):\d+$/.exec(hop) ?? [];
  return address;
}

/** Converts an IPv4-mapped IPv6 address to IPv4. */
function plain(address: string): string {
  const [, v4 = ""] = /^::ffff:(.*)$/i.exec(address) ?? [];
  return isIPv4(v4) ? v4 : address;
}

/** Expands an IPv6 address to its groups, without leading zeros. */
function expand(address: string): string[] {
  const [unzoned = ""] = address.toLowerCase().split("%");
  const [head = "", tail] = unzoned.split("::");
  const groups = (text: string) => text === "" ? [] : text.split(":");
  const before = groups(head);
  const after = groups(tail ?? "");
  // A dotted IPv4 part stands for two groups.
  const width = before.length + after.length + (unzoned.includes(".") ? 1 : 0);
  const zeros = Array<string>(Math.max(0, 8 - width)).fill("0");
  return [...before, ...zeros, ...after].map((g) => g.replace(/^0+(?=.)/, ""));
}
