/**
 * The questions of operators to a Computer: each is sent by a hidden peer of its office, and answered with
 * a problem where it fails.
 *
 * @module
 */
import {
  CANCEL_TOOL_CALL_EVENT,
  CLIENT_EVENTS,
  type ClientEvent,
  type ClientEvents,
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
  toErrorPayload,
  TOOL_CALL_EVENT,
} from "../../protocol/mod.ts";
import { OPERATOR_AGENT } from "../../protocol/payloads/tools.ts";
import { abortable } from "../../shared/async.ts";
import { type ProblemError, problemOf, retryLater } from "../../shared/http.ts";
import { hiddenPeer, type OfficeParts, type Offices } from "../office/peer.ts";
import { type CallEnd, CANCELLED_BY_OPERATOR, endOf } from "../shared/audit.ts";
import { parseInSlices, Payload } from "../shared/payload.ts";

/** The Computer that gets a question, and how long its answer is awaited. */
export type Target = Pick<Question, "office" | "computer" | "reqId" | "signal">;

/**
 * Asks a Computer for an operator, and checks its answer.
 *
 * @throws {ProblemError} 403, 404, 502, 503, 504
 */
export async function ask<E extends ClientEvent>(
  question: Question & { readonly event: E },
  parts: QuestionParts,
): Promise<ClientEvents[E]["answer"]> {
  const { computer, event } = question;
  const answered = await askComputer(question, parts);
  if (answered === undefined) {
    throw late("the request was closed before its answer");
  }
  if ("failed" in answered) throw problemFor(answered.failed, computer, true);
  const { answer } = answered;
  const error = readError(answer);
  if (error) throw problemFor(error, computer, false);
  try {
    return CLIENT_EVENTS[event].parseAnswer(await parseInSlices(answer));
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw badAnswer(error.message);
  }
}

/** The problem when the Computer answered with an error, or the Server with one of its own. */
function problemFor(
  { code, message }: ErrorPayload,
  computer: string,
  isOwn: boolean,
): ProblemError {
  if (code === ErrorCode.TIMEOUT) return late(message);
  if (code === (isOwn ? ErrorCode.NOT_FOUND : ErrorCode.NOT_IN_ROOM)) {
    return problemOf(
      404,
      "computer",
      `${JSON.stringify(computer)} is not in the office`,
      "take one from the office's members",
    );
  }
  if (isOwn) return retryLater("computer", message); // the cluster, or a shutdown
  if (code !== ErrorCode.FORBIDDEN) return badAnswer(`${code} ${message}`);
  return problemOf(
    403,
    "computer",
    message,
    "ask its owner; an Agent of the office may do it",
  );
}

const late = (message: string): ProblemError =>
  problemOf(
    504,
    "computer",
    message,
    "check the Computer; allow a tool more time with timeout_ms",
  );

const badAnswer = (message: string): ProblemError =>
  problemOf(
    502,
    "computer",
    `its answer is an error, or invalid: ${message}`,
    "see its log",
  );

/** A question of an operator to a Computer. */
export interface Question {
  /** The operator. */
  readonly by: string;
  /** The office of the Computer. */
  readonly office: string;
  /** Its name. */
  readonly computer: string;
  /** The event that an Agent would send. */
  readonly event: ClientEvent;
  /** The fields of its request, without sender and receiver. */
  readonly request: Readonly<Record<string, unknown>>;
  /** Its id for the Computer and in events; default random. */
  readonly reqId?: string | undefined;
  /** Aborted when the operator has stopped waiting. */
  readonly signal: AbortSignal;
}

/** The answer of a Computer, which may be an error of its own, or why there is none. */
export type Answered =
  | { readonly answer: Payload }
  | { readonly failed: ErrorPayload };

/** The parts that {@linkcode askComputer} needs. */
export interface QuestionParts extends Pick<OfficeParts, "audit" | "clock"> {
  readonly offices: Offices;
  /** Whether parameters and results are in the audit log. */
  readonly auditPayloads: boolean;
}

/**
 * Sends a Computer a request that an Agent could send, from a hidden peer of its office. The sender is
 * named as an operator, so that the Computer may refuse.
 *
 * A tool call is cancelled when the operator is gone, or the Computer does not answer in time.
 *
 * @returns `undefined` when the operator is gone
 */
export async function askComputer(
  { by, office, computer, event, request, signal, ...question }: Question,
  { offices, clock, audit, auditPayloads }: QuestionParts,
): Promise<Answered | undefined> {
  if (signal.aborted) return undefined;
  const seat = await offices.join(hiddenPeer(by), {
    role: "operator",
    name: by,
    office,
  });
  if ("refused" in seat) {
    const { INTERNAL_ERROR: code } = ErrorCode;
    return { failed: { code, message: seat.refused } };
  }
  const began = clock.now();
  const { reqId: req_id = crypto.randomUUID() } = question;
  const call = { agent: OPERATOR_AGENT, req_id };
  const gone: Ended = [undefined, CANCELLED_BY_OPERATOR];
  const { promise, resolve } = Promise.withResolvers<Ended>();
  seat.receive(
    event,
    Payload.of({ ...request, ...call, computer }),
    (answer, end) =>
      resolve(
        answer instanceof Payload ? [answer, end ?? endOf(answer)] : gone,
      ),
  );
  const [answer, end] = await abortable(promise, signal).catch(() => gone);
  audit({
    event: "operator_asked",
    by,
    office,
    computer,
    req_id,
    request: event,
    ...(typeof request.tool_name === "string" && { tool: request.tool_name }),
    ms: Math.round(clock.now() - began),
    ...end,
    ...(auditPayloads && { params: request.params, result: answer?.parse() }),
  });
  const error = answer && readError(answer);
  // Errors of the Server itself name the Computer, or its shutdown.
  const failed = error?.computer === computer ||
      error?.reason === "server shutting down"
    ? error
    : undefined;
  const isLate = answer === undefined || failed?.code === ErrorCode.TIMEOUT;
  if (event === TOOL_CALL_EVENT && isLate) {
    seat.receive(CANCEL_TOOL_CALL_EVENT, Payload.of(call));
  }
  seat.gone();
  return failed ? { failed } : answer && { answer };
}

/** An answer, and how the question ended. */
type Ended = readonly [answer: Payload | undefined, end: CallEnd];

const readError = (answer: Payload): ErrorPayload | undefined =>
  answer.mayBeError ? toErrorPayload(answer.peek()) : undefined;
