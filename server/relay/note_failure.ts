import { toErrorPayload } from "../../protocol/mod.ts";
import { outcomeOf } from "../observe/call_outcome.ts";
import type { SessionRecord } from "../shared/session.ts";
import type { Payload } from "../wire/mod.ts";

/** The longest message that is kept, in characters. */
const MAX_MESSAGE_CHARS = 500;
/** How calls end that did not fail. */
const FINE = ["ok", "cancelled"];

/** Notes for operators how a call of a session ended, if it failed. */
export function noteFailure(record: SessionRecord, answer: Payload): void {
  const outcome = outcomeOf(answer);
  if (FINE.includes(outcome)) return;
  const message = toErrorPayload(answer.peek())?.message;
  record.lastError = {
    at: Date.now(),
    outcome,
    ...(typeof message === "string" &&
      { message: message.slice(0, MAX_MESSAGE_CHARS) }),
  };
}

/**
 * Returns a function that answers a call. Outside of the relay's methods, so that the closure does not
 * capture the request until the call has ended.
 */
export const replying = (
  answer: (body: Payload | undefined) => void,
  ended: (body: Payload | undefined) => void,
  record: SessionRecord,
) =>
(body: Payload | undefined): void => {
  answer(body);
  ended(body);
  if (body?.mayBeError) noteFailure(record, body);
};
