import { isIP, isIPv4, isIPv6 } from "node:net";

/**
 * The address that a request came from (spec §10).
 *
 * Each trusted proxy appends to `X-Forwarded-For` whom it got the request from; what stands before
 * those entries was written by the client itself and is not believed.
 *
 * @param peer the other end of the TCP connection; empty when it is gone already
 * @param forwarded the header, as `node:http` gives it
 * @param proxies how many proxies of the operator's own stand in front of the server; 0 ignores the header
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

/** What counts as one address: an IPv4 address, or the /64 that one customer gets of IPv6. */
export function addressGroup(address: string): string {
  // Asked for each event of a flood, and most addresses have no colon.
  if (!address.includes(":") || !isIPv6(address)) return address;
  return `${expand(address).slice(0, 4).join(":")}::/64`;
}

/** Without a port or the brackets that go with it. */
function bare(hop: string): string {
  const [, address = hop] = /^\[(.*)\](?::\d+)?$/.exec(hop) ??
    /^([^:]*):\d+$/.exec(hop) ?? [];
  return address;
}

/** An IPv4 address that came over an IPv6 socket is the IPv4 address. */
function plain(address: string): string {
  const [, v4 = ""] = /^::ffff:(.*)$/i.exec(address) ?? [];
  return isIPv4(v4) ? v4 : address;
}

/** The first groups of an IPv6 address, written out without leading zeros. */
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
