import type { IncomingMessage } from "node:http";
import type { ErrorPayload, Profile } from "../../protocol/mod.ts";
import { shuttingDown } from "../shared/error_payload.ts";
import { quote } from "../shared/log.ts";
import { type Refusal, refusal } from "../shared/refusal.ts";
import { opensSession } from "../shared/request_target.ts";
import { checkGate, checkTransport } from "./gate.ts";
import { type Addressed, checkHost, type HostRule } from "./host_rule.ts";
import { clientAddress } from "../limits/client_address.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { ConnectionSlots } from "../limits/connection_slots.ts";
import type { Metrics } from "../observe/metrics.ts";
import { checkOrigin, type Origins, type Provenance } from "./origin_rule.ts";

/** What decides about requests. */
export interface EntranceParts extends HostRule {
  /** What the server speaks. */
  readonly profile: Profile;
  /** Web origins whose pages may connect. */
  readonly origins: Origins;
  /** What the server allows. */
  readonly limiter: Limiter;
  /** The sessions of each address. */
  readonly places: ConnectionSlots;
  /** Told of every refusal. */
  readonly metrics: Metrics | undefined;
  /** Whether new sessions are refused. */
  draining(): boolean;
}

/** What a request says of whom it is for. */
export const addressedOf = (
  { headers, url = "", socket }: IncomingMessage,
): Addressed => ({
  host: headers.host,
  target: url,
  localAddress: clientAddress(socket.localAddress ?? "", undefined, 0),
});

/** What a request says of the page that makes it. */
export const provenanceOf = ({ headers }: IncomingMessage): Provenance => ({
  origin: headers.origin,
  site: headers["sec-fetch-site"],
});

/** What counts of a request to Engine.IO. */
export interface HandshakeRequest extends Provenance {
  /** Without `?`. */
  readonly query: string;
  /** Where it comes from. */
  readonly address: string;
  /** Takes a place for a new session; tells whether its address had one left. */
  reserveSlot(): boolean;
}

/**
 * Decides whether a request of any kind is for this server.
 *
 * @param address where it comes from
 * @returns why not, or `undefined` when it is
 */
export function judgeHost(
  addressed: Addressed,
  address: string,
  parts: EntranceParts,
): Refusal | undefined {
  const refused = checkHost(addressed, parts);
  if (refused) note(refused, address, addressed.host, parts);
  return refused;
}

/**
 * Decides about one request to Engine.IO, in the same way over polling and for an upgrade: origin,
 * transport, version, shutdown, sessions of its address (spec §2, §10).
 *
 * @returns why not, or `undefined` when the request may pass
 */
export function admitRequest(
  knock: HandshakeRequest,
  parts: EntranceParts,
): Refusal | undefined {
  const { query, origin, site, address } = knock;
  const refused = checkOrigin(knock, parts.origins) ??
    checkTransport(query) ?? checkGate(query, parts.profile) ??
    (opensSession(query) ? judgeSession(knock, parts) : undefined);
  if (refused) note(refused, address, origin ?? site, parts);
  return refused;
}

/** @param claim what the client says that it may not, when it is forbidden */
function note(
  { status, body }: Refusal,
  address: string,
  claim: string | undefined,
  { metrics, limiter }: EntranceParts,
): void {
  const { code, message }: ErrorPayload = JSON.parse(body);
  metrics?.handshakeRefused("http", code);
  const from = status === 403 ? ` (${quote(claim ?? "")})` : "";
  limiter.refusedHandshake({ code, reason: message + from, address });
}

function judgeSession(
  { address, reserveSlot }: HandshakeRequest,
  { limiter, draining }: EntranceParts,
): Refusal | undefined {
  if (draining()) return refusal(503, shuttingDown().toPayload());
  if (reserveSlot()) return undefined;
  const error = limiter.refuse("connectionsPerAddress", { address });
  return refusal(429, error.toPayload());
}
