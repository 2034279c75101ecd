import { TOOL_CALL_EVENT, type ToolCallReq } from "../../protocol/mod.ts";
import { audit } from "../shared/audit.ts";
import { outcomeOf } from "./call_outcome.ts";
import type { CallObserver, ObservedCall } from "./call_observer.ts";
import type { Payload } from "../wire/mod.ts";

/**
 * Writes each tool call to the audit log when it ends (spec §10).
 *
 * @param payloads whether parameters and results are written too
 */
export const auditCalls = (payloads: boolean): CallObserver => (call) => {
  const { event, payload } = call;
  if (event !== TOOL_CALL_EVENT) return () => {};
  const request = payload.peek() as ToolCallReq; // checked by now
  return ending(call, request, payloads ? payload : undefined);
};

/** @param shown the request, if it is to be written; it stays in memory until then */
function ending(
  { agent, seat, computer }: ObservedCall,
  { tool_name, req_id }: ToolCallReq,
  shown: Payload | undefined,
): (answer: Payload | undefined) => void {
  const began = performance.now();
  return (answer) =>
    audit({
      event: "tool_call",
      office: seat.office,
      agent: seat.name,
      ...(agent.identity && { principal: agent.identity.principal }),
      computer,
      tool: tool_name,
      req_id,
      ms: Math.round(performance.now() - began),
      outcome: outcomeOf(answer),
      ...(shown !== undefined && {
        params: (shown.parse() as ToolCallReq).params,
        result: answer?.parse(),
      }),
    });
}
