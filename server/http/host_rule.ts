import { isIP } from "node:net";
import { ErrorCode } from "../../protocol/mod.ts";
import { isLoopback } from "./bind_rule.ts";
import { type Refusal, refusal } from "../shared/refusal.ts";

/** Host names that the server answers to. */
export type Hosts = "*" | readonly string[];

/** What a request says of whom it is for, and where it came in. */
export interface Addressed {
  /** The `Host` header; HTTP/1.0 may leave it out, a browser never does. */
  readonly host: string | undefined;
  /** The request target; in absolute form it names a host as well. */
  readonly target: string;
  /** The server's end of the TCP connection; `undefined` where it has no address. */
  readonly localAddress: string | undefined;
}

/** What the operator says about host names. */
export interface HostRule {
  /** Names beside those of this machine; `undefined` when the operator named none. */
  readonly hosts: Hosts | undefined;
  /** How many proxies of the operator's own stand in front of the server. */
  readonly proxies: number;
}

/**
 * Decides whether a request is for this server (spec §10).
 *
 * A page of a name that its owner points to this machine (DNS rebinding) is of the same origin as
 * the server in its browser's eyes; that foreign name in `Host` is all that gives it away. So what
 * comes in over loopback must be for a name of this machine. A proxy there passes names of its own
 * on, which is why trusting one admits any, and so does an address that is not loopback, unless the
 * operator names the hosts.
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
 * Reads names that an operator gives.
 *
 * @throws {TypeError} naming one that no `Host` header could match
 */
export function readHosts(hosts: Hosts): Hosts {
  if (hosts === "*") return hosts;
  return hosts.map((host) => {
    const name = hostName(host);
    // A port would be ignored: any of them is for this server.
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

/** The name or address of an authority such as `localhost:80`, in its one normal form. */
function hostName(authority: string): string | undefined {
  const [, name] = AUTHORITY.exec(authority) ?? [];
  const url = `http://${name}`;
  if (name === undefined || !URL.canParse(url)) return undefined;
  return withoutBrackets(new URL(url).hostname.replace(/\.$/, ""));
}

/** A name or an IPv4 address, or an IPv6 address in brackets, and perhaps a port. */
const AUTHORITY = /^(\[[\d:.a-f]+\]|[^\s:/?#@[\]\\%*]+)(:\d*)?$/i;

const withoutBrackets = (host: string): string =>
  host.replace(/^\[(.*)\]$/, "$1");

const authorityOf = (target: string): string | undefined =>
  /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(target)?.[1];

/** `0.0.0.0` and `::` are where a server says that it listens everywhere; nobody's DNS makes them a name. */
const isThisMachine = (name: string): boolean =>
  isIP(name) !== 0
    ? isLoopback(name) || name === "0.0.0.0" || name === "::"
    : name === "localhost" || name.endsWith(".localhost");
