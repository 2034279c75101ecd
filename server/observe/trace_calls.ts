import type { CallObserver } from "./watch_calls.ts";
import { endText } from "../shared/audit.ts";

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
  /** Starts a span; kind 1 is a server's. */
  startSpan(
    name: string,
    options: { kind: number; attributes: Record<string, string> },
  ): CallSpan;
}

const SERVER_KIND = 1;
const ERROR_STATUS = 2;

/** Creates a span for every relayed request; never with parameters or results. */
export const traceCalls = (tracer: CallTracer): CallObserver =>
(
  { event, agent: { office, name }, computer, payload },
) => {
  const { req_id, tool_name } = payload.peek() as Record<string, unknown>; // checked by now
  const span = tracer.startSpan(event, {
    kind: SERVER_KIND,
    attributes: {
      "smcp.office": office,
      "smcp.agent": name,
      "smcp.computer": computer,
      "smcp.req_id": String(req_id),
      ...(typeof tool_name === "string" && { "smcp.tool": tool_name }),
    },
  });
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
