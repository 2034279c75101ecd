import {
  CANCEL_TOOL_CALL_EVENT,
  type ClientEvent,
  ErrorCode,
  type ErrorPayload,
  OPERATOR_AGENT,
  PROFILES,
  ProtocolError,
  toErrorPayload,
  TOOL_CALL_EVENT,
} from "../../protocol/mod.ts";
import { onAbort } from "../../shared/async.ts";
import type { OfficeParts, Offices, Peer, Seat } from "../office/peer.ts";
import { type CallEnd, CANCELLED_BY_OPERATOR, endOf } from "../shared/audit.ts";
import { Payload } from "../shared/payload.ts";

/** What an operator asks a Computer. */
export interface Question {
  /** The operator. */
  readonly by: string;
  /** The office of the Computer. */
  readonly office: string;
  /** Its name. */
  readonly computer: string;
  /** The event that an Agent would send. */
  readonly event: ClientEvent;
  /** The fields of its request but those that say who asks whom. */
  readonly request: Readonly<Record<string, unknown>>;
  /** By which the Computer and events name it; default random. */
  readonly reqId?: string | undefined;
  /** Aborted when the operator waits no more. */
  readonly signal: AbortSignal;
}

/** An answer, and how the question ended. */
interface Ended {
  readonly answer: Payload | undefined;
  readonly end: CallEnd;
}

/** The answer of a Computer, which may be an error of its own, or why there is none. */
export type Answered =
  | { readonly answer: Payload }
  | { readonly failed: ErrorPayload };

/** What {@linkcode askComputer} works with. */
export interface QuestionParts extends Pick<OfficeParts, "audit" | "clock"> {
  readonly offices: Offices;
  /** Whether parameters and results are in the audit log. */
  readonly auditPayloads: boolean;
}

/**
 * Asks a Computer what an Agent could, as a peer of its office that nobody sees. The request says that an
 * operator asks, so that the Computer may refuse.
 *
 * A tool call is cancelled when the operator is gone, or the Computer does not answer in time.
 *
 * @returns `undefined` when the operator is gone
 */
export async function askComputer(
  question: Question,
  parts: QuestionParts,
): Promise<Answered | undefined> {
  const { by, office, signal } = question;
  if (signal.aborted) return undefined;
  const wanted = { role: "operator", name: by, office } as const;
  const seat = await parts.offices.join(operatorPeer(by), wanted);
  if ("refused" in seat) {
    return { failed: unavailable(seat.refused).toPayload() };
  }
  const began = parts.clock.now();
  const { reqId = crypto.randomUUID() } = question;
  const { answer, end } = await ask(seat, question, reqId);
  parts.audit({
    ...aboutOf(question, reqId),
    ms: Math.round(parts.clock.now() - began),
    ...end,
    ...(parts.auditPayloads &&
      { params: question.request.params, result: answer?.parse() }),
  });
  const answered = answer && sorted(answer, question.computer);
  if (question.event === TOOL_CALL_EVENT && isLate(answered)) {
    const call = { agent: OPERATOR_AGENT, req_id: reqId };
    seat.receive(CANCEL_TOOL_CALL_EVENT, Payload.of(call));
  }
  seat.gone();
  return answered;
}

/** Waits for the answer, or for the operator to be gone. */
async function ask(
  seat: Seat,
  { computer, event, request, signal }: Question,
  req_id: string,
): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const gone = { answer: undefined, end: CANCELLED_BY_OPERATOR };
  const off = onAbort(signal, () => resolve(gone));
  seat.receive(
    event,
    Payload.of({ ...request, agent: OPERATOR_AGENT, req_id, computer }),
    (answer, end) => {
      if (!(answer instanceof Payload)) resolve(gone);
      else resolve({ answer, end: end ?? endOf(answer) });
    },
  );
  try {
    return await promise;
  } finally {
    off();
  }
}

const aboutOf = (
  { by, office, computer, event, request }: Question,
  req_id: string,
) => ({
  event: "operator_asked" as const,
  ...{ by, office, computer, req_id, request: event },
  ...(typeof request.tool_name === "string" && { tool: request.tool_name }),
});

/** A connection that gets nothing but answers. */
const operatorPeer = (by: string): Peer => ({
  id: crypto.randomUUID(),
  profile: PROFILES["0.4"],
  version: PROFILES["0.4"].version,
  instance: undefined,
  identity: { principal: by },
  address: "in process",
  send: () => {},
  ask: () => () => {},
  end: () => {},
});

/** The errors of the Server itself name the Computer, or say that it shuts down. */
function sorted(answer: Payload, computer: string): Answered {
  const error = answer.mayBeError ? toErrorPayload(answer.peek()) : undefined;
  const isOwn = error?.computer === computer ||
    error?.reason === "server shutting down";
  return error && isOwn ? { failed: error } : { answer };
}

const isLate = (answered: Answered | undefined): boolean =>
  answered === undefined ||
  "failed" in answered && answered.failed.code === ErrorCode.TIMEOUT;

const unavailable = (reason: string): ProtocolError =>
  new ProtocolError(ErrorCode.INTERNAL_ERROR, reason);
