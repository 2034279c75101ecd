/**
 * What is observed of calls: the audit log, spans, metrics, and the events for operators. Each observer
 * is called when a request arrives, and returns what is called when it has ended. Neither keeps the
 * payload, which is freed when it is sent: no closure in an observer may use the request.
 *
 * @module
 */
import { agentName } from "../office/members.ts";
import type {
  Answer,
  ObservedCall,
  OfficeParts,
  PendingCall,
  Seated,
} from "../office/peer.ts";
import {
  type ClientEvent,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_PROMPT_EVENT,
  GET_SKILL_EVENT,
  READ_RESOURCE_EVENT,
  TOOL_CALL_EVENT,
  type ToolCallReq,
  type Waiting,
} from "../../protocol/mod.ts";
import {
  ASKED,
  audit,
  type AuditedRead,
  type CallEnd,
  endOf,
  endText,
  type Journal,
} from "../shared/audit.ts";
import { Payload } from "../wire/mod.ts";
import type { OfficeClientParts } from "../office/office_client.ts";
import type { Metrics } from "./metrics.ts";
import type { CallSource } from "../../shared/gateway.ts";

/**
 * Called for each request when it arrives. The returned function is called once, when the request
 * ended, with the Agent's answer, or `undefined` if the Agent was gone, and with how it ended. Both must be
 * read in that turn: a large payload is freed when it is sent.
 */
export type CallObserver = OfficeParts["observe"];

/** Combines several observers into one. */
export const combineObservers =
  (all: readonly CallObserver[]): CallObserver => (call) =>
    ending(all.map((observe) => observe(call)));

/** A separate function, since the closure above uses the request. */
const ending =
  (ends: readonly ReturnType<CallObserver>[]): ReturnType<CallObserver> =>
  (answer, end) => ends.forEach((ended) => ended(answer, end));

/** The largest content that observers are shown, in bytes: it is kept for each of them. */
const MAX_SHOWN_BYTES = 16_384;

/**
 * Notifies the observer of a server of each call, while there is one, also of the end of those that began
 * before.
 *
 * @param observer called for each call of an Agent in any case; what operators ask is noted elsewhere
 * @param payloads whether parameters and results are shown
 */
export const watchCalls =
  (observer: CallObserver, journal: Journal, payloads: boolean): CallObserver =>
  (call) => {
    const { event, agent, about: { computer, req_id } } = call;
    const ended = agent.role === "operator" ? () => {} : observer(call);
    const tool = toolOf(call);
    const about = () => ({
      ...whose(agent),
      computer,
      req_id,
      request: event,
      ...(tool !== undefined && { tool }),
    });
    journal.observer?.({
      event: "call_began",
      ...about(),
      ...sizeOf(call.payload),
      ...(payloads && { params: shown(call.payload, "params") }),
    });
    const began = performance.now();
    return (answer, end) => {
      ended(answer, end);
      journal.observer?.({
        event: "call_ended",
        ...about(),
        ...(answer && sizeOf(answer)),
        ms: Math.round((performance.now() - began) * 10) / 10,
        ...end,
        ...(payloads && answer && { result: shown(answer) }),
      });
    };
  };

/** Notifies the observer of what a call waits for. */
export const watchWaits = (journal: Journal) =>
(
  { agent, computer, reqId, tool, event }: PendingCall,
  waiting: Waiting | null,
): void => {
  journal.observer?.({
    event: "call_waiting",
    ...whose(agent),
    computer: computer.name,
    req_id: reqId,
    request: event,
    ...(tool !== undefined && { tool }),
    waiting,
  });
};

/** The tool that a request names, mostly a tool call. */
function toolOf({ about }: ObservedCall): string | undefined {
  const { tool_name } = about as Partial<ToolCallReq>;
  return typeof tool_name === "string" ? tool_name : undefined;
}

const whose = (agent: Seated) => ({
  office: agent.office,
  agent: agentName(agent),
  ...(agent.peer.identity && { principal: agent.peer.identity.principal }),
});

