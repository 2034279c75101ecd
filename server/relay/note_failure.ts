import { type Role, toErrorPayload } from "../../protocol/mod.ts";
import { endOf } from "../shared/call_end.ts";
import { type CallEnd, isFaultOf } from "../shared/call_end.ts";
import type { SessionRecord } from "../shared/session.ts";
import type { Payload } from "../wire/mod.ts";

/** The longest message that is kept, in characters. */
const MAX_MESSAGE_CHARS = 500;

/** Notes for operators how a call of a session ended, if that is an error of its member. */
export function noteFailure(
  record: SessionRecord,
  role: Role,
  end: CallEnd,
  answer: Payload | undefined,
): void {
  if (!isFaultOf(role, end)) return;
  const message = toErrorPayload(answer?.peek())?.message;
  record.lastError = {
    at: Date.now(),
    ...end,
    ...(typeof message === "string" &&
      { message: message.slice(0, MAX_MESSAGE_CHARS) }),
  };
}

/**
 * Returns a function that answers a call. Outside of the relay's methods, so that the closure does not
 * capture the request until the call has ended.
 */
export const replying = (
  answer: (body: Payload | undefined, end: CallEnd) => void,
  ended: (body: Payload | undefined, end: CallEnd) => void,
  record: SessionRecord,
) =>
(body: Payload | undefined, end: CallEnd = endOf(body)): void => {
  answer(body, end);
  ended(body, end);
  noteFailure(record, "agent", end, body);
};
