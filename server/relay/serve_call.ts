import type { RemoteCall, RemoteCallEvents } from "../offices/exchange.ts";
import type { PendingCall } from "../shared/session.ts";
import { swapRemove } from "../shared/swap_remove.ts";
import type { LinkedSession } from "./linked_session.ts";
import { sendRequest } from "./send_request.ts";

/** Hears of a call that another node brought. */
export interface ServedCallEvents extends RemoteCallEvents {
  /** It was sent to the Computer. */
  began(call: PendingCall): void;
  /** It waits for the Computer no more. */
  ended(call: PendingCall): void;
}

/**
 * Sends a call of another node's Agent to a Computer here; its deadline is that node's.
 *
 * @param names of the event, as the Computer may know it
 * @returns a function that forgets it
 */
export function serveCall(
  computer: LinkedSession,
  { payload, reqId }: RemoteCall,
  names: readonly string[],
  events: ServedCallEvents,
): () => void {
  const call: PendingCall = {
    follower: reqId === undefined
      ? undefined
      : { reqId, tell: (told) => events.progress(told) },
    due: Infinity,
    expire: () => {},
    end: (error) => {
      forget();
      if (error) events.failed(error);
    },
  };
  const ended = () => {
    const at = computer.calls.indexOf(call);
    if (at >= 0) swapRemove(computer.calls, at);
    events.ended(call);
  };
  const sent = sendRequest(
    computer.link,
    names,
    payload,
    (first) => {
      ended();
      events.answered(first);
    },
    events.provisional,
  );
  const forget = () => {
    sent.forget();
    ended();
  };
  computer.calls.push(call);
  events.began(call);
  return forget;
}
