import {
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
  type ProtocolName,
  toErrorPayload,
} from "../../protocol/mod.ts";
import type { Answered } from "../sessions/ask.ts";
import type { OperatedOffices, Operator } from "./operated.ts";
import { type ProblemError, problemOf } from "./problem.ts";

/** The Computer that an operator asks. */
export interface Asked {
  /** Its office. */
  readonly office: string;
  /** Its name. */
  readonly computer: string;
  /** The version of its office; absent where only one has such a Computer. */
  readonly protocol: string | undefined;
  /** By which events name the request; default random. */
  readonly reqId?: string | undefined;
  /** Aborted when the operator waits no more. */
  readonly signal: AbortSignal;
}

/**
 * Asks a Computer for an operator, and checks its answer.
 *
 * @param logical the offices of each protocol version
 * @throws {ProblemError} 403, 404, 409, 502, 503, 504
 */
export async function ask<E extends ClientEvent>(
  logical: readonly OperatedOffices[],
  { by }: Operator,
  asked: Asked,
  event: E,
  request: Readonly<Record<string, unknown>>,
): Promise<ClientEvents[E]["answer"]> {
  const { office, computer, reqId, signal } = asked;
  const { sessions } = await find(logical, asked);
  const answered = await sessions.ask({
    ...{ by, office, computer, event, request, reqId, signal },
  });
  return read(answered, computer, event);
}

/** @throws {ProblemError} 404, 409 */
async function find(
  logical: readonly OperatedOffices[],
  { office, computer, protocol }: Asked,
): Promise<OperatedOffices> {
  const wanted = logical.filter((of) =>
    protocol === undefined || of.protocol === protocol
  );
  const found = await Promise.all(wanted.map(async (of) => {
    const members = await of.sessions.list(office);
    return members.some(({ role, name }) =>
        role === "computer" && name === computer
      )
      ? [of]
      : [];
  }));
  const [one, ...others] = found.flat();
  if (one === undefined) throw gone(computer);
  if (others.length === 0) return one;
  const versions: ProtocolName[] = [one, ...others].map((of) => of.protocol);
  throw problemOf(
    409,
    "protocol",
    `offices of the versions ${
      versions.join(" and ")
    } have a Computer of that name`,
    "name one, as in ?protocol=0.2",
  );
}

/** @throws {ProblemError} 403, 404, 502, 503, 504 */
function read<E extends ClientEvent>(
  answered: Answered,
  computer: string,
  event: E,
): ClientEvents[E]["answer"] {
  if ("failed" in answered) throw unanswered(answered.failed, computer);
  const { answer } = answered;
  const error = answer.mayBeError ? toErrorPayload(answer.peek()) : undefined;
  if (error) throw refused(error, computer);
  try {
    return CLIENT_EVENTS[event].parseAnswer(answer.parse());
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw badAnswer(error.message);
  }
}

/** The problem when the Server has no answer. */
function unanswered(
  { code, message }: ErrorPayload,
  computer: string,
): ProblemError {
  switch (code) {
    case ErrorCode.NOT_FOUND:
      return gone(computer);
    case ErrorCode.TIMEOUT:
      return late(message);
    default: // the cluster, or a shutdown
      return problemOf(503, "computer", message, "try again in a moment", {
        "Retry-After": "1",
      });
  }
}

/** The problem when the Computer answered with an error. */
function refused(
  { code, message }: ErrorPayload,
  computer: string,
): ProblemError {
  switch (code) {
    case ErrorCode.FORBIDDEN:
      return problemOf(
        403,
        "computer",
        message,
        "ask its owner; an Agent of the office may do it",
      );
    case ErrorCode.NOT_IN_ROOM:
      return gone(computer);
    case ErrorCode.TIMEOUT:
      return late(message);
    default:
      return badAnswer(`${code} ${message}`);
  }
}

const gone = (computer: string): ProblemError =>
  problemOf(
    404,
    "computer",
    `${JSON.stringify(computer)} is not there, or has left`,
    "take one from the office's members",
  );

const late = (message: string): ProblemError =>
  problemOf(
    504,
    "computer",
    message,
    "look whether it is well; give a tool more time with timeout_ms",
  );

const badAnswer = (message: string): ProblemError =>
  problemOf(
    502,
    "computer",
    `it answered with an error, or what is no answer: ${message}`,
    "look into its log",
  );
