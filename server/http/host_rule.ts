import { isIP } from "node:net";
import { ErrorCode } from "../../protocol/errors/protocol_error.ts";
import { isLoopback } from "./bind_rule.ts";
import { type Refusal, refusal } from "../shared/refusal.ts";

/** Allowed host names; `"*"` for any. */
export type Hosts = "*" | readonly string[];

/** The host that a request is for, and the address that received it. */
export interface Addressed {
  /** The `Host` header; optional in HTTP/1.0, but browsers always send it. */
  readonly host: string | undefined;
  /** The request target; in absolute form it names a host as well. */
  readonly target: string;
  /** The server's end of the TCP connection; `undefined` where it has no address. */
  readonly localAddress: string | undefined;
}

/** The operator's settings about host names. */
export interface HostRule {
  /** Allowed in addition to the names of this machine; `undefined` when not set. */
  readonly hosts: Hosts | undefined;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
}

/**
 * Decides whether a request is for this server (spec §10).
 *
 * Prevents DNS rebinding: a browser treats a page whose name is pointed to this machine as the
 * server's own origin, and only its foreign name in `Host` reveals it. So a request over loopback must
 * name this machine. Unless the operator sets the hosts, any name is allowed over other addresses,
 * and behind a trusted proxy, which forwards public names.
 */
export function checkHost(
  { host, target, localAddress }: Addressed,
  { hosts, proxies }: HostRule,
): Refusal | undefined {
  if (hosts === "*") return undefined;
  const isLocal = localAddress !== undefined && isLoopback(localAddress);
  if (hosts === undefined && (proxies > 0 || !isLocal)) return undefined;
  const named = [host, authorityOf(target)].filter((each) =>
    each !== undefined
  );
  const isOurs = (authority: string): boolean => {
    const name = hostName(authority);
    return name !== undefined &&
      (isThisMachine(name) || (hosts ?? []).includes(name));
  };
  return named.every(isOurs) ? undefined : refusal(403, {
    code: ErrorCode.FORBIDDEN,
    message:
      "Host not allowed: the operator names hosts with --hosts, and proxies with --trust-proxy",
  });
}

/**
 * Normalizes the operator's host names.
 *
 * @throws {TypeError} naming one that cannot match any `Host` header
 */
export function readHosts(hosts: Hosts): Hosts {
  if (hosts === "*") return hosts;
  return hosts.map((host) => {
    const name = hostName(host);
    // A port would be ignored, so it is refused.
    if (name !== undefined && AUTHORITY.exec(host)?.[2] === undefined) {
      return name;
    }
    throw new TypeError(
      `Cannot use the host ${
        JSON.stringify(host)
      }: expected a name or an address without scheme and port, such as "smcp.example.com"`,
    );
  });
}

/** Returns the normalized name or address of an authority such as `localhost:80`. */
function hostName(authority: string): string | undefined {
  const [, name] = AUTHORITY.exec(authority) ?? [];
  const url = `http://${name}`;
  if (name === undefined || !URL.canParse(url)) return undefined;
  return withoutBrackets(new URL(url).hostname.replace(/\.$/, ""));
}

/** A name, an IPv4 address, or an IPv6 address in brackets, with an optional port. */
const AUTHORITY = /^(\[[\d:.a-f]+\]|[^\s:/?#@[\]\\%*]+)(:\d*)?$/i;

const withoutBrackets = (host: string): string =>
  host.replace(/^\[(.*)\]$/, "$1");

const authorityOf = (target: string): string | undefined =>
  /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(target)?.[1];

/** `0.0.0.0` and `::` count, since servers print them as their address; DNS rebinding cannot use them. */
const isThisMachine = (name: string): boolean =>
  isIP(name) !== 0
    ? isLoopback(name) || name === "0.0.0.0" || name === "::"
    : name === "localhost" || name.endsWith(".localhost");
