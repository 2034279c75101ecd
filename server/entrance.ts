import type { ErrorPayload, Profile } from "../protocol/mod.ts";
import { shuttingDown } from "./_answers.ts";
import { quote } from "./_log.ts";
import { audit } from "./audit.ts";
import { checkGate, opensSession, type Refusal, refusal } from "./gate.ts";
import { checkOrigin, type Origins } from "./origin_rule.ts";

/** What decides about requests. */
export interface EntranceParts {
  /** What the server speaks. */
  readonly profile: Profile;
  /** Web origins whose pages may connect. */
  readonly origins: Origins;
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
}

/**
 * Decides about one request to Engine.IO, in the same way over polling and for an upgrade: origin,
 * version, shutdown (spec §2, §10).
 *
 * @returns why not, or `undefined` when the request may pass
 */
export function judgeKnock(
  { query, origin, address }: Knock,
  { profile, origins, draining }: EntranceParts,
): Refusal | undefined {
  const refused = checkOrigin(origin, origins) ??
    checkGate(query, profile) ??
    (draining() && opensSession(query)
      ? refusal(503, shuttingDown().toPayload())
      : undefined);
  if (refused) {
    const { code, message }: ErrorPayload = JSON.parse(refused.body);
    const from = refused.status === 403 ? ` (${quote(origin ?? "")})` : "";
    audit({
      event: "handshake_refused",
      code,
      reason: message + from,
      address,
    });
  }
  return refused;
}
