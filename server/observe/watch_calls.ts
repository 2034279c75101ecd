import type { AgentCallData, Waiting } from "../../protocol/mod.ts";
import type { ObservedCall, Seated, WaitingCall } from "../office/peer.ts";
import { agentName } from "../office/request_rule.ts";
import type { CallEnd } from "../shared/call_end.ts";
import type { Journal, SeenEvent } from "../shared/journal.ts";
import type { Payload } from "../wire/mod.ts";
import type { CallObserver } from "./call_observer.ts";

/** The largest content that onlookers are shown, in bytes: it is kept for each of them. */
const MAX_SHOWN_BYTES = 16_384;

/**
 * Tells the onlookers of a server of each call, while there are any, also of the end of those that began
 * before; without them it costs a look.
 *
 * @param observer called for each call of an Agent in any case; what operators ask is noted elsewhere
 * @param payloads whether parameters and results are shown
 */
export const watchCalls =
  (observer: CallObserver, journal: Journal, payloads: boolean): CallObserver =>
  (call) => {
    const ended = call.agent.role === "operator" ? () => {} : observer(call);
    const about = aboutOf(call);
    if (journal.isWatched) {
      journal.tell({
        event: "call_began",
        ...about,
        ...sizeOf(call.payload),
        ...(payloads && { params: shown(call.payload, "params") }),
      });
    }
    return tellingEnd(about, ended, journal, payloads);
  };

/** Tells the onlookers what a call waits for. */
export const watchWaits = (journal: Journal) =>
(
  { agent, computer, reqId, tool, event }: WaitingCall,
  waiting: Waiting | null,
): void => {
  if (!journal.isWatched) return;
  journal.tell({
    event: "call_waiting",
    ...whose(agent),
    computer: computer.name,
    req_id: reqId,
    request: event,
    ...(tool !== undefined && { tool }),
    waiting,
  });
};

type About = Omit<
  Extract<SeenEvent, { event: "call_ended" }>,
  "event" | "ms" | keyof CallEnd
>;

function aboutOf({ event, agent, computer, payload }: ObservedCall): About {
  const { req_id, tool_name: tool } = payload.peek() as // checked by now
  & AgentCallData
  & { readonly tool_name?: unknown };
  return {
    ...whose(agent),
    ...{ computer, req_id, request: event },
    ...(typeof tool === "string" && { tool }),
  };
}

const whose = (agent: Seated) => ({
  office: agent.office,
  agent: agentName(agent),
  ...(agent.peer.identity && { principal: agent.peer.identity.principal }),
});

/** A separate function, so that the closure does not capture the request. */
function tellingEnd(
  about: About,
  ended: ReturnType<CallObserver>,
  journal: Journal,
  payloads: boolean,
): ReturnType<CallObserver> {
  const began = performance.now();
  return (answer, end) => {
    ended(answer, end);
    if (!journal.isWatched) return;
    journal.tell({
      event: "call_ended",
      ...about,
      ...(answer && sizeOf(answer)),
      ms: Math.round((performance.now() - began) * 10) / 10,
      ...end,
      ...(payloads && answer && { result: shown(answer) }),
    });
  };
}

const sizeOf = ({ size }: Payload): { bytes?: number } =>
  size === undefined ? {} : { bytes: size };

/** Returns a content, or a field of it, unless it is large. */
function shown(payload: Payload, field?: string): unknown {
  if ((payload.size ?? 0) > MAX_SHOWN_BYTES) return undefined;
  const whole = payload.parse();
  return field === undefined ? whole : Object(whole)[field];
}