const sizeOf = ({ size }: Payload): { bytes?: number } =>
  size === undefined ? {} : { bytes: size };

/** Returns a content, or a field of it, unless it is large. */
function shown(payload: Payload, field?: string): unknown {
  if ((payload.size ?? 0) > MAX_SHOWN_BYTES) return undefined;
  const whole = payload.parse();
  return field === undefined ? whole : Object(whole)[field];
}

/**
 * Writes each tool call, and each read of contents, to the audit log when it ends (protocol §10).
 *
 * @param payloads whether parameters and results are written too
 */
export const auditCalls = (payloads: boolean): CallObserver => (call) => {
  const { event, about, payload, agent } = call;
  const read = READS[event] && describeRead(event, payload, READS[event]);
  if (!read && event !== TOOL_CALL_EVENT) return () => {};
  const { identity } = agent.peer;
  const { principal, client, grant }: CallSource = identity?.caller ??
    identity ?? {};
  const common = {
    office: agent.office,
    agent: agent.name,
    ...(principal !== undefined && { principal }),
    ...(client !== undefined && { client }),
    ...(grant !== undefined && { grant }),
    computer: about.computer,
    req_id: about.req_id,
  };
  const { tool_name: tool } = about as ToolCallReq;
  const line = read
    ? { event: "read" as const, ...common, ...read }
    : { event: "tool_call" as const, ...common, tool };
  const params = payloads && !read && (payload.parse() as ToolCallReq).params;
  const began = performance.now();
  return (answer, end) =>
    audit({
      ...line,
      ms: Math.round(performance.now() - began),
      ...end,
      ...(params && { params }),
      ...(payloads && { result: answer?.parse() }),
    });
};

/** The fields of a request that name what is read, with theirs of the audit log. */
type ReadFields = readonly [
  string,
  "mcp_server" | "uri" | "prompt" | "skill" | "path",
][];

/** What a request reads. */
type DescribedRead = Pick<AuditedRead, "request" | ReadFields[number][1]>;

/** The requests that are answered with contents. */
const READS: Readonly<Partial<Record<ClientEvent, ReadFields>>> = {
  [GET_DESKTOP_EVENT]: [["window", "uri"]],
  [GET_DPE_EVENT]: [["uri", "uri"]],
  [READ_RESOURCE_EVENT]: [["mcp_server", "mcp_server"], ["uri", "uri"]],
  [GET_PROMPT_EVENT]: [["mcp_server", "mcp_server"], ["name", "prompt"]],
  [GET_SKILL_EVENT]: [["name", "skill"], ["rel_path", "path"]],
};

/** Describes what a request reads, for the audit log. */
function describeRead(
  event: ClientEvent,
  payload: Payload,
  fields: ReadFields,
): DescribedRead {
  const request = payload.peek() as Record<string, unknown>; // checked by now
  const described = fields.flatMap(([field, shown]) => {
    const value = request[field];
    if (typeof value !== "string" || value === "") return [];
    return [[shown, shown === "uri" ? withoutSecrets(value) : value]];
  });
  return { request: event, ...Object.fromEntries(described) };
}

