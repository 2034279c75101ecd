import {
  type AgentCallData,
  type ClientEvent,
  ErrorCode,
  type ErrorPayload,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_TOOLS_EVENT,
  operatorOf,
  ProtocolError,
  READ_RESOURCE_EVENT,
  TOOL_CALL_EVENT,
  type ToolCallCancel,
} from "../../protocol/mod.ts";
import type { CallEnd } from "../shared/call_end.ts";
import type { Deadline } from "../shared/deadlines.ts";
import type { Member } from "../shared/member.ts";
import { Payload } from "../wire/mod.ts";

/** Added to a request's own `timeout`, so that the Computer's answer comes first (spec §7). */
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
 * Returns how many milliseconds to wait for a Computer's answer (spec §7).
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

/**
 * Replaces the Agent's name in a request by that of its seat, so that the Computer gets a call and its
 * cancel with the same name, and shows the right one to its user (spec §5, §7). What says that an
 * operator asks is left out: only the Server may.
 *
 * @param request what is known of the payload
 * @returns the payload itself, where nothing of it changes
 */
export function asOfSeat(
  { name }: Member,
  request: AgentCallData,
  payload: Payload,
): Payload {
  if (request.agent === name && operatorOf(request) === undefined) {
    return payload;
  }
  const { operator: _, ...rest } = Object(payload.parse());
  return Payload.of({ ...rest, agent: name });
}

/** The events that Computers of every SDK and version know. */
const COMMON: ReadonlySet<ClientEvent> = new Set<ClientEvent>([
  TOOL_CALL_EVENT,
  GET_TOOLS_EVENT,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
]);

/**
 * Converts a Computer's ack to the Agent's answer: an object unchanged; 400 for the empty ack of a
 * Computer that does not know the event, as other SDKs leave it (0.4 §12); 500 for anything else (spec §7).
 */
export function readAnswer(
  first: Payload | undefined,
  event: ClientEvent,
): Payload {
  if (first?.isObject) return first;
  if (first === undefined && !COMMON.has(event)) {
    return Payload.of(
      new ProtocolError(
        ErrorCode.BAD_REQUEST,
        `The Computer does not know ${event}`,
      ).toPayload(),
    );
  }
  return Payload.of(
    new ProtocolError(
      ErrorCode.INTERNAL_ERROR,
      "The computer's answer is not an object",
    ).toPayload(),
  );
}

/** The error when the target is not in the caller's office; never reveals whether it is in another (spec §5). */
export const computerNotFound = (computer: string): ProtocolError =>
  new ProtocolError(
    ErrorCode.NOT_FOUND,
    `Computer ${JSON.stringify(computer)} is not in your office`,
    { fields: { computer } },
  );

/** The error when the Computer left before it answered (spec §5). */
export const computerDisconnected = (computer: string): ErrorPayload =>
  new ProtocolError(
    ErrorCode.NOT_FOUND,
    `Computer ${JSON.stringify(computer)} left before it answered`,
    { fields: { computer, reason: "computer disconnected" } },
  ).toPayload();

/** The error when the Computer did not answer in time (spec §7). */
export const answerTimedOut = (
  computer: string,
  milliseconds: number,
): ErrorPayload =>
  new ProtocolError(
    ErrorCode.TIMEOUT,
    `Computer ${JSON.stringify(computer)} did not answer within ${
      milliseconds / 1000
    } s`,
    { fields: { computer } },
  ).toPayload();
