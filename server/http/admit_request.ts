import type { IncomingHttpHeaders } from "node:http";
import {
  ErrorCode,
  type ErrorPayload,
  type Profile,
} from "../../protocol/mod.ts";
import type { PageHeaders } from "../../shared/http/own_page.ts";
import type { ClusterMember } from "../shared/cluster.ts";
import { notServing, shuttingDown } from "../shared/error_payload.ts";
import { quote } from "../shared/log.ts";
import { type Refusal, refusal } from "../shared/refusal.ts";
import { sessionOf } from "../shared/request_target.ts";
import { checkTransport, chooseProfile, isRefusal } from "./gate.ts";
import {
  checkHost,
  checkOrigin,
  type HostRule,
  type Origins,
} from "./host_rule.ts";
import { clientAddress } from "../limits/limits.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Connections } from "./connections.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { ConnectionSlots } from "../limits/slots.ts";

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
  readonly connections: Connections;
  /** The largest message of a client, and body of a request, in bytes. */
  readonly maxMessageBytes: number;
  /** Milliseconds for the headers of a request. */
  readonly headerTimeoutMs: number;
  /** What `/metrics` shows. */
  readonly metrics: Metrics | undefined;
  /** Whether new sessions are refused. */
  draining(): boolean;
}

/** What the admission reads of a request of `node:http`. */
export interface RequestHead {
  /** The target. */
  readonly url?: string | undefined;
  /** The headers. */
  readonly headers: IncomingHttpHeaders;
  /** The connection. */
  readonly socket: {
    readonly remoteAddress?: string | undefined;
    readonly localAddress?: string | undefined;
  };
}

/** Returns which page a request comes from. */
export const provenanceOf = ({ headers }: RequestHead): PageHeaders => ({
  origin: headers.origin,
  site: headers["sec-fetch-site"],
});

/** The parts of an Engine.IO request that its admission depends on. */
export interface HandshakeRequest extends PageHeaders {
  /** The query, without `?`. */
  readonly query: string;
  /** The client's address. */
  readonly address: string;
  /** Reserves a slot for a new session; returns whether its address had one left. */
  reserveSlot(): boolean;
}

/**
 * Decides whether a request of any kind is for this server, and records a refusal.
 *
 * @param address the client's address
 * @returns the refusal, or `undefined` when the request may pass
 */
export function judgeHost(
  { headers: { host }, url = "", socket }: RequestHead,
  address: string,
  parts: RequestParts,
): Refusal | undefined {
  const localAddress = clientAddress(socket.localAddress ?? "", undefined, 0);
  const refused = checkHost({ host, target: url, localAddress }, parts);
  if (refused) recordRefusal(refused, address, host, parts);
  return refused;
}

/**
 * Decides whether a request of a page may pass, and records a refusal.
 *
 * @param address the client's address
 * @returns the refusal, or `undefined` when the request may pass
 */
export function judgeOrigin(
  request: RequestHead,
  address: string,
  parts: RequestParts,
): Refusal | undefined {
  const page = provenanceOf(request);
  const refused = checkOrigin(page, parts.origins);
  if (refused) recordRefusal(refused, address, page.origin ?? page.site, parts);
  return refused;
}

/**
 * Decides whether an Engine.IO request may pass, and records a refusal. Polling and upgrades are
 * treated alike; checks origin, transport, version, shutdown and the sessions of the address, in this
 * order (spec §2, §10).
 *
 * @returns the refusal, or `undefined` when the request may pass
 */
export function admitRequest(
  request: HandshakeRequest,
  parts: RequestParts,
): Refusal | undefined {
  const { query, origin, site, address } = request;
  const chosen = checkOrigin(request, parts.origins) ??
    checkTransport(query, parts.webSocketOnly) ??
    chooseProfile(query, parts.profiles);
  let refused = isRefusal(chosen) ? chosen : undefined;
  if (refused === undefined) {
    const session = sessionOf(query);
    if (session) parts.cluster?.unknownSession(session);
    else refused = admitSession(request, parts);
  }
  if (refused) recordRefusal(refused, address, origin ?? site, parts);
  return refused;
}

/**
 * Records a refusal.
 *
 * @param claim the forbidden host or origin
 */
function recordRefusal(
  { status, body }: Refusal,
  address: string,
  claim: string | undefined,
  { limiter }: RequestParts,
): void {
  const payload: ErrorPayload = JSON.parse(body);
  const { code, message } = payload;
  // Quoted, so that lines which differ only in it count as the same.
  const about = code === ErrorCode.PROTOCOL_VERSION_MISMATCH
    ? `: client ${quote(String(payload.client_version))}, server ${
      quote(String(payload.server_version))
    }`
    : status === 403
    ? ` (${quote(claim ?? "")})`
    : "";
  const reason = message + about;
  limiter.recordRefusedHandshake("http", { code, reason, address });
}

function admitSession(
  { address, reserveSlot }: HandshakeRequest,
  { limiter, draining, cluster }: RequestParts,
): Refusal | undefined {
  if (draining()) return refusal(503, shuttingDown().toPayload());
  // Its clients were just sent elsewhere.
  if (cluster?.hindrance === "fenced") {
    return refusal(503, notServing().toPayload());
  }
  if (reserveSlot()) return undefined;
  const error = limiter.refuse("connectionsPerAddress", { address });
  return refusal(429, error.toPayload());
}
