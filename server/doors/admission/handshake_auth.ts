import {
  ErrorCode,
  parseRole,
  ProtocolError,
  type Role,
} from "../../../protocol/mod.ts";

/** The `auth` fields of a connection that the server reads (spec §2, §9). */
export interface HandshakeAuth {
  /** The role that the client must join with. */
  readonly role: Role | undefined;
  /** Distinguishes a reconnecting client from others with the same name. */
  readonly instance: string | undefined;
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
