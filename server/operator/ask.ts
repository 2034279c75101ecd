import {
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
  toErrorPayload,
} from "../../protocol/mod.ts";
import {
  type Answered,
  askComputer,
  type Question,
  type QuestionParts,
} from "../doors/question.ts";
import {
  type ProblemError,
  problemOf,
  retryLater,
} from "../../shared/http/problem.ts";

/** The Computer that an operator asks. */
export type Asked = Pick<Question, "office" | "computer" | "reqId" | "signal">;

/**
 * Asks a Computer for an operator, and checks its answer.
 *
 * @throws {ProblemError} 403, 404, 502, 503, 504
 */
export async function ask<E extends ClientEvent>(
  question: Question & { readonly event: E },
  parts: QuestionParts,
): Promise<ClientEvents[E]["answer"]> {
  const answered = await askComputer(question, parts);
  if (answered === undefined) throw late("nobody waits for its answer");
  return read(answered, question.computer, question.event);
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
      return retryLater("computer", message);
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
