import type { ErrorPayload } from "../../protocol/mod.ts";
import type { ObservedCall } from "../observe/call_observer.ts";
import type { Exchange } from "../offices/exchange.ts";
import type { Seat } from "../shared/member.ts";
import type { Follower } from "../shared/session.ts";
import type { Payload } from "../wire/mod.ts";
import type { SentRequest } from "./send_request.ts";

/** Where a Computer of another node is. */
export interface Elsewhere {
  /** The other nodes. */
  readonly exchange: Exchange;
  /** Its seat. */
  readonly seat: Seat;
}

/** What becomes of a call to a Computer of another node. */
export interface NodeCallEnd {
  /** Hears of its progress. */
  readonly follower: Follower | undefined;
  /** Called with the answer. */
  answered(answer: Payload | undefined): void;
  /** Called when there is none. */
  failed(error: ErrorPayload): void;
}

/** Sends a request to the node of its Computer. */
export function sendToNode(
  { exchange, seat: { node = "", socket } }: Elsewhere,
  { agent, event, seat: { office }, computer, payload }: ObservedCall,
  { follower, answered, failed }: NodeCallEnd,
): SentRequest {
  let best: Payload | undefined;
  const forget = exchange.call(node, {
    office,
    computer,
    socket,
    from: agent.socket.id,
    event,
    payload,
    reqId: follower?.reqId,
  }, {
    progress: (told) => follower?.tell(told),
    provisional: (answer) => best = answer,
    answered,
    failed,
  });
  return { forget, best: () => best };
}
