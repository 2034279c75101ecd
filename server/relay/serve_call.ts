import type { RemoteCall, RemoteCallEvents } from "../offices/exchange.ts";
import type { PendingCall } from "../shared/session.ts";
import { removeItem } from "../shared/swap_remove.ts";
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
  { event, computer: name, payload, reqId }: RemoteCall,
  names: readonly string[],
  events: ServedCallEvents,
): () => void {
  const call: PendingCall = {
    follower: reqId === undefined
      ? undefined
      : { reqId, tell: (told) => events.progress(told) },
    event,
    reqId,
    tool: undefined,
    computer: name,
    began: performance.now(),
    due: Infinity,
    expire: () => {},
    end: (error) => {
      forget();
      if (error) events.failed(error);
    },
  };
  const ended = () => {
    removeItem(computer.calls, call);
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
  computer.record.calls++;
  events.began(call);
  return forget;
}
