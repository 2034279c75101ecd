/**
 * One request of an Agent, from its arrival to its end (protocol §7): what its Computer gets, what the Agent
 * gets, how long that may take.
 *
 * @module
 */
import {
  type ClientEvent,
  COMPLETE_EVENT,
  ErrorCode,
  GET_DPE_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCE_TEMPLATES_EVENT,
  type Notification,
  PROFILES,
  ProtocolError,
  READ_RESOURCE_EVENT,
  toErrorPayload,
  TOOL_CALL_EVENT,
  type ToolCallCancel,
  type ToolCallReq,
  type Waiting,
} from "../../protocol/mod.ts";
import { notInOffice } from "../../protocol/errors.ts";
import { errorAnswer, Payload, shuttingDown } from "../shared/payload.ts";
import {
  ASKED,
  type CallEnd,
  endOf,
  OK,
  TIMEOUT_OF_SERVER,
} from "../shared/audit.ts";
import type { Deadline } from "../../shared/deadlines.ts";
import { swapRemove } from "../../shared/swap_list.ts";
import {
  type Ack,
  type Forget,
  type ObservedCall,
  type OfficeParts,
  partyOf,
  type PendingCall,
  type Seated,
} from "./peer.ts";
import { type Bound, CLIENT_EVENTS } from "../../protocol/event_table.ts";
import { unknownTo } from "../../protocol/profiles.ts";
import { ServerNames } from "../../protocol/server_names.ts";
import {
  serverFor,
  translateAnswer,
  whyUntranslated,
} from "../../protocol/translation.ts";

/** What the offices of a process share. */
export interface SharedParts extends OfficeParts {
  /** Whether the server is shutting down: joins and requests are refused. */
  isClosed: boolean;
  /** The number of calls that were sent so far. */
  sentCalls: number;
  /** The number of those that have not ended. */
  pendingCalls: number;
  /** Called when none is pending any more. */
  idle: (() => void) | undefined;
}

/** A member, as its calls use it. */
interface CallMember extends Seated {
  /** Its pending calls. */
  readonly calls: Call[];
  readonly record: { calls: number };
  /** The names of a Computer's MCP servers for members of other versions. */
  names: ServerNames | undefined;
  /** Its office. */
  readonly home: {
    readonly parts: SharedParts;
    readonly seats: { get(computer: string): CallMember | undefined };
  };
  notify(event: Notification, payload: Payload): void;
  noteFailure(answer: Payload | undefined, end: CallEnd): void;
}

/** A request that its sender may send. */
interface CallRequest extends ObservedCall {
  readonly agent: CallMember;
}

/** Who waits for the end of a request. */
interface Caller {
  readonly agent: CallMember;
  readonly ack: Ack | undefined;
  readonly ended: ReturnType<OfficeParts["observe"]>;
}

/**
 * Forwards a request to a Computer, and its answer back. Exactly one of the answer, a timeout, a loss
 * and a refusal ends it. Does not wait, so that a cancel overtakes the call. Never throws.
 */
export function forward(request: CallRequest, ack: Ack | undefined): void {
  const { agent, event, about, payload } = request;
  const { parts } = agent.home;
  const { limiter } = parts;
  const caller = { agent, ack, ended: parts.observe(request) };
  try {
    if (parts.isClosed) throw shuttingDown();
    if (agent.calls.length >= limiter.limits.callsPerAgent) {
      throw limiter.refuse("callsPerAgent", partyOf(agent.peer));
    }
    const computer = agent.home.seats.get(about.computer);
    if (computer === undefined) {
      throw notInOffice(about.computer);
    }
    const { profile } = computer.peer;
    if (profile.lacks.includes(event)) {
      throw unknownTo(computer.name, profile, event);
    }
    const call = new Call(request, computer, caller);
    const mcp_server = computer.names && differs(call)
      ? serverFor(event, about, computer.names)
      : undefined;
    // The bytes as they came, but for that name.
    call.send(mcp_server ? payload.with({ mcp_server }) : payload);
  } catch (error) {
    reply(caller, errorAnswer(error));
  }
}

/** Ends a request for its sender; with `undefined` where that is gone. */
function reply(
  { agent, ack, ended }: Caller,
  answer: Payload | undefined,
  end: CallEnd = endOf(answer),
): void {
  try {
    ack?.(answer, end);
  } catch (error) { // it cannot be encoded again
    answer = errorAnswer(error);
    end = endOf(answer);
    ack?.(answer, end);
  }
  ended(answer, end);
  if (end !== OK) agent.noteFailure(answer, end);
}

