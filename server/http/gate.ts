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
import type { Authenticator } from "../auth/authenticator.ts";
import type { Limiter } from "../limits/limiter.ts";
import { addressOf, clientAddress } from "../limits/limits.ts";
import type { Carrier, ConnectionSlots } from "../limits/slots.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { ClusterMember } from "../shared/cluster.ts";
import { notServing, shuttingDown } from "../shared/payload.ts";
import { quote } from "../shared/log.ts";
import type { ClientEngine } from "../wire/mod.ts";
import {
  checkHost,
  checkOrigin,
  type HostRule,
  type Origins,
} from "./host_rule.ts";
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
  /** Decides which clients may connect; without it, all may. */
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
  const refused = checkHost(addressed(request), parts);
  return recorded(refused, request.headers.host, request, parts);
}

/** The most hosts that are remembered. */
const MAX_HOSTS = 100;

/** The hosts that have passed {@linkcode judgeHost}: the verdict depends on little, and takes long. */
export class KnownHosts {
  readonly #rule: HostRule;
  readonly #known = new Set<string>();

  constructor(rule: HostRule) {
    this.#rule = rule;
  }

  /** Whether a request in origin form is for this server; a refusal is left to others. */
  has(request: RequestHead): boolean {
    const { headers: { host }, socket: { localAddress } } = request;
    const key = `${localAddress} ${host}`;
    if (this.#known.has(key)) return true;
    if (checkHost(addressed(request), this.#rule)) return false;
    if (this.#known.size >= MAX_HOSTS) this.#known.clear();
    this.#known.add(key);
    return true;
  }
}

/** What of a request shows whom it is for. */
function addressed(
  { headers: { host }, url: target = "", socket }: RequestHead,
): Parameters<typeof checkHost>[0] {
  const localAddress = clientAddress(socket.localAddress ?? "", undefined, 0);
  return { host, target, localAddress };
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
 * order (protocol §2, §10).
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
 * Decides whether an upgrade may pass, with the same checks as polling (protocol §2); parameters and result
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
  if (session) {
    cluster?.unknownSession(session);
    return checkMethod(request);
  }
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

/** Refuses methods that the polling of a session lacks, which Engine.IO would answer with an empty 500. */
function checkMethod({ method = "GET" }: RequestHead): Refusal | undefined {
  if (method === "GET" || method === "POST") return undefined;
  return refusal(
    400,
    `A session has no method ${method}: poll with GET, send with POST`,
  );
}

/**
 * Chooses the version that a client is served in (protocol §2, §14).
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
  const sent = parametersOf(query).getAll(VERSION_PARAMETER);
  let body: ErrorPayload | undefined;
  for (const profile of profiles) {
    if (sent.length === 0 && !profile.handshake) return profile;
    const check = checkVersion(sent, profile.version);
    if (check.ok) return profile;
    body = check.body;
  }
  const [oldest] = profiles;
  if (oldest === undefined || body === undefined) {
    throw new Error("Cannot choose a version: none is served");
  }
  if (body.code !== ErrorCode.PROTOCOL_VERSION_MISMATCH) {
    return refusal(400, body);
  }
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
  if (parameters.has("j")) {
    return refusal(
      400,
      'JSONP is not supported: leave out the query parameter "j"',
    );
  }
  // Engine.IO takes the last of several.
  if (webSocketOnly && parameters.getAll("transport").at(-1) === "polling") {
    return refusal(
      400,
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
