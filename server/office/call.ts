import {
  type AgentCallData,
  type ClientEvent,
  ErrorCode,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_TOOLS_EVENT,
  namesOf,
  OPERATOR_AGENT,
  operatorOf,
  ProtocolError,
  READ_RESOURCE_EVENT,
  toErrorPayload,
  TOOL_CALL_EVENT,
  type ToolCallCancel,
  type ToolCallReq,
  type Waiting,
} from "../../protocol/mod.ts";
import { Payload } from "../shared/payload.ts";
import { type CallEnd, endOf, TIMEOUT_OF_SERVER } from "../shared/audit.ts";
import { type Deadline, removeItem } from "../shared/pending.ts";
import {
  type Ack,
  type Forget,
  type ObservedCall,
  type OfficeParts,
  partyOf,
  type Peer,
  type Seated,
} from "./peer.ts";
import {
  isTranslated,
  newServerNames,
  translateAnswer,
  translateRequest,
  unknownTo,
} from "../../protocol/translate.ts";
import { errorPayloadOf, shuttingDown } from "../shared/error_payload.ts";
import { type Member, noteFailure } from "./members.ts";

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
const computerNotFound = (computer: string): ProtocolError =>
  failed(ErrorCode.NOT_FOUND, computer, "is not in your office");

/** The error when the Computer left before it answered (spec §5). */
export const computerLeft = (computer: string): ProtocolError =>
  failed(ErrorCode.NOT_FOUND, computer, "left before it answered", {
    reason: "computer disconnected",
  });

/** The error when the Computer did not answer in time. */
const answerTimedOut = (computer: string, ms: number): ProtocolError =>
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

/** A request that its sender may send. */
interface CallRequest extends ObservedCall {
  readonly agent: Member;
}

/** Ends a request for its sender; with `undefined` where that is gone. */
type Reply = (answer: Payload | undefined, end?: CallEnd) => void;

/** The calls of all offices of a process (spec §7). */
export class Calls {
  readonly #parts: OfficeParts;
  #pending = 0;
  #isClosed = false;
  #idle: (() => void) | undefined;
  /** The number of calls that were sent so far. */
  sent = 0;

  /** @param parts what the offices of the process work with */
  constructor(parts: OfficeParts) {
    this.#parts = parts;
  }

