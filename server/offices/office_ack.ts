import {
  ErrorCode,
  LEAVE_OFFICE_EVENT,
  type OfficeAck,
  ProtocolError,
} from "../../protocol/mod.ts";
import { partyOf, seatOf } from "../shared/audit.ts";
import { errorPayloadOf } from "../shared/error_payload.ts";
import type { Journal } from "../shared/journal.ts";
import type { Session } from "../shared/session.ts";

/** Refuses to leave another office, and audits it as an attempt to act there (spec §10). */
export function refuseLeave(session: Session, journal: Journal): OfficeAck {
  const reason = "Cannot leave an office that you are not in";
  journal.write({
    event: "access_refused",
    request: LEAVE_OFFICE_EVENT,
    code: ErrorCode.CROSS_ROOM_ACCESS,
    reason,
    ...partyOf(session),
    ...(session.member && seatOf(session.member)),
  });
  return [false, reason];
}

/** Answers a join or a leave; what is thrown refuses it. */
export async function officeAck(
  act: () => Promise<OfficeAck>,
): Promise<OfficeAck> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ProtocolError) return [false, error.message];
    return [false, errorPayloadOf(error).message];
  }
}
