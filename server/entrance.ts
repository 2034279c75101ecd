import type { ErrorPayload, Profile } from "../protocol/mod.ts";
import { shuttingDown } from "./_answers.ts";
import { quote } from "./_log.ts";
import { checkGate, opensSession, type Refusal, refusal } from "./gate.ts";
import type { Limiter } from "./limits/limiter.ts";
import type { SessionPlaces } from "./limits/session_places.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { checkOrigin, type Origins } from "./origin_rule.ts";

/** What decides about requests. */
export interface EntranceParts {
  /** What the server speaks. */
  readonly profile: Profile;
  /** Web origins whose pages may connect. */
  readonly origins: Origins;
  /** What the server allows. */
  readonly limiter: Limiter;
  /** The sessions of each address. */
  readonly places: SessionPlaces;
  /** How many proxies of the operator's own stand in front of the server. */
  readonly proxies: number;
  /** Told of every refusal. */
  readonly metrics: Metrics | undefined;
  /** Whether new sessions are refused. */
  draining(): boolean;
}

/** What counts of a request to Engine.IO. */
export interface Knock {
  /** Without `?`. */
  readonly query: string;
  /** The `Origin` header. */
  readonly origin: string | undefined;
  /** Where it comes from. */
  readonly address: string;
  /** Takes a place for a new session; tells whether its address had one left. */
  takePlace(): boolean;
}

/**
 * Decides about one request to Engine.IO, in the same way over polling and for an upgrade: origin,
 * version, shutdown, sessions of its address (spec §2, §10).
 *
 * @returns why not, or `undefined` when the request may pass
 */
export function judgeKnock(
  knock: Knock,
  parts: EntranceParts,
): Refusal | undefined {
  const { query, origin, address } = knock;
  const refused = checkOrigin(origin, parts.origins) ??
    checkGate(query, parts.profile) ??
    (opensSession(query) ? judgeSession(knock, parts) : undefined);
  if (refused) {
    const { code, message }: ErrorPayload = JSON.parse(refused.body);
    parts.metrics?.handshakeRefused("http", code);
    const from = refused.status === 403 ? ` (${quote(origin ?? "")})` : "";
    parts.limiter.refusedHandshake({ code, reason: message + from, address });
  }
  return refused;
}

function judgeSession(
  { address, takePlace }: Knock,
  { limiter, draining }: EntranceParts,
): Refusal | undefined {
  if (draining()) return refusal(503, shuttingDown().toPayload());
  if (takePlace()) return undefined;
  const error = limiter.refuse("connectionsPerAddress", { address });
  return refusal(429, error.toPayload());
}
