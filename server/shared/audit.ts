import { getLogger, type Logger } from "@logtape/logtape";
import type { Role } from "../../protocol/mod.ts";
import type { CallEnd } from "./call_end.ts";

/** The client of an {@linkcode AuditEvent}. */
export interface AuditParty {
  /** The client's network address. */
  readonly address: string;
  /** The Socket.IO id. */
  readonly socket: string;
  /** Its authenticated principal. */
  readonly principal?: string;
}

/** A throttled line; see `LogThrottle`. */
export interface AuditFlood {
  /** Number of lines about the same subject that were omitted before this one; absent for none. */
  readonly omitted?: number;
}

/** A seat that an {@linkcode AuditEvent} is about. */
export interface AuditSeat {
  readonly office: string;
  readonly role: Role;
  readonly name: string;
}

/**
 * A line of the audit log (spec §10).
 *
 * Never contains credentials; parameters and results only if the operator enabled them.
 */
export type AuditEvent =
  /**
   * A session was refused, or a request of a gateway's client; `code` is that of the flat error,
   * below 10 that of Engine.IO.
   */
  | (
    & { event: "handshake_refused"; code: number; reason: string }
    & { address: string; principal?: string; office?: string }
    & AuditFlood
  )
  /** A TLS handshake failed; the reason says which side lacks what. */
  | ({ event: "tls_failed"; reason: string; address: string } & AuditFlood)
  /** A join was answered with `false`. */
  | (
    & { event: "join_refused"; reason: string }
    & AuditParty
    & Partial<AuditSeat>
  )
  /** A request for another office (4104), or with the name or role of another member (403). */
  | (
    & { event: "access_refused"; request: string; code: number; reason: string }
    & AuditParty
    & Partial<AuditSeat>
  )
  /** A client exceeded a limit. */
  | (
    & { event: "limit_hit"; limit: string; address: string }
    & Partial<AuditParty>
    & AuditFlood
  )
  /** A session sent an invalid or oversized packet, and its connection was closed. */
  | ({ event: "packet_refused"; reason: string } & AuditParty & AuditFlood)
  /** A session was ended because its credentials expired. */
  | ({ event: "session_expired" } & AuditParty & Partial<AuditSeat>)
  /** A session was ended because its credentials were revoked. */
  | (
    & { event: "session_revoked"; reason: string }
    & AuditParty
    & Partial<AuditSeat>
  )
  | ({ event: "joined" } & AuditParty & AuditSeat)
  /** A member has left; without an address when its node did not say so itself, and why then. */
  | (
    & { event: "left"; reason?: string }
    & Omit<AuditParty, "address">
    & Partial<AuditParty>
    & AuditSeat
  )
  /** An operator kicked a member. */
  | (
    & { event: "member_kicked"; by: string; reason: string; hold_ms: number }
    & AuditParty
    & AuditSeat
  )
  /** An operator ended a call. */
  | {
    event: "call_cancelled";
    by: string;
    reason: string;
    office: string;
    agent: string;
    computer: string;
    req_id: string;
    request: string;
  }
  /** A Computer was asked by an operator, who has no seat. */
  | ({
    event: "operator_asked";
    by: string;
    office: string;
    computer: string;
    req_id: string;
    request: string;
    tool?: string;
    ms: number;
    params?: unknown;
    result?: unknown;
  } & CallEnd)
  /** An operator refuses a key, or the holder of tokens, until the Server reads its keys again. */
  | { event: "key_revoked"; by: string; reason: string; principal: string }
  /** A tool call ended; see {@linkcode AuditedCall}. */
  | ({ event: "tool_call" } & AuditedCall)
  /** Contents were read, or a prompt was got; see {@linkcode AuditedRead}. */
  | ({ event: "read" } & AuditedRead);

/** A request of an Agent that a Computer answered: who, where, how long, how it ended. */
interface AuditedRequest extends CallEnd {
  readonly office: string;
  readonly agent: string;
  /** Who it is authenticated as; behind a gateway's Agent, who asked the gateway. */
  readonly principal?: string;
  /** Behind a gateway's Agent, the program that asked, as that says itself. */
  readonly client?: string;
  readonly computer: string;
  readonly req_id: string;
  /** Milliseconds from its arrival to its answer. */
  readonly ms: number;
}

/** A tool call: who, what, how long, how it ended. */
export interface AuditedCall extends AuditedRequest {
  readonly tool: string;
  /** Only where payloads are switched on. */
  readonly params?: unknown;
  /** Only where payloads are switched on. */
  readonly result?: unknown;
}

/** A desktop, document, resource or prompt that was read: who, what, how long, how it ended. */
export interface AuditedRead extends AuditedRequest {
  /** The event, such as `client:read_resource`. */
  readonly request: string;
  /** The MCP server, where the request names it. */
  readonly mcp_server?: string;
  /** The resource, document or window, without what may hold credentials: user, query and fragment. */
  readonly uri?: string;
  /** The name of the prompt. */
  readonly prompt?: string;
  /** The name of the skill. */
  readonly skill?: string;
  /** The file of the skill; absent for `SKILL.md`. */
  readonly path?: string;
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
  member_kicked: "info",
  call_cancelled: "info",
  operator_asked: "info",
  key_revoked: "info",
  joined: "info",
  left: "info",
  tool_call: "info",
  read: "info",
} as const satisfies Record<AuditEvent["event"], "info" | "warning">;

/** Writes one line of the audit log; all of them are written here. */
export function audit({ event, ...fields }: AuditEvent): void {
  const level = LEVELS[event];
  if (!logger.isEnabledFor(level)) return;
  // A finished record, which skips LogTape's search for placeholders: every call writes a line.
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

/** Returns a seat, for an audit line. */
export const seatOf = (
  seat: AuditSeat | undefined,
): AuditSeat | undefined =>
  seat && { office: seat.office, role: seat.role, name: seat.name };
