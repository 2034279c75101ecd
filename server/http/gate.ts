/**
 * The gate before Engine.IO. A request is for this host, of an allowed origin, with a transport and a
 * version that the server has, and of an address that may open a session; each rule is a function of its
 * own, further down, and `admitRequest()` applies them in the order of the specification.
 *
 * @module
 */
import {
  checkVersion,
  ErrorCode,
  type ErrorPayload,
  type Profile,
  supportedRange,
  VERSION_PARAMETER,
} from "../../protocol/mod.ts";
import {
  parametersOf,
  type Refusal,
  refusal,
  type RequestHead,
  sessionOf,
  splitTarget,
} from "../shared/http.ts";
import { BlockList, isIP } from "node:net";
import type { Authenticator } from "../auth/authenticator.ts";
import type { Limiter } from "../limits/limiter.ts";
import { addressOf, clientAddress } from "../limits/limits.ts";
import type { Carrier, ConnectionSlots } from "../limits/slots.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { ClusterMember } from "../shared/cluster.ts";
import { notServing, shuttingDown } from "../shared/payload.ts";
import { quote } from "../shared/log.ts";
import type { ClientEngine } from "../wire/mod.ts";
import type { PageHeaders } from "../../shared/authorization.ts";

/** The parts of a server that decide about requests, and handle those that may pass. */
export interface RequestParts extends HostRule {
  /** Paths of Engine.IO, with and without a trailing slash. */
  readonly paths: readonly string[];
  /** Web origins whose pages may connect. */
  readonly origins: Origins;
  /** Provides the limits, and records refusals. */
  readonly limiter: Limiter;
  /** Limits the sessions of each address. */
  readonly slots: ConnectionSlots;
  /** Whether polling is refused, as no request of a session is sure to reach this process. */
  readonly webSocketOnly: boolean;
  /** The versions that the server lets in, oldest first. */
  readonly profiles: readonly Profile[];
  /** The node that the server is in a cluster, if it is in one. */
  readonly cluster: ClusterMember | undefined;
  /** Decides who may connect; without it, everybody may. */
  readonly authenticator: Authenticator | undefined;
  /** Handles the Engine.IO requests that pass the gate. */
  readonly engine: ClientEngine;
  /** The largest message of a client, and body of a request, in bytes. */
  readonly maxMessageBytes: number;
  /** Milliseconds for the headers of a request. */
  readonly headerTimeoutMs: number;
  /** What `/metrics` shows. */
  readonly metrics: Metrics | undefined;
  /** Whether new sessions are refused. */
  draining(): boolean;
}

/** Returns which page a request comes from. */
export const provenanceOf = ({ headers }: RequestHead): PageHeaders => ({
  origin: headers.origin,
  site: headers["sec-fetch-site"],
});

/**
 * Decides whether a request of any kind is for this server, and records a refusal.
 *
 * @returns the refusal, or `undefined` when the request may pass
 */
export function judgeHost(
  request: RequestHead,
  parts: RequestParts,
): Refusal | undefined {
  const { headers: { host }, url: target = "", socket } = request;
  const localAddress = clientAddress(socket.localAddress ?? "", undefined, 0);
  const refused = checkHost({ host, target, localAddress }, parts);
  return recorded(refused, host, request, parts);
}

/**
 * Decides whether a request of a page may pass, and records a refusal.
 *
 * @returns the refusal, or `undefined` when the request may pass
 */
export function judgeOrigin(
  request: RequestHead,
  parts: RequestParts,
): Refusal | undefined {
  const page = provenanceOf(request);
  const refused = checkOrigin(page, parts.origins);
  return recorded(refused, page.origin ?? page.site, request, parts);
}

/**
 * Decides whether an Engine.IO request may pass, and records a refusal. Polling and upgrades are
 * treated alike; checks origin, transport, version, shutdown and the sessions of the address, in this
 * order (spec §2, §10).
 *
 * @param request what Engine.IO will keep as the request of the session
 * @param carrier closes when the request was refused, or its WebSocket has ended; absent where no
 * session can be opened
 * @returns the refusal, or `undefined` when the request may pass
 */
export function admitRequest(
  request: RequestHead,
  carrier: Carrier | undefined,
  parts: RequestParts,
): Refusal | undefined {
  const { query } = splitTarget(request.url ?? "");
  const page = provenanceOf(request);
  const refused = checkOrigin(page, parts.origins) ??
    judgeQuery(query, parts.webSocketOnly, parts.profiles) ??
    admitSession(query, request, carrier, parts);
  return recorded(refused, page.origin ?? page.site, request, parts);
}

/** Checks the transport and the version that a request asks for. */
export function judgeQuery(
  query: string,
  webSocketOnly: boolean,
  profiles: readonly Profile[],
): Refusal | undefined {
  const chosen = checkTransport(query, webSocketOnly) ??
    chooseProfile(query, profiles);
  return isRefusal(chosen) ? chosen : undefined;
}

/**
 * Decides whether an upgrade may pass, with the same checks as polling (spec §2); parameters and result
 * as of {@linkcode admitRequest}.
 */
export const admitUpgrade = (
  request: RequestHead,
  carrier: Carrier,
  parts: RequestParts,
): Refusal | undefined =>
  judgeHost(request, parts) ?? admitRequest(request, carrier, parts);