/** A request that its Computer has not answered yet; it belongs to both members. */
export class Call implements Deadline, PendingCall {
  readonly event: ClientEvent;
  readonly reqId: string;
  /** The tool, of a tool call. */
  readonly tool: string | undefined;
  readonly agent: CallMember;
  readonly computer: CallMember;
  /** What the Agent has requested of its progress. */
  readonly progress: ToolCallReq["progress"];
  /** The person that it waits for. */
  waiting: Waiting | undefined;
  /** Since when it waits, as {@linkcode began}. */
  waitingSince = 0;
  /** How it ends without a real answer: its Agent has cancelled it. */
  stopped: CallEnd | undefined;
  /** When it arrived, in milliseconds of a monotonic clock. */
  readonly began: number;
  readonly due: number;
  place?: number;
  /** Whether its answer may be a question to the Agent. */
  readonly #mayAsk: boolean;
  readonly #caller: Caller;
  /** Forgets it at the Computer; `undefined` before it was sent, and once it has ended. */
  #forget: Forget | undefined;
  /** The best provisional answer so far. */
  #best: Payload | undefined;

  /** Does not keep the request, which would stay in memory until the answer. */
  constructor(
    { agent, event, about }: CallRequest,
    computer: CallMember,
    caller: Caller,
  ) {
    const { clock, requestTimeoutMs } = agent.home.parts;
    const { tool_name, progress, timeout, accepts } = about as Partial<
      ToolCallReq
    >;
    const ownMs = typeof timeout === "number"
      ? timeout * 1000
      : requestTimeoutMs;
    this.event = event;
    this.reqId = about.req_id;
    this.tool = tool_name;
    this.agent = agent;
    this.computer = computer;
    this.progress = progress;
    this.began = clock.now();
    this.due = this.began +
      (TIMED.has(event) ? ownMs + ANSWER_MARGIN_MS : requestTimeoutMs);
    this.#mayAsk = accepts?.includes(INPUT_REQUIRED) === true;
    this.#caller = caller;
  }

  /** @throws when the payload cannot be encoded */
  send(payload: Payload): void {
    const { parts } = this.agent.home;
    const { peer } = this.computer;
    const older = peer.profile.olderNames[this.event];
    this.#forget = older === undefined
      ? peer.ask(this.event, payload, this.#answered)
      : this.#askAll([this.event, older], payload);
    for (const member of [this.agent, this.computer]) {
      member.calls.push(this);
      member.record.calls++;
    }
    parts.sentCalls++;
    parts.pendingCalls++;
    parts.deadlines.add(this, this.began);
  }

  /**
   * Asks under every name that a client of the Computer's version may have (protocol §12); the first real
   * answer counts. An empty ack and 400 are provisional: they may mean that it does not have the name.
   */
  #askAll(names: readonly string[], payload: Payload): Forget {
    const answers = new Map<string, Payload | undefined>();
    const forgets: Forget[] = [];
    const forget = () => forgets.forEach((forget) => forget());
    for (const name of names) {
      forgets.push(this.computer.peer.ask(name, payload, (answer) => {
        answers.set(name, answer);
        const real = isReal(answer);
        this.#best = real ? answer : bestOf(names.map((n) => answers.get(n)));
        if (!real && answers.size < names.length) return;
        forget();
        this.#answered(this.#best);
      }));
    }
    return forget;
  }

