import { TOOL_CALL_EVENT, type ToolCallReq } from "../../protocol/mod.ts";
import { audit } from "../shared/audit.ts";
import { outcomeOf } from "./call_outcome.ts";
import type { CallObserver, ObservedCall } from "./call_observer.ts";
import type { CallSource, CallSources } from "./call_sources.ts";
import type { Payload } from "../wire/mod.ts";

/**
 * Writes each tool call to the audit log when it ends (spec §10).
 *
 * @param payloads whether parameters and results are written too
 * @param sources who makes the calls of a gateway's Agents
 */
export const auditCalls =
  (payloads: boolean, sources?: CallSources): CallObserver => (call) => {
    const { event, payload, agent } = call;
    if (event !== TOOL_CALL_EVENT) return () => {};
    const request = payload.peek() as ToolCallReq; // checked by now
    const source = sources?.of(agent.identity, request.req_id) ??
      agent.identity;
    return ending(call, request, source, payloads ? payload : undefined);
  };

/**
 * @param source who makes the call, if that is known
 * @param shown the request, if it is to be written; it stays in memory until then
 */
function ending(
  { seat, computer }: ObservedCall,
  { tool_name, req_id }: ToolCallReq,
  source: CallSource | undefined,
  shown: Payload | undefined,
): (answer: Payload | undefined) => void {
  const began = performance.now();
  return (answer) =>
    audit({
      event: "tool_call",
      office: seat.office,
      agent: seat.name,
      ...(source?.principal !== undefined && { principal: source.principal }),
      ...(source?.client !== undefined && { client: source.client }),
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
