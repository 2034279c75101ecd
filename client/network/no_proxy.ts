/**
 * The hosts of `NO_PROXY`, which are reached without a proxy.
 *
 * The rule is that of Go (`golang.org/x/net/http/httpproxy`), whose test vectors the tests take, but for a
 * leading dot, which means the name itself as well, as in curl and Deno. No library for JavaScript supports
 * ranges. The platform parses names (`URL`) and addresses (`node:net`), so that each has one form.
 *
 * @module
 */
import { nodeModule } from "../node_modules.ts";

/** Where a request goes. */
export interface Destination {
  /** Its name or address, as `URL` has it. */
  readonly hostname: string;
  /** Its port, also where that is the scheme's own. */
  readonly port: string;
}

/** What a list exempts. */
interface Exemptions {
  /** Returns whether a destination is reached without a proxy. */
  exempts(destination: Destination): boolean;
  /** The entries that name no host, which exempt nothing. */
  readonly unreadable: readonly string[];
}

/** Returns whether a host, in its one form, is meant; `ip` is 4, 6, or 0 for a name. */
type Matcher = (host: string, ip: number) => boolean;

/**
 * Reads a list of names with their subdomains, IP addresses and ranges (`10.0.0.0/8`), each with a port if
 * only that is meant, separated by commas or spaces; `*` is all.
 */
export function readNoProxy(list: string): Exemptions {
  const entries = list.split(/[\s,]+/).filter((entry) => entry !== "")
    .map((entry) => ({ entry, matches: readEntry(entry) }));
  return {
    exempts({ hostname, port }) {
      const host = bare(hostname);
      const ip = isIP(host);
      return entries.some(({ matches }) => matches?.(host, ip, port));
    },
    unreadable: entries.filter(({ matches }) => matches === undefined)
      .map(({ entry }) => entry),
  };
}

type EntryMatcher = (host: string, ip: number, port: string) => boolean;

function readEntry(entry: string): EntryMatcher | undefined {
  if (entry === "*") return () => true;
  // An IPv6 address has a port only after brackets.
  const [, named = entry, only] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  const target = bare(named);
  const matches = target.includes("/")
    ? readRange(target)
    : readAddress(target) ?? readName(target);
  return matches &&
    ((host, ip, port) =>
      (only === undefined || Number(only) === Number(port)) &&
      matches(host, ip));
}

/** Removes the brackets of an IPv6 address, and the dot at the end of a name that is complete. */
const bare = (host: string): string =>
  host.replace(/^\[(.*)\]$/, "$1").replace(/(?<=.)\.$/, "");

const isIP = (host: string): number => nodeModule("node:net")?.isIP(host) ?? 0;

const familyOf = (ip: number) => ip === 4 ? "ipv4" : "ipv6";

/** Reads a range such as `10.0.0.0/8`. */
function readRange(range: string): Matcher | undefined {
  const net = nodeModule("node:net");
  const [, base = "", bits = ""] = /^([^/]+)\/(\d{1,3})$/.exec(range) ?? [];
  const ip = isIP(base);
  if (net === undefined || ip === 0) return undefined;
  if (Number(bits) > (ip === 4 ? 32 : 128)) return undefined;
  const hosts = new net.BlockList();
  hosts.addSubnet(base, Number(bits), familyOf(ip));
  return (host, ip) => ip !== 0 && hosts.check(host, familyOf(ip));
}

/** Reads an address, of which all forms are one. */
function readAddress(address: string): Matcher | undefined {
  const ip = isIP(address);
  return ip === 0
    ? undefined
    : readRange(`${address.replace(/%.*/, "")}/${ip === 4 ? 32 : 128}`);
}

/** What ends the host of a URL, or stands for another character. */
const NO_HOST = /[/\\?#@:%]/;

/** A name of a host, as `URL` has it. */
const NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/;

/** Reads a name, which never means an address: `0.0.1` is no end of `110.0.0.1`. */
function readName(text: string): Matcher | undefined {
  const url = `http://${text.replace(/^\*?\./, "")}`;
  const isHost = !NO_HOST.test(text) && URL.canParse(url);
  const name = isHost ? new URL(url).hostname : "";
  if (!NAME.test(name) || isIP(name) !== 0) return undefined;
  return (host, ip) => ip === 0 && (host === name || host.endsWith(`.${name}`));
}