/**
 * Records a refusal, if it is one, and returns it.
 *
 * @param claim the forbidden host or origin
 */
function recorded(
  refused: Refusal | undefined,
  claim: string | undefined,
  request: RequestHead,
  parts: RequestParts,
): Refusal | undefined {
  if (refused === undefined) return undefined;
  const payload: ErrorPayload = JSON.parse(refused.body);
  const { code, message, client_version, server_version } = payload;
  // Quoted, so that lines which differ only in it count as the same.
  const about = code === ErrorCode.PROTOCOL_VERSION_MISMATCH
    ? `: client ${quote(String(client_version))}, server ${
      quote(String(server_version))
    }`
    : refused.status === 403
    ? ` (${quote(claim ?? "")})`
    : "";
  const reason = message + about;
  const address = addressOf(request, parts);
  parts.limiter.recordRefusedHandshake("http", { code, reason, address });
  return refused;
}

/** Lets requests of a session pass, and reserves a slot for one that opens a session. */
function admitSession(
  query: string,
  request: RequestHead,
  carrier: Carrier | undefined,
  { limiter, slots, draining, cluster, proxies }: RequestParts,
): Refusal | undefined {
  const session = sessionOf(query);
  if (session) return void cluster?.unknownSession(session);
  if (draining()) return refusal(503, shuttingDown().toPayload());
  // Its clients were just sent elsewhere.
  if (cluster?.hindrance === "fenced") {
    return refusal(503, notServing().toPayload());
  }
  const address = addressOf(request, { proxies });
  if (carrier === undefined || slots.reserve(request, carrier, address)) {
    return undefined;
  }
  const error = limiter.refuse("connectionsPerAddress", { address });
  return refusal(429, error.toPayload());
}

/**
 * Checks the protocol version of a request before Engine.IO handles it (spec §2).
 *
 * @param query the request's query, without `?`
 * @param profile the protocol version of the server
 * @returns the refusal, or `undefined` when the request may pass
 */
export function checkGate(
  query: string,
  profile: Profile,
): Refusal | undefined {
  const sent = parametersOf(query).getAll(VERSION_PARAMETER);
  if (sent.length === 0 && !profile.handshake) return undefined;
  const check = checkVersion(sent, profile.version);
  return check.ok ? undefined : refusal(400, check.body);
}

/**
 * Chooses the version that a client is served in (0.4 §18).
 *
 * A version that the server does not let in is refused with the newest, and with the lowest and highest
 * of all.
 *
 * @param query the request's query, without `?`
 * @param profiles those that the server lets in, oldest first
 */
export function chooseProfile(
  query: string,
  profiles: readonly Profile[],
): Profile | Refusal {
  let refused: Refusal | undefined;
  for (const profile of profiles) {
    refused = checkGate(query, profile);
    if (refused === undefined) return profile;
  }
  const [oldest] = profiles;
  if (oldest === undefined || refused === undefined) {
    throw new Error("Cannot choose a version: none is served");
  }
  const body: ErrorPayload = JSON.parse(refused.body);
  if (body.code !== ErrorCode.PROTOCOL_VERSION_MISMATCH) return refused;
  const { min } = supportedRange(oldest.version);
  return refusal(400, { ...body, min_supported: min });
}

/** Returns whether a request was refused. */
export const isRefusal = (
  admitted: Profile | Refusal | undefined,
): admitted is Refusal => admitted !== undefined && "status" in admitted;

/**
 * Refuses JSONP, Engine.IO's transport for browsers without CORS: any page could load it as a script.
 * Refuses polling where its requests may reach another process than the one that has the session.
 *
 * @param query the request's query, without `?`
 * @param webSocketOnly whether polling is refused
 */
export function checkTransport(
  query: string,
  webSocketOnly: boolean,
): Refusal | undefined {
  const parameters = parametersOf(query);
  const refused = (message: string) =>
    refusal(400, { code: ErrorCode.BAD_REQUEST, message });
  if (parameters.has("j")) {
    return refused('JSONP is not supported: leave out the query parameter "j"');
  }
  // Engine.IO takes the last of several.
  if (webSocketOnly && parameters.getAll("transport").at(-1) === "polling") {
    return refused(
      'Polling is not supported here, where requests of one session may reach several processes: connect with WebSocket alone, transports: ["websocket"]',
    );
  }
  return undefined;
}

/** Returns each path with and without a trailing slash. */
export const bothForms = (paths: readonly string[]): string[] =>
  paths.flatMap((path) => {
    const bare = path.replace(/\/+$/, "");
    return bare === "" ? ["/"] : [bare, `${bare}/`];
  });

/** Web origins whose pages may connect. */
export type Origins = "*" | readonly string[];

/** Values of `Sec-Fetch-Site` for requests of no page, and of the server's own origin. */
const OWN_SITES: readonly (string | undefined)[] = [
  undefined,
  "none",
  "same-origin",
];

/**
 * Decides whether the origin of a request is allowed (spec §10).
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
    ? OWN_SITES.includes(site)
    : origins.includes(origin);
  return isAllowed ? undefined : refusal(403, {
    code: ErrorCode.FORBIDDEN,
    message: "Origin not allowed",
  });
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
