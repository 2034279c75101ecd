import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { endOf } from "../shared/call_end.ts";
import { partyOf, seatOf } from "../shared/audit.ts";
import type { CallEnd } from "../shared/call_end.ts";
import { errorPayloadOf } from "../shared/error_payload.ts";
import type { Journal } from "../shared/journal.ts";
import type { Session } from "../shared/session.ts";
import { type Answer, type Incoming, Payload } from "../wire/mod.ts";
import { noteFailure } from "./note_failure.ts";

/**
 * Answers an event, whether or not its sender asked for an ack; `undefined` when the sender is gone.
 * How it ended is given where the answer alone does not say it.
 */
export type Reply = (answer: Answer | undefined, end?: CallEnd) => void;

/** Returns a function that answers an event; it does not capture the payload. */
export const answering = (
  { socket }: Session,
  ack: Incoming["ack"],
  measure: Reply | undefined,
): Reply =>
(answer, end) => {
  measure?.(answer, end);
  if (answer !== undefined && socket.connected) ack?.(answer);
};

/** Returns a function that answers with a thrown error. */
export const refusing =
  (session: Session, event: string, answer: Reply, journal: Journal) =>
  (error: unknown) => {
    if (error instanceof ProtocolError) {
      auditRefusal(session, event, error, journal);
    }
    const body = Payload.of(errorPayloadOf(error));
    noteFailure(session.record, session.role ?? "agent", endOf(body), body);
    answer(body);
  };

/** Audits attempts to reach another office or to exceed a role; other refusals are common mistakes. */
function auditRefusal(
  session: Session,
  request: string,
  { code, message }: ProtocolError,
  journal: Journal,
): void {
  if (code !== ErrorCode.CROSS_ROOM_ACCESS && code !== ErrorCode.FORBIDDEN) {
    return;
  }
  journal.write({
    event: "access_refused",
    request,
    code,
    reason: message,
    ...partyOf(session),
    ...(session.member && seatOf(session.member)),
  });
}
