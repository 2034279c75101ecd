/**
 * Which hosts and origins a request may name, and which addresses are safe to listen on. Commands load it
 * before they do anything, so it imports little.
 *
 * @module
 */
import type { PageHeaders } from "../../shared/authorization.ts";
import { isLoopback, isLoopbackName } from "../../shared/loopback.ts";
import { notFound, type Refusal, refusal } from "../shared/http.ts";

/** Web origins whose pages may connect. */
export type Origins = "*" | readonly string[];

/**
 * Decides whether the origin of a request is allowed (protocol §10).
 *
 * CORS does not cover WebSockets, which a page of any origin can open, nor resources that a page
 * loads: an `<img>` sends no `Origin`, but `Sec-Fetch-Site` reveals another site. Clients that send
 * neither header are not browsers, and may pass.
 */
export function checkOrigin(
  { origin, site }: PageHeaders,
  origins: Origins,
): Refusal | undefined {
  if (origins === "*") return undefined;
  const isAllowed = origin === undefined
    ? [undefined, "none", "same-origin"].includes(site) // no page, or our own
    : origins.includes(origin);
  return isAllowed ? undefined : refusal(403, "Origin not allowed");
}

/** Allowed host names; `"*"` for any. */
export type Hosts = "*" | readonly string[];

/** The host that a request is for, and the address that received it. */
interface Addressed {
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
  /** The URL by which clients reach the server; its host is allowed, too. */
  readonly publicUrl: string | undefined;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
  /** The host name of the devices of approvals, under which nothing else is served; `undefined` for none. */
  readonly approvalsHost?: string | undefined;
}

/**
 * Decides whether a request is for this server (protocol §10).
 *
 * Prevents DNS rebinding: a browser treats a page whose name is pointed to this machine as the
 * server's own origin, and only its foreign name in `Host` reveals it. So a request over loopback must
 * name this machine. Unless the operator sets the hosts, any name is allowed over other addresses,
 * and behind a trusted proxy, which forwards public names.
 */
export function checkHost(
  { host, target, localAddress }: Addressed,
  { hosts, publicUrl, proxies, approvalsHost }: HostRule,
): Refusal | undefined {
  if (isForDevices(host, approvalsHost)) return notFound();
  if (hosts === "*") return undefined;
  const isLocal = localAddress !== undefined && isLoopback(localAddress);
  if (hosts === undefined && (proxies > 0 || !isLocal)) return undefined;
  const [, authority] = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i.exec(target) ?? [];
  const isOurs = [host, authority].every((named) => {
    if (named === undefined) return true;
    const name = hostName(named);
    return name !== undefined &&
      (isThisMachine(name) || hosts?.includes(name) ||
        publicUrl !== undefined && name === hostName(new URL(publicUrl).host));
  });
  return isOurs ? undefined : refusal(
    403,
    "Host not allowed: use a name of this machine, such as localhost; smcp-server lets in others with --hosts, and those of a proxy with --trust-proxy",
  );
}

/** Returns whether a request is for the host name of the devices of approvals. */
export const isForDevices = (
  host: string | undefined,
  approvalsHost: string | undefined,
): boolean =>
  approvalsHost !== undefined && host !== undefined &&
  hostName(host) === approvalsHost;

/** Labels with a dot between them, of which the last has a letter. */
const FULL_NAME =
  /^(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+[a-z](?:[a-z\d-]*[a-z\d])?$/;

/**
 * Normalizes the host name of the devices of approvals.
 *
 * @param name the option or flag that has it
 * @throws {TypeError} for what is no name of its own, such as a URL, an address or `localhost`
 */
export function readApprovalsHost(host: string, name: string): string {
  const read = hostName(host);
  const hasPort = AUTHORITY.exec(host)?.[2] !== undefined;
  if (read !== undefined && !hasPort && FULL_NAME.test(read)) return read;
  throw new TypeError(
    `Cannot use ${name} ${
      JSON.stringify(host)
    }: expected a host name for approvals alone, without scheme and port, such as "approve.example.com"`,
  );
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
    const given = JSON.stringify(host);
    throw new TypeError(
      `Cannot use the host ${given}: expected a name or an address without scheme and port, such as "smcp.example.com"`,
    );
  });
}

/** Returns the normalized name or address of an authority such as `localhost:80`. */
function hostName(authority: string): string | undefined {
  const [, name] = AUTHORITY.exec(authority) ?? [];
  const url = `http://${name}`;
  if (name === undefined || !URL.canParse(url)) return undefined;
  return new URL(url).hostname.replace(/\.$/, "").replace(/^\[(.*)\]$/, "$1");
}

/** A name, an IPv4 address, or an IPv6 address in brackets, with an optional port. */
const AUTHORITY = /^(\[[\d:.a-f]+\]|[^\s:/?#@[\]\\%*]+)(:\d*)?$/i;

/** `0.0.0.0` and `::` count, since servers print them as their address; DNS rebinding cannot use them. */
const isThisMachine = (name: string): boolean =>
  isLoopbackName(name) || name === "0.0.0.0" || name === "::";

/**
 * Describes the danger of listening on an address without authentication (protocol §10).
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
    : `${hostname} without authentication: anyone could use the tools of every Computer`;

/**
 * Describes the danger of listening on an address without TLS (protocol §10).
 *
 * @returns as {@linkcode exposure}
 */
export const clearText = (
  hostname: string,
  secured: boolean,
): string | undefined =>
  secured || isLoopback(hostname)
    ? undefined
    : `${hostname} without TLS: keys, calls and results can be read in transit`;
