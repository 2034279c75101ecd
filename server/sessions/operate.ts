import {
  type AgentCallData,
  CANCEL_TOOL_CALL_EVENT,
  ErrorCode,
  ProtocolError,
  SERVER_EVENTS,
  TOOL_CALL_EVENT,
  type ToolCallCancel,
} from "../../protocol/mod.ts";
import type { Bars } from "../offices/bars.ts";
import type { OfficeNews } from "../offices/office_news.ts";
import { partyOf, seatOf } from "../shared/audit.ts";
import { CANCELLED_BY_OPERATOR } from "../shared/call_end.ts";
import type { Journal } from "../shared/journal.ts";
import type { Seat } from "../shared/member.ts";
import type { PendingCall, Session } from "../shared/session.ts";

/** Who changes something, and why. */
export interface Order {
  /** Who the operator is authenticated as. */
  readonly by: string;
  /** What those are told whom it concerns. */
  readonly reason: string;
}

/** How long a member stays out. */
export interface Hold {
  /** Milliseconds in which its seat cannot be taken; 0 lets it come back at once. */
  readonly holdMs: number;
}

/** What those are told who ask for a seat that is held closed. */
export const toldWhenKicked = (reason: string): string =>
  `Kicked by an operator: ${reason}`;

/**
 * Kicks a member out of its office.
 *
 * The protocol has no event for it. Its pending calls end with the reason; its office is told that it
 * left; and its connection is closed as a network would, so that its client comes back by itself and
 * hears the reason as the answer to its join, while the seat is held closed.
 *
 * @param seat the seat that it had when the operator decided
 */
export async function kick(
  session: Session,
  seat: Seat,
  { by, reason, holdMs }: Order & Hold,
  { journal, bars, membership }: {
    readonly journal: Journal;
    readonly bars: Bars;
    readonly membership: { depart(session: Session): Promise<void> };
  },
): Promise<void> {
  const told = toldWhenKicked(reason);
  const now = Date.now();
  bars.add(seatOf(seat), told, now + holdMs, now);
  journal.write({
    event: "member_kicked",
    by,
    reason,
    hold_ms: holdMs,
    ...partyOf(session),
    ...seatOf(seat),
  });
  await session.enqueue(async () => {
    if (session.member !== seat) return; // it has left meanwhile
    if (seat.role === "agent") {
      const error = new ProtocolError(ErrorCode.FORBIDDEN, told).toPayload();
      for (const call of [...session.calls]) {
        call.end(error, CANCELLED_BY_OPERATOR);
      }
    }
    await membership.depart(session);
    session.socket.conn.close();
  });
}

/**
 * Notifies an office that an operator has cancelled a tool call.
 *
 * @param from keeps the order of what is sent to other nodes
 */
export function tellCancelled(
  call: AgentCallData,
  office: string,
  from: string,
  news: Pick<OfficeNews, "notify">,
): void {
  const { notification } = SERVER_EVENTS[CANCEL_TOOL_CALL_EVENT];
  if (notification === undefined) return;
  news.notify({
    office,
    event: notification,
    payload: { ...call, reason: "operator" } satisfies ToolCallCancel,
    from,
    except: undefined,
  });
}

/**
 * Ends a call for its Agent with an error, and tells the Computer to stop, as the Agent's own cancel of
 * it would; other requests than tool calls have no cancel.
 *
 * @param session the Agent's
 */
export function cancelCall(
  session: Session,
  call: PendingCall,
  { by, reason }: Order,
  { journal, news }: {
    readonly journal: Journal;
    readonly news: Pick<OfficeNews, "notify">;
  },
): void {
  const { member, socket } = session;
  const { event, reqId: req_id, computer } = call;
  if (member === undefined || req_id === undefined) return;
  const { office, name: agent } = member;
  journal.write({
    event: "call_cancelled",
    ...{ by, reason, office, agent, computer, req_id, request: event },
  });
  if (event === TOOL_CALL_EVENT) {
    tellCancelled({ agent, req_id }, office, socket.id, news);
  }
  call.end(
    new ProtocolError(
      ErrorCode.FORBIDDEN,
      `Cancelled by an operator: ${reason}`,
    ).toPayload(),
    CANCELLED_BY_OPERATOR,
  );
}
