import {
  SERVER_EVENTS,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  type ToolCallProgress,
} from "../../protocol/mod.ts";
import type { Follower, Session } from "../shared/session.ts";
import type { Member } from "../shared/member.ts";
import { checkAccess } from "./access_rule.ts";

/**
 * Passes the progress of a call on to the Agent that made it, and to nobody else (spec §7).
 *
 * That of a call which has ended, or whose Agent did not ask for it, is dropped: a Computer cannot
 * know yet that its Agent has gone.
 *
 * @throws {ProtocolError} when the payload is invalid, or its sender may not send it
 */
export function passOnProgress(computer: Session, payload: unknown): void {
  const { from, parseRequest } = SERVER_EVENTS[TOOL_CALL_PROGRESS_EVENT];
  const told = parseRequest(payload);
  checkAccess(computer.member, { role: from, name: told.computer });
  // The calls of a seated Computer are those that it has to answer, all of its office.
  for (const { follower } of computer.calls) {
    if (follower?.reqId === told.req_id) follower.tell(knownFields(told));
  }
}

/** Makes an Agent hear of the progress of a call, as long as it has the seat in which it asked. */
export const following = (
  agent: Session,
  seat: Member,
  reqId: string,
): Follower => ({
  reqId,
  tell(told) {
    if (agent.member !== seat || told.agent !== seat.name) return;
    agent.socket.emit(TOOL_CALL_PROGRESS_NOTIFICATION, told);
  },
});

/** Leaves out what a Computer adds: it is not for the Agent to rely on. */
const knownFields = (
  { computer, agent, req_id, progress, total, message }: ToolCallProgress,
): ToolCallProgress => ({
  computer,
  agent,
  req_id,
  progress,
  ...(total !== undefined && { total }),
  ...(message !== undefined && { message }),
});
