/**
 * The audit log (protocol §10): how a request ended, the lines of the log as one union of types, and the
 * journal to which all parts of a server write.
 *
 * @module
 */
import { getLogger, type Logger, type LogLevel } from "@logtape/logtape";
import {
  type CallToolResult,
  ErrorCode,
  resultMeta,
  type Role,
  toErrorPayload,
  type Waiting,
} from "../../protocol/mod.ts";
import type { MemberSeat } from "./identity.ts";
import type { LogLine } from "./log.ts";
import type { Payload } from "./payload.ts";

/** Who cancelled a call, or whose timeout ended it. */
export type EndedBy = "agent" | "operator" | "server" | "computer";

/** How a request ended: fields of log lines and events, and labels of metrics. */
export interface CallEnd {
  /** `ok`, `tool error` (of the MCP server itself), `cancelled`, `timeout`, `agent gone`, or `error` and a code. */
  readonly outcome: string;
  /** Of `cancelled` and `timeout` alone. */
  readonly ended_by?: EndedBy;
}

const endedBy = (outcome: string, ended_by: EndedBy): CallEnd => ({
  outcome,
  ended_by,
});

/** It was answered, and did not fail. */
export const OK: CallEnd = { outcome: "ok" };
/** Its Agent left the office, or lost its connection, before the answer. */
export const AGENT_GONE: CallEnd = { outcome: "agent gone" };
/** It was answered with a question: another request of the same call has the answer, and goes on. */
export const ASKED: CallEnd = { outcome: "input required" };
/** Its Agent has not answered its question. */
export const UNANSWERED: CallEnd = endedBy("cancelled", "agent");
/** An operator ended it, or kicked its Agent. */
export const CANCELLED_BY_OPERATOR: CallEnd = endedBy("cancelled", "operator");
/** Its Computer did not answer within the Server's deadline. */
export const TIMEOUT_OF_SERVER: CallEnd = endedBy("timeout", "server");

/** Names the end of a call in a few words, such as `timeout of the agent`, for people. */
export const endText = ({ outcome, ended_by }: CallEnd): string =>
  ended_by === undefined
    ? outcome
    : `${outcome} ${outcome === "timeout" ? "of" : "by"} the ${ended_by}`;

/** How requests end without a fault. */
const FINE: readonly string[] = [
  "ok",
  "cancelled",
  "agent gone",
  ASKED.outcome,
];

/**
 * Returns whether the end of a call is an error of one of its two members. An Agent that did not wait
 * longer has nothing to do with its Computer.
 */
export const isFaultOf = (
  role: Role,
  { outcome, ended_by }: CallEnd,
): boolean =>
  !FINE.includes(outcome) && !(role === "computer" && ended_by === "agent");

const TIMEOUT_OF_COMPUTER = endedBy("timeout", "computer");
const CANCELLED_BY_COMPUTER = endedBy("cancelled", "computer");

/**
 * Derives from its answer how a request ended.
 *
 * @param body the answer; `undefined` if the Agent was gone
 * @param stopped how the request ends if the answer is that of a cancelled one, or there is none: its
 * Agent has cancelled it
 */
export function endOf(body: Payload | undefined, stopped?: CallEnd): CallEnd {
  if (body === undefined) return stopped ?? AGENT_GONE;
  if (!body.mayBeError) return OK;
  const answer = body.peek();
  const refused = toErrorPayload(answer);
  if (refused) {
    return refused.code === ErrorCode.TIMEOUT
      ? TIMEOUT_OF_COMPUTER
      : { outcome: `error ${refused.code}` };
  }
  const result = answer as CallToolResult; // whatever a Computer sent
  if (result.isError !== true) return OK;
  const { a2c_cancelled, error_code } = resultMeta(result);
  if (a2c_cancelled === true) return stopped ?? CANCELLED_BY_COMPUTER;
  if (error_code === ErrorCode.TOOL_TIMEOUT) {
    return stopped ?? TIMEOUT_OF_COMPUTER;
  }
  const isKnown = Number.isInteger(error_code);
  return { outcome: isKnown ? `error ${error_code}` : "tool error" };
}

