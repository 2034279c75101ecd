import {
  ErrorCode,
  type ErrorPayload,
  type Profile,
} from "../../protocol/mod.ts";
import type { PageHeaders } from "../../shared/authorization.ts";
import type { ClusterMember } from "../shared/cluster.ts";
import {
  type Refusal,
  refusal,
  type RequestHead,
  sessionOf,
  splitTarget,
} from "../shared/http.ts";
import { notServing, shuttingDown } from "../shared/payload.ts";
import { quote } from "../shared/log.ts";
import { checkTransport, chooseProfile, isRefusal } from "./gate.ts";
import {
  checkHost,
  checkOrigin,
  type HostRule,
  type Origins,
} from "./host_rule.ts";
import { addressOf, clientAddress } from "../limits/limits.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { ClientEngine } from "../wire/mod.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { Carrier, ConnectionSlots } from "../limits/slots.ts";

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
  if (refused) recordRefusal(refused, request, host, parts);
  return refused;
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
  if (refused) recordRefusal(refused, request, page.origin ?? page.site, parts);
  return refused;
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
  const chosen = checkOrigin(page, parts.origins) ??
    checkTransport(query, parts.webSocketOnly) ??
    chooseProfile(query, parts.profiles);
  let refused = isRefusal(chosen) ? chosen : undefined;
  if (refused === undefined) {
    const session = sessionOf(query);
    if (session) parts.cluster?.unknownSession(session);
    else refused = admitSession(request, carrier, parts);
  }
  if (refused) recordRefusal(refused, request, page.origin ?? page.site, parts);
  return refused;
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
 * Records a refusal.
 *
 * @param claim the forbidden host or origin
 */
function recordRefusal(
  { status, body }: Refusal,
  request: RequestHead,
  claim: string | undefined,
  parts: RequestParts,
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
  const address = addressOf(request, parts);
  parts.limiter.recordRefusedHandshake("http", { code, reason, address });
}

function admitSession(
  request: RequestHead,
  carrier: Carrier | undefined,
  parts: RequestParts,
): Refusal | undefined {
  const { limiter, slots, draining, cluster } = parts;
  if (draining()) return refusal(503, shuttingDown().toPayload());
  // Its clients were just sent elsewhere.
  if (cluster?.hindrance === "fenced") {
    return refusal(503, notServing().toPayload());
  }
  const address = addressOf(request, parts);
  if (carrier === undefined || slots.reserve(request, carrier, address)) {
    return undefined;
  }
  const error = limiter.refuse("connectionsPerAddress", { address });
  return refusal(429, error.toPayload());
}
