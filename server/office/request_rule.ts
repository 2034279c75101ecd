import {
  type AgentCallData,
  CLIENT_EVENTS,
  type ClientEvent,
  ErrorCode,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_TOOLS_EVENT,
  isClientEvent,
  OPERATOR_AGENT,
  operatorOf,
  ProtocolError,
  READ_RESOURCE_EVENT,
  SERVER_EVENTS,
  type ServerEvent,
  type ServerEventSpec,
  TOOL_CALL_EVENT,
  type ToolCallCancel,
} from "../../protocol/mod.ts";
import { Payload } from "../shared/payload.ts";
import type { CallEnd } from "../shared/call_end.ts";
import type { Deadline } from "../shared/deadlines.ts";
import { restrictsNames } from "../shared/identity.ts";
import type { MemberEvent, Seated } from "./peer.ts";

// ------------------------------------------------------------------ who may send what (spec §5)

/** What a request claims about its sender. */
export interface Claim {
  /** The role that may send it. */
  readonly role: ServerEventSpec<ServerEvent>["from"];
  /** The claimed name: `agent` of an Agent's request, `computer` of a Computer's. */
  readonly name: string;
  /** The office that it names, if any. */
  readonly office?: string;
}

/**
 * Decides whether a member may send a request with a valid payload: role (403), name (403), office
 * (4104), in this order. Who is no member was refused before ({@linkcode refuseOutsider}).
 *
 * A Computer must give its own name. An Agent may give any, since released SDKs take it from another
 * setting than the name of the join; the name of its seat counts. Credentials that restrict names
 * require the exact name of an Agent, too.
 *
 * @throws {ProtocolError} with the code of the first check that fails
 */
export function checkAccess(
  { role, name, office, peer }: Seated,
  claim: Claim,
): void {
  if ((role === "operator" ? "agent" : role) !== claim.role) {
    const sender = claim.role === "agent" ? "an agent" : "a computer";
    throw forbidden(`Only ${sender} may send this event`);
  }
  const { policy } = peer.identity ?? {};
  const isExact = role === "computer" ||
    role === "agent" && policy !== undefined && restrictsNames(policy);
  if (isExact && name !== claim.name) {
    throw forbidden(
      `Cannot act for another member: "${role}" must be the name you joined with`,
    );
  }
  if (claim.office !== undefined && claim.office !== office) {
    throw new ProtocolError(
      ErrorCode.CROSS_ROOM_ACCESS,
      "Cannot reach another office: office_id must be the one you are in",
    );
  }
}

/** The error for what a role, a name or an operator's order forbids. */
export const forbidden = (message: string): ProtocolError =>
  new ProtocolError(ErrorCode.FORBIDDEN, message);

/**
 * Refuses an event of a client without a seat.
 *
 * @throws {ProtocolError} 400 for an invalid payload, else 4103
 */
export function refuseOutsider(event: MemberEvent, payload: Payload): never {
  if (isClientEvent(event)) CLIENT_EVENTS[event].parseRequest(payload.peek());
  else SERVER_EVENTS[event].parseRequest(payload.parse());
  throw notInOffice();
}

/** The error for a client that is in no office, or no longer in one. */
export const notInOffice = (): ProtocolError =>
  new ProtocolError(
    ErrorCode.NOT_IN_ROOM,
    "Not in an office: join one first",
  );

// ------------------------------------------------------------------ requests and answers (spec §7)

/** Added to a request's own `timeout`, so that the Computer's answer comes first. */
const ANSWER_MARGIN_MS = 5_000;

/** The events whose requests define `timeout`. */
const TIMED: ReadonlySet<ClientEvent> = new Set<ClientEvent>([
  TOOL_CALL_EVENT,
  GET_DPE_EVENT,
  READ_RESOURCE_EVENT,
  GET_PROMPTS_EVENT,
  GET_PROMPT_EVENT,
]);

/**
 * Returns how many milliseconds to wait for a Computer's answer.
 *
 * @param timeout the request's field, in seconds; used only for events that define it
 * @param fallbackMs for requests without one
 */
export function answerDeadline(
  event: ClientEvent,
  timeout: unknown,
  fallbackMs: number,
): number {
  if (!TIMED.has(event)) return fallbackMs;
  return (typeof timeout === "number" ? timeout * 1000 : fallbackMs) +
    ANSWER_MARGIN_MS;
}

/**
 * Decides how a call ends that its Agent cancels. Other SDKs do not say that they cancel because of the
 * timeout, which has passed then.
 *
 * @param now milliseconds of the clock of `due`
 */
export const endOfCancelled = (
  { due }: Deadline,
  reason: ToolCallCancel["reason"],
  now: number,
): CallEnd => ({
  outcome: reason === "timeout" || now >= due - ANSWER_MARGIN_MS
    ? "timeout"
    : "cancelled",
  ended_by: "agent",
});

/** The name in `agent` of what a member asks: that of its seat. */
export const agentName = ({ role, name }: Seated): string =>
  role === "operator" ? OPERATOR_AGENT : name;

/**
 * Replaces the Agent's name in a request by that of its seat, so that the Computer gets a call and its
 * cancel with the same name. Only the Server says that an operator asks, so that the Computer may
 * refuse: a client's own `operator` is left out.
 *
 * @param request the known members of the payload
 * @returns the payload itself, where nothing of it changes
 */
export function asOfSeat(
  seat: Seated,
  request: AgentCallData,
  payload: Payload,
): Payload {
  const agent = agentName(seat);
  if (
    seat.role === "agent" && request.agent === agent &&
    operatorOf(request) === undefined
  ) return payload;
  const { operator: _, ...rest } = Object(payload.parse());
  return Payload.of({
    ...rest,
    agent,
    ...(seat.role === "operator" && { operator: seat.name }),
  });
}

/** The events that Computers of every SDK and version know. */
const COMMON: ReadonlySet<ClientEvent> = new Set<ClientEvent>([
  TOOL_CALL_EVENT,
  GET_TOOLS_EVENT,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
]);

/**
 * Converts a Computer's ack to the answer: an object unchanged; 400 for the empty ack of a Computer
 * that does not know the event, as other SDKs leave it (0.4 §12); 500 for anything else.
 */
export function readAnswer(
  first: Payload | undefined,
  event: ClientEvent,
): Payload {
  if (first?.isObject) return first;
  const [code, message] = first === undefined && !COMMON.has(event)
    ? [ErrorCode.BAD_REQUEST, `The Computer does not know ${event}`]
    : [ErrorCode.INTERNAL_ERROR, "The computer's answer is not an object"];
  return Payload.of({ code, message });
}

/** The error when the target is not in the caller's office; never reveals whether it is in another (spec §5). */
export const computerNotFound = (computer: string): ProtocolError =>
  failed(ErrorCode.NOT_FOUND, computer, "is not in your office");

/** The error when the Computer left before it answered (spec §5). */
export const computerLeft = (computer: string): ProtocolError =>
  failed(ErrorCode.NOT_FOUND, computer, "left before it answered", {
    reason: "computer disconnected",
  });

/** The error when the Computer did not answer in time. */
export const answerTimedOut = (computer: string, ms: number): ProtocolError =>
  failed(ErrorCode.TIMEOUT, computer, `did not answer within ${ms / 1000} s`);

const failed = (
  code: number,
  computer: string,
  problem: string,
  more: object = {},
): ProtocolError =>
  new ProtocolError(code, `Computer ${JSON.stringify(computer)} ${problem}`, {
    fields: { computer, ...more },
  });
