import { onAbort } from "../../shared/async.ts";
import {
  type ClientEvent,
  ErrorCode,
  type ErrorPayload,
  OPERATOR_AGENT,
  TOOL_CALL_EVENT,
  type ToolProgress,
  type Waiting,
} from "../../protocol/mod.ts";
import { endOf } from "../shared/call_end.ts";
import { type ShownCall, tellCall } from "../observe/watch_calls.ts";
import type { Desk, Exchange, RemoteCall } from "../offices/exchange.ts";
import type { OfficeNews } from "../offices/office_news.ts";
import type { OfficeRegistry } from "../offices/registry.ts";
import {
  answerDeadline,
  answerTimedOut,
  computerNotFound,
  readAnswer,
} from "../relay/relay_rule.ts";
import { audit } from "../shared/audit.ts";
import {
  type CallEnd,
  CANCELLED_BY_OPERATOR,
  TIMEOUT_OF_SERVER,
} from "../shared/call_end.ts";
import type { Journal } from "../shared/journal.ts";
import { Payload } from "../wire/mod.ts";
import { tellCancelled } from "./operate.ts";

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
  readonly reqId: string | undefined;
  /** Aborted when the operator waits no more. */
  readonly signal: AbortSignal;
}

/** The answer of a Computer, which may be an error, or why there is none. */
export type Answered =
  | { readonly answer: Payload }
  | { readonly failed: ErrorPayload };

/** What {@linkcode askComputer} works with. */
export interface AskParts {
  /** Knows where Computers sit. */
  readonly registry: OfficeRegistry;
  /** The other nodes, in a cluster. */
  readonly exchange: Exchange | undefined;
  /** Brings questions to Computers here. */
  readonly relay: Pick<Desk, "serve">;
  /** Tells of cancelled calls. */
  readonly news: Pick<OfficeNews, "notify">;
  /** Notes what was asked. */
  readonly journal: Journal;
  /** Milliseconds to wait for requests without a timeout of their own. */
  readonly requestTimeoutMs: number;
  /** Whether parameters and results are noted. */
  readonly auditPayloads: boolean;
}

/**
 * Asks a Computer, on this node or another, what an Agent could. The request says that an operator
 * asks, so that the Computer may refuse.
 *
 * @throws {ProtocolError} when the cluster cannot be asked where the Computer is
 */
export async function askComputer(
  question: Question,
  parts: AskParts,
): Promise<Answered> {
  const { by, office, computer, event, request } = question;
  const seats = await parts.registry.list(office);
  const seat = seats.find(({ role, name }) =>
    role === "computer" && name === computer
  );
  if (seat === undefined) {
    return { failed: computerNotFound(computer).toPayload() };
  }
  const { socket, node } = seat;
  const from = crypto.randomUUID();
  const req_id = question.reqId ?? from;
  const call: RemoteCall = {
    ...{ office, computer, socket, event },
    payload: Payload.of({
      ...request,
      agent: OPERATOR_AGENT,
      operator: by,
      req_id,
      computer,
    }),
    from,
    reqId: event === TOOL_CALL_EVENT ? req_id : undefined,
  };
  const noted = note({ ...question, reqId: req_id }, call, parts);
  const answered = await wait(question, call, node, parts);
  noted(answered);
  if (event === TOOL_CALL_EVENT && (!answered || isLate(answered))) {
    tellCancelled(
      { agent: OPERATOR_AGENT, req_id },
      office,
      from,
      parts.news,
    );
  }
  return answered ?? { failed: answerTimedOut(computer, 0) }; // which nobody reads
}

/** @returns `undefined` when the operator has gone */
async function wait(
  question: Question,
  call: RemoteCall,
  node: string | undefined,
  { exchange, relay, journal, requestTimeoutMs }: AskParts,
): Promise<Answered | undefined> {
  const { computer, event, request, signal } = question;
  const { promise, resolve } = Promise.withResolvers<Answered | undefined>();
  const answered = (answer: Payload | undefined) =>
    resolve({ answer: readAnswer(answer, event) });
  let best: Payload | undefined;
  const deadline = answerDeadline(event, request.timeout, requestTimeoutMs);
  const timer = setTimeout(() => {
    if (best === undefined) {
      resolve({ failed: answerTimedOut(computer, deadline) });
    } else answered(best);
  }, deadline);
  const off = onAbort(signal, () => resolve(undefined));
  const events = {
    progress: ({ waiting }: ToolProgress) => {
      if (waiting !== undefined) tellWaiting(question, call, journal, waiting);
    },
    provisional: (answer: Payload | undefined) => best = answer,
    answered,
    failed: (failed: ErrorPayload) => resolve({ failed }),
  };
  const forget = node !== undefined && exchange && node !== exchange.node
    ? exchange.call(node, call, events)
    : relay.serve(call, events);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    off();
    forget();
  }
}

/** Notifies observers what a call waits for. */
function tellWaiting(
  { by, office, request }: Question,
  { computer, event, reqId: req_id = "" }: RemoteCall,
  journal: Journal,
  waiting: Waiting | null,
): void {
  journal.tell({
    event: "call_waiting",
    ...{ office, agent: OPERATOR_AGENT, computer, req_id, request: event },
    ...(typeof request.tool_name === "string" && { tool: request.tool_name }),
    principal: by,
    waiting,
  });
}

const isLate = (answered: Answered): boolean =>
  "failed" in answered && answered.failed.code === ErrorCode.TIMEOUT;

/** Tells the onlookers now, and the audit log when it has ended, which the returned function is told. */
function note(
  { by, office, computer, event, request, reqId: req_id = "" }: Question,
  { payload }: RemoteCall,
  { journal, auditPayloads }: AskParts,
): (answered: Answered | undefined) => void {
  const began = performance.now();
  const shown: ShownCall = {
    ...{ event, computer, payload },
    agent: { identity: { principal: by } },
    seat: { office, name: OPERATOR_AGENT },
  };
  const told = journal.isWatched
    ? tellCall(shown, () => {}, journal, auditPayloads)
    : undefined;
  return (answered) => {
    const answer = answered && answerOf(answered);
    const end = endOfAsked(answered, answer);
    told?.(answer, end);
    audit({
      event: "operator_asked",
      ...{ by, office, computer, req_id, request: event },
      ...(typeof request.tool_name === "string" && { tool: request.tool_name }),
      ms: Math.round(performance.now() - began),
      ...end,
      ...(auditPayloads &&
        { params: request.params, result: answer?.parse() }),
    });
  };
}

/** An operator that has gone has cancelled what it asked. */
const endOfAsked = (
  answered: Answered | undefined,
  answer: Payload | undefined,
): CallEnd =>
  answered === undefined
    ? CANCELLED_BY_OPERATOR
    : isLate(answered)
    ? TIMEOUT_OF_SERVER
    : endOf(answer);

const answerOf = (answered: Answered): Payload =>
  "answer" in answered ? answered.answer : Payload.of(answered.failed);
