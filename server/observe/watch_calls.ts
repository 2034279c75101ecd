import type { AgentCallData, Waiting } from "../../protocol/mod.ts";
import type { Identity } from "../shared/identity.ts";
import type { CallEnd } from "../shared/call_end.ts";
import type { Member } from "../shared/member.ts";
import type { Journal, SeenEvent } from "../shared/journal.ts";
import type { PendingCall } from "../shared/session.ts";
import type { Payload } from "../wire/mod.ts";
import type { CallObserver, ObservedCall } from "./call_observer.ts";

/** The largest content that onlookers are shown, in bytes: it is kept for each of them. */
const MAX_SHOWN_BYTES = 16_384;

/**
 * Tells the onlookers of a server of each call, while there are any; without them it costs a look.
 *
 * @param observer called for each call in any case
 * @param payloads whether parameters and results are shown
 */
export const watchCalls = (
  observer: CallObserver,
  journal: Journal,
  payloads: boolean,
): CallObserver =>
(call) => {
  const ended = observer(call);
  return journal.isWatched ? tellCall(call, ended, journal, payloads) : ended;
};

/** A call, and who makes it. */
export interface ShownCall
  extends Pick<ObservedCall, "event" | "computer" | "payload"> {
  /** Who makes it. */
  readonly agent: {
    readonly identity: Pick<Identity, "principal"> | undefined;
  };
  /** Where, and under which name. */
  readonly seat: Pick<Member, "office" | "name">;
}

/** Tells the onlookers of a call, and of its end. */
export function tellCall(
  { event, agent, seat, computer, payload }: ShownCall,
  ended: ReturnType<CallObserver>,
  journal: Journal,
  payloads: boolean,
): ReturnType<CallObserver> {
  const request = payload.peek() as AgentCallData & { // checked by now
    readonly tool_name?: unknown;
  };
  const { tool_name: tool } = request;
  const about = {
    office: seat.office,
    agent: seat.name,
    computer,
    req_id: request.req_id,
    request: event,
    ...(typeof tool === "string" && { tool }),
    ...(agent.identity && { principal: agent.identity.principal }),
  };
  journal.tell({
    event: "call_began",
    ...about,
    ...sizeOf(payload),
    ...(payloads && { params: shown(payload, "params") }),
  });
  return tellingEnd(about, performance.now(), ended, journal, payloads);
}

/** Notes what a call waits for. */
export function noteWaiting(
  journal: Journal,
  { agent, seat, call, waiting }: {
    readonly agent: ShownCall["agent"];
    readonly seat: ShownCall["seat"];
    readonly call: PendingCall;
    readonly waiting: Waiting | null;
  },
): void {
  call.waiting = waiting ?? undefined;
  if (!journal.isWatched) return;
  journal.tell({
    event: "call_waiting",
    office: seat.office,
    agent: seat.name,
    computer: call.computer,
    req_id: call.reqId ?? "",
    request: call.event,
    ...(call.tool !== undefined && { tool: call.tool }),
    ...(agent.identity && { principal: agent.identity.principal }),
    waiting,
  });
}

type About = Omit<
  Extract<SeenEvent, { event: "call_ended" }>,
  "event" | "ms" | keyof CallEnd
>;

/** A separate function, so that the closure does not capture the request. */
const tellingEnd = (
  about: About,
  began: number,
  ended: ReturnType<CallObserver>,
  journal: Journal,
  payloads: boolean,
): ReturnType<CallObserver> =>
(answer, end) => {
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

const sizeOf = ({ size }: Payload): { bytes?: number } =>
  size === undefined ? {} : { bytes: size };

/** Returns a content, or a field of it, unless it is large. */
function shown(payload: Payload, field?: string): unknown {
  if ((payload.size ?? 0) > MAX_SHOWN_BYTES) return undefined;
  const whole = payload.parse();
  return field === undefined ? whole : Object(whole)[field];
}