/** The client of an {@linkcode AuditEvent}. */
export interface AuditParty {
  /** The client's network address. */
  readonly address: string;
  /** The Socket.IO id. */
  readonly socket: string;
  /** Its authenticated principal. */
  readonly principal?: string;
}

/** The client that exceeded a limit; without a session only its address is known. */
export type LimitSubject = Pick<AuditParty, "address"> & Partial<AuditParty>;

/** Number of lines about the same subject that were omitted before this one, see `LogThrottle`; absent for none. */
type Throttled = { readonly omitted?: number };

/** A client that may have a seat, and why its request was refused or its session ended. */
type Reasoned = { reason: string } & AuditParty & Partial<MemberSeat>;

/** Why a request was refused that belongs to no session. */
type Refusal = { reason: string; address: string };

/** What an operator has done, and why. */
type Ordered = { by: string; reason: string };

/** A program that uses an office by a sign-in, or asks for one. */
interface SignInParty {
  readonly office: string;
  /** Whose key or account it is. */
  readonly principal: string;
  /** The program's name, as it states it. */
  readonly program: string;
  /** The host that vouches for the name. */
  readonly vouched_by?: string;
}

/** The fields of each line of the audit log, by its event. */
export interface AuditLines {
  /**
   * A session was refused, or a request of a gateway's client; `code` is that of the flat error,
   * below 10 that of Engine.IO.
   */
  handshake_refused: { code: number; reason: string; address: string } & {
    principal?: string;
    office?: string;
  } & Throttled;
  /** A TLS handshake failed; the reason names the side, and what it lacks. */
  tls_failed: { reason: string; address: string } & Throttled;
  /** A join was answered with `false`. */
  join_refused: Reasoned;
  /** A request for another office (4104), or with the name or role of another member (403). */
  access_refused: { request: string; code: number } & Reasoned;
  /** A client exceeded a limit. */
  limit_hit: { limit: string } & LimitSubject & Throttled;
  /** A session sent an invalid or oversized packet, and its connection was closed. */
  packet_refused: { reason: string } & AuditParty & Throttled;
  /** A session was ended because its credentials expired. */
  session_expired: AuditParty & Partial<MemberSeat>;
  /** A session was ended because its credentials were revoked. */
  session_revoked: Reasoned;
  joined: AuditParty & MemberSeat;
  /** A member has left; without an address, and with the reason, when its node did not report it itself. */
  left: { reason?: string; socket: string } & Partial<AuditParty> & MemberSeat;
  /** An operator kicked a member. */
  member_kicked: Ordered & { hold_ms: number } & AuditParty & MemberSeat;
  /** An operator ended a call. */
  call_cancelled: Ordered & { request: string } & NamedRequest;
  /** A request of an operator, who has no seat, to a Computer. */
  operator_asked:
    & { by: string; request: string; tool?: string }
    & { ms: number; params?: unknown; result?: unknown }
    & Omit<NamedRequest, "agent">
    & CallEnd;
  /** An operator refuses a key, or the holder of tokens, until the Server reads its keys again. */
  key_revoked: Ordered & { principal: string };
  /** A person allowed a program to use an office, which made a grant. */
  sign_in_allowed: { grant: string; address: string } & SignInParty;
  /** A person refused a program; who that was is unknown. */
  sign_in_denied: { address: string } & Partial<SignInParty>;
  /** A step of a sign-in was refused, such as a wrong key, or a request for a token. */
  sign_in_refused: Refusal & Partial<SignInParty> & Throttled;
  /** A code or a refresh token was used again after its time, which ends its grant. */
  token_reused:
    & { grant: string; token: "code" | "refresh token" }
    & SignInParty;
  /** A grant ended, and why; with the operator's reason where one ended it. */
  grant_ended: { grant: string; why: string } & Partial<Ordered> & SignInParty;
  /** A request of a person's device, which the Server cannot read; at most one line a device and minute. */
  device_asked:
    & { office: string; computer: string; device: string }
    & { bytes: number; ms: number }
    & Throttled;
  /** A tool call ended; see {@linkcode AuditedCall}. */
  tool_call: AuditedCall;
  /** Contents were read, or a prompt was got; see {@linkcode AuditedRead}. */
  read: AuditedRead;
}