  /** Passes the bytes on as they came, unless the versions of the two differ. */
  readonly #answered = (first: Payload | undefined): void => {
    if (!first?.isObject) return this.#finish(noAnswer(first, this.event));
    const excess = excessOf(CLIENT_EVENTS[this.event].bounds.answer, first);
    if (excess) return this.#finish(tooMuch(this, excess.why, excess.fields));
    const answer = differs(this) ? translated(first, this) : first;
    const isQuestion = this.#mayAsk && endOf(answer, this.stopped) === OK &&
      Object(answer.peek()).resultType === INPUT_REQUIRED;
    this.#finish(answer, isQuestion ? ASKED : undefined);
  };

  /**
   * Ends the call with an error, or without one for an Agent that is gone.
   *
   * @param how default: by the error
   */
  end(error: ProtocolError | undefined, how?: CallEnd): void {
    this.#forget?.();
    this.#finish(error && errorAnswer(error), how);
  }

  /** Ends the call with the best provisional answer, or with 408. */
  expire(): void {
    if (this.#best) {
      this.#forget?.();
      return this.#answered(this.#best);
    }
    const seconds = Math.round(this.due - this.began) / 1000;
    const problem = `did not answer within ${seconds} s`;
    const error = failed(ErrorCode.TIMEOUT, this.computer.name, problem);
    this.end(error, this.stopped ?? TIMEOUT_OF_SERVER);
  }

  #finish(
    answer: Payload | undefined,
    how: CallEnd = endOf(answer, this.stopped),
  ): void {
    if (this.#forget === undefined) return;
    this.#forget = undefined;
    const { parts } = this.agent.home;
    for (const { calls } of [this.agent, this.computer]) {
      swapRemove(calls, calls.indexOf(this));
    }
    parts.pendingCalls--;
    parts.deadlines.remove(this);
    if (how !== OK) this.computer.noteFailure(answer, how);
    reply(this.#caller, answer, how);
    if (parts.pendingCalls === 0) parts.idle?.();
  }
}

// ------------------------------------------------------------------ what the two get (protocol §7, §12, §14)

/** Whether the two name MCP servers differently in an event; operators see what the Computer has. */
const differs = ({ agent, computer }: Call): boolean =>
  agent.peer.profile.bundleIds !== computer.peer.profile.bundleIds &&
  agent.role !== "operator";

/** What a request accepts that may be answered with a question; the kind of such an answer. */
const INPUT_REQUIRED = "input_required";

function translated(answer: Payload, call: Call): Payload {
  const { event, agent, computer } = call;
  const text = answer.json();
  if (text === undefined) return answer; // bytes are in it, and no names
  const names = computer.names ??= new ServerNames();
  try {
    const edited = translateAnswer({
      ...text,
      event,
      failure: answer.mayBeError ? Object(answer.peek()) : undefined,
      reader: agent.peer.profile,
      most: agent.home.parts.maxMessageBytes,
    }, names);
    return edited ? answer.edited(edited) : answer;
  } catch (error) {
    const why = whyUntranslated(error);
    if (why === undefined) throw error;
    return tooMuch(call, why);
  }
}

/** The error in place of an answer that is larger than it may be (protocol §10). */
const tooMuch = (
  { computer, event }: Call,
  why: string,
  fields: object = {},
): Payload =>
  errorAnswer(
    failed(
      ErrorCode.INTERNAL_ERROR,
      computer.name,
      `answered too much: its answer to ${event} ${why}`,
      fields,
    ),
  );

/**
 * Converts a Computer's ack that is no object: 400 for the empty ack of a Computer that does not know
 * the event, as other SDKs leave it (protocol §8.3); 500 for anything else.
 */
function noAnswer(first: Payload | undefined, event: ClientEvent): Payload {
  // The events of the first version are known to all.
  const isNewer = PROFILES["0.1"].lacks.includes(event);
  const [code, message] = first === undefined && isNewer
    ? [ErrorCode.BAD_REQUEST, `The Computer does not know ${event}`]
    : [ErrorCode.INTERNAL_ERROR, "The computer's answer is not an object"];
  return Payload.of({ code, message });
}

function isReal(answer: Payload | undefined): boolean {
  const seen = answer?.peek();
  return typeof seen === "object" && seen !== null &&
    toErrorPayload(seen)?.code !== ErrorCode.BAD_REQUEST;
}

/** Prefers an error to no answer, and the event's own name to its aliases. */
const bestOf = (given: (Payload | undefined)[]): Payload | undefined =>
  given.find((answer) => toErrorPayload(answer?.peek())) ?? given[0];

/** The error when the Computer left before it answered (protocol §5). */
export const computerLeft = (computer: string): ProtocolError =>
  failed(ErrorCode.NOT_FOUND, computer, "left before it answered", {
    reason: "computer disconnected",
  });

const failed = (
  code: number,
  computer: string,
  problem: string,
  more: object = {},
): ProtocolError =>
  new ProtocolError(code, `Computer ${JSON.stringify(computer)} ${problem}`, {
    fields: { computer, ...more },
  });

// ------------------------------------------------------------------ how long it may take (protocol §7)

/** Added to a request's own `timeout`, so that the Computer's answer comes first. */
const ANSWER_MARGIN_MS = 5_000;

/** The events whose requests define `timeout`, in seconds. */
const TIMED: ReadonlySet<ClientEvent> = new Set<ClientEvent>([
  TOOL_CALL_EVENT,
  GET_DPE_EVENT,
  READ_RESOURCE_EVENT,
  GET_RESOURCE_TEMPLATES_EVENT,
  GET_PROMPTS_EVENT,
  GET_PROMPT_EVENT,
  COMPLETE_EVENT,
]);

/**
 * Decides how a call ends that its Agent cancels. Other SDKs do not mark a cancel because of the
 * timeout, which has passed then.
 *
 * @param now milliseconds of the clock of `due`
 */
export function endOfCancelled(
  { due }: Deadline,
  reason: ToolCallCancel["reason"],
  now: number,
): CallEnd {
  const isLate = reason === "timeout" || now >= due - ANSWER_MARGIN_MS;
  return { outcome: isLate ? "timeout" : "cancelled", ended_by: "agent" };
}

// ------------------------------------------------------------------ what is let in (protocol §10)

/** Why a payload is not let in. */
export interface Excess {
  readonly why: string;
  /** The fields of its error. */
  readonly fields: {
    readonly limit: string;
    readonly count: number;
    readonly max: number;
  };
}

/**
 * Returns why a payload is not let in; `undefined` when it is. Nothing is parsed; what was parsed already
 * has been bounded before.
 *
 * @param most the most members
 */
export function excessOf(
  { bytes, values }: Bound,
  payload: Payload,
  most = Infinity,
): Excess | undefined {
  const { size = 0, members = 0 } = payload;
  if (size > bytes) return over("bytes", size, bytes);
  if (members > most) return over("members", members, most);
  // Each takes a byte at least: most payloads need no count.
  return size > values ? over("values", payload.values, values) : undefined;
}

function over(
  limit: "bytes" | "values" | "members",
  count = 0,
  max: number,
): Excess | undefined {
  if (count <= max) return undefined;
  const why = `has ${count} ${limit}, and may have at most ${max}`;
  return { why, fields: { limit, count, max } };
}