/** Cuts off what may hold credentials, as URLs of databases and signed ones do. */
const withoutSecrets = (uri: string): string =>
  uri.replace(/[?#].*$/s, "").replace(/^([^/]*:\/\/)[^/]*@/, "$1");

/** Times events, a call that asks its Agent by its last request; those that a client made up share one label. */
export const measureEvents = (
  metrics: Metrics,
): NonNullable<OfficeClientParts["measure"]> =>
(event) => {
  const began = performance.now();
  return (answer, end = eventEnd(answer)) => {
    if (end === ASKED) return; // the next request ends the call
    metrics.answered(event ?? "unknown", end, performance.now() - began);
  };
};

/**
 * Returns how an event was answered, for metrics.
 *
 * @param answer `undefined` if its sender was gone
 * @returns as {@linkcode endOf}; `refused` for a join or a leave that was answered with `false`
 */
export function eventEnd(answer: Answer | undefined): CallEnd {
  if (answer === undefined || answer instanceof Payload) return endOf(answer);
  return { outcome: answer[0] === false ? "refused" : "ok" };
}

/** The part of a span of `@opentelemetry/api` that is used. */
export interface CallSpan {
  /** Sets an attribute. */
  setAttribute(name: string, value: string): unknown;
  /** Sets the status; code 2 is an error. */
  setStatus(status: { code: number; message?: string }): unknown;
  /** Ends it. */
  end(): void;
}

/** The part of a tracer of `@opentelemetry/api` that is used: `trace.getTracer("…")` is one. */
export interface CallTracer {
  /**
   * Starts a span; kind 1 is a server's.
   *
   * @param context has the span of the caller, where the request names one; a `Context` of that package
   */
  startSpan(
    name: string,
    options: { kind: number; attributes: Record<string, string> },
    context?: CallContext,
  ): CallSpan;
}

/** What a span is part of, as `@opentelemetry/api` has it; immutable. */
export interface CallContext {
  /** Returns the value of a key. */
  getValue(key: symbol): unknown;
  /** Returns another context with a value. */
  setValue(key: symbol, value: unknown): CallContext;
  /** Returns another context without it. */
  deleteValue(key: symbol): CallContext;
}

/** A context of some values. */
class ValueContext implements CallContext {
  readonly #values: ReadonlyMap<symbol, unknown>;

  constructor(values: ReadonlyMap<symbol, unknown>) {
    this.#values = values;
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key);
  }

  setValue(key: symbol, value: unknown): CallContext {
    return new ValueContext(new Map(this.#values).set(key, value));
  }

  deleteValue(key: symbol): CallContext {
    const values = new Map(this.#values);
    values.delete(key);
    return new ValueContext(values);
  }
}

/** Where a context has its span; a test compares it. */
const SPAN_KEY = Symbol.for("OpenTelemetry Context Key SPAN");

/** The header `traceparent` of W3C Trace Context. */
const TRACE_PARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;

/**
 * Returns the context of a request that is part of a trace, as its `_meta` has it (SEP-414 of MCP).
 *
 * @returns undefined for any other
 */
export function traceContextOf(meta: unknown): CallContext | undefined {
  const { traceparent } = Object(meta);
  const [, traceId = "", spanId = "", flags = ""] =
    TRACE_PARENT.exec(`${traceparent}`) ?? [];
  if (!/[^0]/.test(traceId) || !/[^0]/.test(spanId)) return undefined;
  const traceFlags = Number.parseInt(flags, 16);
  const spanContext = { traceId, spanId, traceFlags, isRemote: true };
  const span = { spanContext: () => spanContext };
  return new ValueContext(new Map([[SPAN_KEY, span]]));
}

const SERVER_KIND = 1;
const ERROR_STATUS = 2;

/**
 * Creates a span for every relayed request, in the trace that the request is part of; never with parameters
 * or results.
 */
export const traceCalls = (tracer: CallTracer): CallObserver => (call) => {
  const { event, agent: { office, name }, about, payload } = call;
  const { _meta } = payload.peek() as Record<string, unknown>; // checked by now
  const tool = toolOf(call);
  const span = tracer.startSpan(event, {
    kind: SERVER_KIND,
    attributes: {
      "smcp.office": office,
      "smcp.agent": name,
      "smcp.computer": about.computer,
      "smcp.req_id": about.req_id,
      ...(tool !== undefined && { "smcp.tool": tool }),
    },
  }, traceContextOf(_meta));
  return (_answer, end) => {
    const { outcome, ended_by } = end;
    span.setAttribute("smcp.outcome", outcome);
    if (ended_by !== undefined) span.setAttribute("smcp.ended_by", ended_by);
    if (outcome !== "ok") {
      span.setStatus({ code: ERROR_STATUS, message: endText(end) });
    }
    span.end();
  };
};
