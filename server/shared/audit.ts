import { getLogger, type Logger } from "@logtape/logtape";
import type { Role } from "../../protocol/mod.ts";
import type { Member } from "./member.ts";
import type { Session } from "./session.ts";

/** Whose connection an {@linkcode AuditEvent} is about. */
export interface AuditParty {
  /** The client's network address. */
  readonly address: string;
  /** The Socket.IO id. */
  readonly socket: string;
  /** Who it is authenticated as. */
  readonly principal?: string;
}

/** A line that stands for a flood; see `LogThrottle`. */
export interface AuditFlood {
  /** How many lines about the same were left out before this one; absent for none. */
  readonly omitted?: number;
}

/** A seat that an {@linkcode AuditEvent} is about. */
export interface AuditSeat {
  readonly office: string;
  readonly role: Role;
  readonly name: string;
}

/**
 * What is worth a line of the audit log (spec §10).
 *
 * No credential is ever part of one; parameters and results only where the operator asked for them.
 */
export type AuditEvent =
  /** A request for a session was refused; `code` is that of the flat error, Engine.IO's below 10. */
  | (
    & { event: "handshake_refused"; code: number; reason: string }
    & { address: string }
    & AuditFlood
  )
  /** A client got no TLS connection; the reason says which side misses what. */
  | ({ event: "tls_failed"; reason: string; address: string } & AuditFlood)
  /** A join was answered with `false`. */
  | (
    & { event: "join_refused"; reason: string }
    & AuditParty
    & Partial<AuditSeat>
  )
  /** A request for another office (4104), in another's name or of another role (403). */
  | (
    & { event: "access_refused"; request: string; code: number; reason: string }
    & AuditParty
    & Partial<AuditSeat>
  )
  /** A client is over a limit. */
  | (
    & { event: "limit_hit"; limit: string; address: string }
    & Partial<AuditParty>
    & AuditFlood
  )
  /** A session sent what is no packet, or too much of it, and its connection was closed. */
  | ({ event: "packet_refused"; reason: string } & AuditParty & AuditFlood)
  /** The credentials of a session expired, and it was ended. */
  | ({ event: "session_expired" } & AuditParty & Partial<AuditSeat>)
  /** The credentials of a session are gone, and it was ended. */
  | (
    & { event: "session_revoked"; reason: string }
    & AuditParty
    & Partial<AuditSeat>
  )
  | ({ event: "joined" } & AuditParty & AuditSeat)
  | ({ event: "left" } & AuditParty & AuditSeat)
  /** A tool call ended; see {@linkcode AuditedCall}. */
  | ({ event: "tool_call" } & AuditedCall);

/** A tool call: who, what, how long, how it ended. */
export interface AuditedCall {
  readonly office: string;
  readonly agent: string;
  readonly principal?: string;
  readonly computer: string;
  readonly tool: string;
  readonly req_id: string;
  /** Milliseconds from its arrival to its answer. */
  readonly ms: number;
  /** As `outcomeOf` says. */
  readonly outcome: string;
  /** Only where payloads are switched on. */
  readonly params?: unknown;
  /** Only where payloads are switched on. */
  readonly result?: unknown;
}

const category = ["a2c-smcp", "audit"];
const logger: Logger = getLogger(category);

/** Events that may need an operator's attention are warnings, the common case is not. */
const LEVELS = {
  handshake_refused: "warning",
  tls_failed: "warning",
  join_refused: "warning",
  access_refused: "warning",
  limit_hit: "warning",
  packet_refused: "warning",
  session_expired: "info",
  session_revoked: "info",
  joined: "info",
  left: "info",
  tool_call: "info",
} as const satisfies Record<AuditEvent["event"], "info" | "warning">;

/** Writes one line of the audit log; the only place that does. */
export function audit({ event, ...fields }: AuditEvent): void {
  const level = LEVELS[event];
  if (!logger.isEnabledFor(level)) return;
  // A record as it stands: there are no placeholders to look for, and every call has a line.
  const record = {
    category,
    level,
    message: [event],
    rawMessage: event,
    timestamp: Date.now(),
    properties: fields,
  };
  logger.emit(record);
}

/** Whose connection a session is. */
export const partyOf = (
  { address, socket, identity }: Session,
): AuditParty => ({
  address,
  socket: socket.id,
  ...(identity && { principal: identity.principal }),
});

/** The seat of a member, without the rest of what is known of it. */
export const seatOf = ({ office, role, name }: Member): AuditSeat => ({
  office,
  role,
  name,
});
