import {
  ErrorCode,
  parseRole,
  type Profile,
  ProtocolError,
  type Role,
  VERSION_PARAMETER,
} from "../../protocol/mod.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { chooseProfile, isRefusal } from "../http/gate.ts";
import { addressOf, clientAddress } from "../limits/limits.ts";
import { toConnectError, unauthorized } from "../shared/payload.ts";
import {
  opensSession,
  parametersOf,
  type RequestHead,
  splitTarget,
} from "../shared/http.ts";
import type { Identity } from "../shared/identity.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { Connection } from "../wire/mod.ts";

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
 * @param auth its credentials
 * @returns the error for one that may not connect
 */
export async function admit(
  connection: Connection,
  auth: Record<string, unknown>,
  { authenticator, limiter, proxies, profiles }: AdmitParts,
): Promise<Admission | Error> {
  const { headers, url = "" } = connection.request;
  const address = peerOf(connection, proxies);
  const refuse = (error: unknown, why?: string) => {
    const refusal = toConnectError(error);
    const { code, message } = refusal.data;
    const reason = why ?? message;
    limiter.recordRefusedHandshake("namespace", { code, reason, address });
    return refusal;
  };
  try {
    const verdict = await authenticator?.authenticate({
      ...{ auth, headers, address },
    });
    if (verdict && "refused" in verdict) {
      return refuse(unauthorized(verdict), verdict.refused);
    }
    const { query } = splitTarget(url);
    const profile = chooseProfile(query, profiles);
    if (isRefusal(profile)) throw new Error("The gate let in any version");
    return {
      ...readHandshakeAuth(auth),
      profile,
      version: parametersOf(query).getAll(VERSION_PARAMETER).at(-1) ??
        profile.version,
      identity: verdict,
      address,
    };
  } catch (error) {
    return refuse(error);
  }
}

/** The `auth` fields of a connection that the server reads (spec §2, §9). */
export interface HandshakeAuth {
  /** The role that the client must join with. */
  readonly role: Role | undefined;
  /** Distinguishes a reconnecting client from others with the same name. */
  readonly instance: string | undefined;
}

/** What is known of a client that was let in. */
export interface Admission extends HandshakeAuth {
  /** The version that it is served in. */
  readonly profile: Profile;
  /** The `a2c_version` that it sent; that of the profile if it sent none. */
  readonly version: string;
  readonly identity: Identity | undefined;
  readonly address: string;
}

const MAX_INSTANCE_LENGTH = 256;

/**
 * Reads the `auth` object of a connection; ignores other fields.
 *
 * @throws {ProtocolError} 400 when `role` or `instance_id` is present but invalid
 */
export function readHandshakeAuth(
  auth: Record<string, unknown>,
): HandshakeAuth {
  const { role, instance_id: instance } = auth;
  return {
    role: role === undefined ? undefined : readRole(role),
    instance: instance === undefined ? undefined : readInstance(instance),
  };
}

function readRole(role: unknown): Role {
  try {
    return parseRole(role);
  } catch {
    throw new ProtocolError(
      ErrorCode.BAD_REQUEST,
      'Invalid auth.role: expected "agent" or "computer"',
    );
  }
}

function readInstance(instance: unknown): string {
  if (
    typeof instance !== "string" || instance === "" ||
    instance.length > MAX_INSTANCE_LENGTH
  ) {
    throw new ProtocolError(
      ErrorCode.BAD_REQUEST,
      `Invalid auth.instance_id: expected a string of 1 to ${MAX_INSTANCE_LENGTH} characters`,
    );
  }
  return instance;
}

/** Returns the address of a client. */
export const peerOf = (
  { remoteAddress, request: { headers } }: Connection,
  proxies: number,
): string => clientAddress(remoteAddress, headers["x-forwarded-for"], proxies);

/** The parts of a server that record refusals. */
interface RefusalParts {
  /** Counts refusals, and writes them to the audit log. */
  readonly limiter: Limiter;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
}

/** Returns the error for a socket on another namespace (spec §2), and records it. */
export function refuseNamespace(
  connection: Connection,
  { limiter, proxies }: RefusalParts,
): Error {
  const code = ErrorCode.BAD_REQUEST;
  const reason = "Invalid namespace";
  const address = peerOf(connection, proxies);
  limiter.recordRefusedHandshake("namespace", { code, reason, address });
  return toConnectError(new ProtocolError(code, reason));
}

/**
 * Records a session request that Engine.IO refuses: another version of it, an unknown transport
 * (spec §10). Requests of ended sessions are common, and not worth recording.
 */
export function recordEngineRefusal(
  request: RequestHead,
  { code, reason }: { readonly code: number; readonly reason: string },
  { limiter, proxies }: RefusalParts,
): void {
  if (!opensSession(splitTarget(request.url ?? "").query)) return;
  const address = addressOf(request, { proxies });
  limiter.recordRefusedHandshake("http", { code, reason, address });
}