  /**
   * Forwards a request to a Computer, and its answer back. Exactly one of the answer, a timeout, a loss
   * and a refusal ends it. Does not wait, so that a cancel overtakes the call. Never throws.
   *
   * @param computer the named one, if the office has it
   */
  forward(
    request: CallRequest,
    computer: Member | undefined,
    ack: Ack | undefined,
  ): void {
    const { agent, about } = request;
    const ended = this.#parts.observe(request);
    const reply = replying(agent, ack, ended, this.#parts.clock.date);
    try {
      this.#check(request);
      if (computer === undefined) throw computerNotFound(about.computer);
      this.#send(request, computer, reply);
    } catch (error) {
      reply(Payload.of(errorPayloadOf(error)));
    }
  }

  /** Refuses calls from now on. */
  close(): void {
    this.#isClosed = true;
  }

  /** Resolves when no call is pending, at the latest after some milliseconds. */
  async idle(milliseconds: number): Promise<void> {
    if (this.#pending === 0 || milliseconds <= 0) return;
    const { deadlines, clock } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    const now = clock.now();
    const deadline: Deadline = { due: now + milliseconds, expire: resolve };
    deadlines.add(deadline, now);
    this.#idle = resolve;
    await promise;
    deadlines.remove(deadline);
  }

  /** @throws {ProtocolError} when the Agent cannot make another call now */
  #check({ agent }: CallRequest): void {
    if (this.#isClosed) throw shuttingDown();
    const { limiter } = this.#parts;
    if (agent.calls.length >= limiter.limits.callsPerAgent) {
      throw limiter.refuse("callsPerAgent", partyOf(agent.peer));
    }
  }

  /** @throws {ProtocolError} when the Computer's version does not have the event */
  #send(request: CallRequest, computer: Member, reply: Reply): void {
    const { event, about } = request;
    const { profile } = computer.peer;
    if (profile.lacks.includes(event)) {
      throw unknownTo(computer.name, profile, event);
    }
    const { deadlines, clock, requestTimeoutMs } = this.#parts;
    const now = clock.now();
    const timeout = "timeout" in about ? about.timeout : undefined;
    const waitMs = answerDeadline(event, timeout, requestTimeoutMs);
    const call = new Call(request, computer, waitMs, (body, how) => {
      const end = how ?? endOf(body, call.stopped);
      this.#pending--;
      deadlines.remove(call);
      noteFailure(computer, body, end, clock.date());
      reply(body, end);
      if (this.#pending === 0) this.#idle?.();
    });
    call.send(forComputer(request, computer), now);
    this.sent++;
    this.#pending++;
    deadlines.add(call, now);
  }
}

/** A request that its Computer has not answered yet; it belongs to both members. */
export class Call implements Deadline {
  readonly event: ClientEvent;
  readonly reqId: string;
  /** The tool, of a tool call. */
  readonly tool: string | undefined;
  readonly agent: Member;
  readonly computer: Member;
  /** What the Agent wants to get of its progress. */
  readonly progress: ToolCallReq["progress"];
  /** The person that it waits for. */
  waiting: Waiting | undefined;
  /** How it ends without a real answer: its Agent has cancelled it. */
  stopped: CallEnd | undefined;
  /** When it was sent, in milliseconds of a monotonic clock. */
  began = 0;
  due = Infinity;
  place?: number;
  readonly #waitMs: number;
  readonly #ended: Reply;
  #asked: Asked | undefined;

  /** @param ended called once; does not capture the request, which would stay in memory until then */
  constructor(
    { agent, event, about }: CallRequest,
    computer: Member,
    waitMs: number,
    ended: Reply,
  ) {
    this.event = event;
    this.agent = agent;
    this.computer = computer;
    this.reqId = about.req_id;
    const { tool_name, progress } = about as Partial<ToolCallReq>;
    this.tool = tool_name;
    this.progress = progress;
    this.#waitMs = waitMs;
    this.#ended = ended;
  }

  /** @throws when the payload cannot be encoded */
  send(payload: Payload, now: number): void {
    this.began = now;
    this.due = now + this.#waitMs;
    const { peer } = this.computer;
    const names = namesOf(peer.profile, this.event);
    this.#asked = askUnder(names, peer, payload, this.#answered);
    for (const member of [this.agent, this.computer]) {
      member.calls.push(this);
      member.record.calls++;
    }
  }

  /**
   * Ends the call with an error, or without one for an Agent that is gone.
   *
   * @param how default: as the error says
   */
  end(error: ProtocolError | undefined, how?: CallEnd): void {
    this.#asked?.forget();
    this.#finish(error && Payload.of(error.toPayload()), how);
  }

  /** Ends the call with the best provisional answer, or with 408. */
  expire(): void {
    const best = this.#asked?.best();
    this.#asked?.forget();
    if (best) this.#answered(best);
    else {
      const error = answerTimedOut(this.computer.name, this.#waitMs);
      this.end(error, this.stopped ?? TIMEOUT_OF_SERVER);
    }
  }

  readonly #answered = (first: Payload | undefined): void =>
    this.#finish(forAgent(readAnswer(first, this.event), this));

  #finish(answer: Payload | undefined, how?: CallEnd): void {
    if (this.#asked === undefined) return;
    this.#asked = undefined;
    removeItem(this.agent.calls, this);
    removeItem(this.computer.calls, this);
    this.#ended(answer, how);
  }
}

/** Outside of the methods, so that the closure does not capture the request. */
const replying = (
  agent: Member,
  ack: Ack | undefined,
  ended: ReturnType<OfficeParts["observe"]>,
  date: () => number,
): Reply =>
(answer, how = endOf(answer)) => {
  const sent = sendTo(ack, answer, how);
  const end = sent === answer ? how : endOf(sent);
  ended(sent, end);
  noteFailure(agent, sent, end, date());
};

/** Sends an answer; the error instead, where it cannot be encoded again. */
function sendTo(
  ack: Ack = () => {},
  answer: Payload | undefined,
  end: CallEnd,
): Payload | undefined {
  try {
    ack(answer, end);
    return answer;
  } catch (error) {
    const failed = Payload.of(errorPayloadOf(error));
    ack(failed);
    return failed;
  }
}

// ------------------------------------------------------------------ versions (0.4 §1.2)

/** Whether two members name MCP servers differently in an event; operators see what the Computer has. */
const differs = (event: ClientEvent, agent: Member, computer: Member) =>
  agent.role !== "operator" &&
  isTranslated(event, agent.peer.profile, computer.peer.profile);

/** Translates a request where the versions of the two differ; else the bytes pass as they came. */
const forComputer = (
  { agent, event, payload }: CallRequest,
  computer: Member,
): Payload =>
  computer.names && differs(event, agent, computer)
    ? Payload.of(translateRequest(payload.parse(), computer.names))
    : payload;

/** Translates an answer likewise. */
function forAgent(answer: Payload, { event, agent, computer }: Call): Payload {
  if (!differs(event, agent, computer)) return answer;
  const names = computer.names ??= newServerNames();
  const { profile } = agent.peer;
  return Payload.of(translateAnswer(event, answer.parse(), names, profile));
}

// ------------------------------------------------------------------ older names (spec §12)

/** A request under one name or more. */
interface Asked {
  forget: Forget;
  /** Returns the best provisional answer so far, if there is one. */
  best(): Payload | undefined;
}

/**
 * Sends a request under every name that a client of its version may know; the first real answer counts.
 * An empty ack and 400 are provisional: they may mean that the client does not know the name.
 *
 * @throws when the payload cannot be encoded
 */
function askUnder(
  names: readonly string[],
  peer: Peer,
  payload: Payload,
  answered: (answer: Payload | undefined) => void,
): Asked {
  const [only, another] = names;
  if (only !== undefined && another === undefined) {
    return { forget: peer.ask(only, payload, answered), best: () => undefined };
  }
  const answers = new Map<string, Payload | undefined>();
  const best = () => bestOf(names.map((name) => answers.get(name)));
  const forgets: Forget[] = [];
  const forget = () => forgets.forEach((forget) => forget());
  for (const name of names) {
    forgets.push(peer.ask(name, payload, (answer) => {
      answers.set(name, answer);
      const real = isReal(answer);
      if (!real && answers.size < names.length) return;
      forget();
      answered(real ? answer : best());
    }));
  }
  return { forget, best };
}

function isReal(answer: Payload | undefined): boolean {
  const seen = answer?.peek();
  return typeof seen === "object" && seen !== null &&
    toErrorPayload(seen)?.code !== ErrorCode.BAD_REQUEST;
}

/** Prefers an error to no answer, and the event's own name to its aliases. */
const bestOf = (
  given: readonly (Payload | undefined)[],
): Payload | undefined =>
  given.find((answer) => toErrorPayload(answer?.peek())) ?? given[0];