type EventOf<Lines> = {
  [Name in keyof Lines]: { event: Name } & Lines[Name];
}[keyof Lines];

/**
 * A line of the audit log (protocol §10).
 *
 * Never contains credentials; parameters and results only if the operator enabled them.
 */
export type AuditEvent = EventOf<AuditLines>;

/** What names a request of an Agent to a Computer. */
interface NamedRequest {
  readonly office: string;
  readonly agent: string;
  readonly computer: string;
  readonly req_id: string;
}

/** A request that a Computer answered: who, where, how long, how it ended. */
interface AuditedRequest extends NamedRequest, CallEnd {
  /** Its identity; behind a gateway's Agent, that of the gateway's client. */
  readonly principal?: string;
  /** Behind a gateway's Agent, the client's program, by its own claim. */
  readonly client?: string;
  /** The sign-in by which that has called. */
  readonly grant?: string;
  /** Milliseconds from its arrival to its answer. */
  readonly ms: number;
  /** Only where payloads are switched on. */
  readonly result?: unknown;
}

/** A tool call: who, what, how long, how it ended. */
interface AuditedCall extends AuditedRequest {
  readonly tool: string;
  /** Only where payloads are switched on. */
  readonly params?: unknown;
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
}

const category = ["a2c-smcp", "audit"];
const logger: Logger = getLogger(category);

/** Events that may need an operator's attention; the common case does not. */
const WARNINGS: ReadonlySet<AuditEvent["event"]> = new Set([
  ...["handshake_refused", "tls_failed", "join_refused"] as const,
  ...["access_refused", "limit_hit", "packet_refused"] as const,
  ...["sign_in_refused", "token_reused"] as const,
]);

/** Writes one line of the audit log; all of them are written here. */
export function audit({ event, ...fields }: AuditEvent): void {
  const level: LogLevel = WARNINGS.has(event) ? "warning" : "info";
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
export const seatOf = (seat?: MemberSeat): MemberSeat | undefined =>
  seat && { office: seat.office, role: seat.role, name: seat.name };

/** A request of an Agent to a Computer, as an observer sees it. */
interface SeenCall extends NamedRequest {
  /** The event, such as `client:tool_call`. */
  readonly request: string;
  /** The tool, of a tool call. */
  readonly tool?: string;
  /** Who the Agent is authenticated as. */
  readonly principal?: string;
  /** The size of the request, or of the answer, where it is known without encoding it. */
  readonly bytes?: number;
}

/** The fields of what an observer sees besides, by its event. */
interface SeenLines extends AuditLines {
  /** A request passed its checks; `params` only where payloads are switched on. */
  call_began: { readonly params?: unknown } & SeenCall;
  /** It waits for a person at its Computer, or with `null` no more. */
  call_waiting: { readonly waiting: Waiting | null } & SeenCall;
  /** A line of the server's log, more than debugging; `omitted` lines before it are not shown. */
  log: Omit<LogLine, "fields"> & Partial<LogLine> & Throttled;
  /** It ended; `result` only where payloads are switched on. */
  call_ended:
    & { readonly ms: number; readonly result?: unknown }
    & CallEnd
    & SeenCall;
}

/** What an observer sees. */
export type SeenEvent = EventOf<SeenLines>;

/** Where a server notes what happens. */
export class Journal {
  /** Called for each event while an operator observes the server, which is rare. */
  observer: ((event: SeenEvent) => void) | undefined;

  /** Writes a line of the audit log, and notifies the observer. */
  readonly write = (event: AuditEvent): void => {
    audit(event);
    this.observer?.(event);
  };
}
