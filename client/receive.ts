import { ErrorCode, ProtocolError } from "../protocol/errors/protocol_error.ts";
import { isNotification, NOTIFICATIONS } from "../protocol/event_table.ts";
import type { AnyNotification, RequestHandler } from "./options.ts";

/** The handlers of the Server's events. */
export interface Receiver {
  /** Answers requests. */
  answer: RequestHandler;
  /** Receives valid notifications. */
  readonly notify: (notification: AnyNotification) => void;
  /** Receives errors, for the log. */
  readonly onThrow: (error: unknown) => void;
}

/**
 * Handles one event of the Server: answers a request, passes on a known notification, ignores
 * the rest (spec §3, §6).
 *
 * @param args the payload, then the ack callback if the Server expects an ack
 * @param isCurrent returns whether the event's session still exists: a late ack must be dropped,
 * since its id may be reused by the next session
 */
export async function receive(
  event: string,
  args: readonly unknown[],
  receiver: Receiver,
  isCurrent: () => boolean,
): Promise<void> {
  const last = args.at(-1);
  if (typeof last === "function") {
    const body = await answer(event, args[0], receiver);
    if (isCurrent()) last(body);
  } else if (isNotification(event)) {
    try {
      const payload = NOTIFICATIONS[event](args[0]);
      receiver.notify({ event, payload } as AnyNotification);
    } catch (error) {
      receiver.onThrow(error); // a later version's payload; the event is ignored
    }
  }
}

async function answer(
  event: string,
  payload: unknown,
  { answer, onThrow }: Receiver,
): Promise<unknown> {
  try {
    return await answer(event, payload);
  } catch (error) {
    if (error instanceof ProtocolError) return error.toPayload();
    onThrow(error);
    return new ProtocolError(ErrorCode.INTERNAL_ERROR, "Internal error")
      .toPayload();
  }
}

/** Refuses a request that has no handler with 400 (spec §6). */
export const refuseRequest: RequestHandler = (event) => {
  throw new ProtocolError(ErrorCode.BAD_REQUEST, `Unexpected event: ${event}`);
};
