import type { Socket } from "socket.io";
import { type Profile, VERSION_PARAMETER } from "../../../protocol/mod.ts";
import type { Authenticator } from "../../auth/authenticator.ts";
import { chooseProfile, isRefusal } from "../../http/gate.ts";
import { clientAddress } from "../../limits/client_address.ts";
import { toConnectError, unauthorized } from "../../shared/error_payload.ts";
import { splitTarget } from "../../shared/request_target.ts";
import type { Admission } from "../session.ts";
import { readHandshakeAuth } from "./handshake_auth.ts";
import type { RefusalParts } from "./refuse_namespaces.ts";

/** The parts of a server that {@linkcode admit} needs. */
export interface AdmitParts extends RefusalParts {
  /** The versions that the server lets in, oldest first. */
  readonly profiles: readonly Profile[];
  /** Decides who may connect; without it, everybody may. */
  readonly authenticator: Authenticator | undefined;
}

/**
 * Authenticates a client, and reads its `auth` (spec §2, §10).
 *
 * @returns the error for one that may not connect
 */
export async function admit(
  { handshake: { auth, headers, address: peer, query, url } }: Socket,
  { authenticator, limiter, proxies, metrics, profiles }: AdmitParts,
): Promise<Admission | Error> {
  const address = clientAddress(peer, headers["x-forwarded-for"], proxies);
  const refuse = (error: unknown, why?: string) => {
    const refusal = toConnectError(error);
    const { code, message } = refusal.data;
    const reason = why ?? message;
    metrics?.handshakeRefused("namespace", code);
    limiter.recordRefusedHandshake({ code, reason, address });
    return refusal;
  };
  try {
    const verdict = await authenticator?.authenticate({
      ...{ auth, headers, address },
    });
    if (verdict && "refused" in verdict) {
      return refuse(unauthorized(verdict), verdict.refused);
    }
    const profile = chooseProfile(splitTarget(url).query, profiles);
    if (isRefusal(profile)) throw new Error("The gate let in any version");
    return {
      ...readHandshakeAuth(auth),
      profile,
      version: String(query[VERSION_PARAMETER] ?? profile.version),
      identity: verdict,
      address,
    };
  } catch (error) {
    return refuse(error);
  }
}
