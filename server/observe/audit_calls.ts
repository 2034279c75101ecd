import {
  type AgentCallData,
  TOOL_CALL_EVENT,
  type ToolCallReq,
} from "../../protocol/mod.ts";
import { audit } from "../shared/audit.ts";
import type { ObservedCall } from "../office/peer.ts";
import type { CallObserver } from "./call_observer.ts";
import { describeRead } from "./described_read.ts";
import type { CallSource, CallSources } from "./call_sources.ts";
import type { Payload } from "../wire/mod.ts";

/**
 * Writes each tool call, and each read of contents, to the audit log when it ends (spec §10).
 *
 * @param payloads whether parameters and results are written too
 * @param sources who makes the requests of a gateway's Agents
 */
export const auditCalls =
  (payloads: boolean, sources?: CallSources): CallObserver => (call) => {
    const { event, payload, agent: { peer: { identity } } } = call;
    const isCall = event === TOOL_CALL_EVENT;
    const read = isCall ? undefined : describeRead(event, payload);
    if (!isCall && read === undefined) return () => {};
    const request = payload.peek() as AgentCallData; // checked by now
    const source = sources?.of(identity, request.req_id) ?? identity;
    const about = aboutOf(call, request.req_id, source);
    if (read) return endingRead({ ...about, ...read }, payloads);
    const { tool_name } = request as ToolCallReq;
    return endingCall(
      { ...about, tool: tool_name },
      payloads ? payload : undefined,
    );
  };

/** What is known of a request when it comes. */
const aboutOf = (
  { agent: { office, name }, computer }: ObservedCall,
  req_id: string,
  source: CallSource | undefined,
) => ({
  office,
  agent: name,
  ...(source?.principal !== undefined && { principal: source.principal }),
  ...(source?.client !== undefined && { client: source.client }),
  computer,
  req_id,
});

type About = ReturnType<typeof aboutOf>;

/** @param shown the request, if it is to be written; it stays in memory until then */
function endingCall(
  about: About & { readonly tool: string },
  shown: Payload | undefined,
): ReturnType<CallObserver> {
  const began = performance.now();
  return (answer, end) =>
    audit({
      event: "tool_call",
      ...about,
      ms: Math.round(performance.now() - began),
      ...end,
      ...(shown !== undefined && {
        params: (shown.parse() as ToolCallReq).params,
        result: answer?.parse(),
      }),
    });
}

function endingRead(
  about: About & NonNullable<ReturnType<typeof describeRead>>,
  isShown: boolean,
): ReturnType<CallObserver> {
  const began = performance.now();
  return (answer, end) =>
    audit({
      event: "read",
      ...about,
      ms: Math.round(performance.now() - began),
      ...end,
      ...(isShown && { result: answer?.parse() }),
    });
}
