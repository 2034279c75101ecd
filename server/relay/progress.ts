import {
  SERVER_EVENTS,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  type ToolCallProgress,
  type ToolCallReq,
  type ToolProgress,
  type Waiting,
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

/** The call whose progress {@linkcode following} passes on. */
export interface FollowedCall {
  /** The Agent's connection. */
  readonly agent: Session;
  /** Its seat when it called. */
  readonly seat: Member;
  /** The `req_id`. */
  readonly reqId: string;
  /** The reports that it asked for. */
  readonly asked: ToolCallReq["progress"];
}

/**
 * Notifies an Agent of the progress of a call, as long as it has the seat in which it asked for it.
 *
 * @param waits receives that the call waits for a person, asked for or not
 */
export const following = (
  { agent, seat, reqId, asked }: FollowedCall,
  waits: (waiting: Waiting | null) => void,
): Follower => ({
  reqId,
  tell(told) {
    const { waiting } = told;
    if (told.agent !== seat.name) return;
    if (waiting !== undefined) waits(waiting);
    if (agent.member !== seat || !isAskedFor(told, asked)) return;
    agent.socket.emit(TOOL_CALL_PROGRESS_NOTIFICATION, told);
  },
});

/** Decides whether an Agent gets a report: some ask for all of them, others only for what a call waits for. */
export const isAskedFor = (
  { waiting }: ToolProgress,
  asked: ToolCallReq["progress"],
): boolean => asked === true || (asked === "waiting" && waiting !== undefined);

/** Leaves out what a Computer adds: it is not for the Agent to rely on. */
const knownFields = (
  told: ToolCallProgress,
): ToolCallProgress => ({
  computer: told.computer,
  agent: told.agent,
  req_id: told.req_id,
  progress: told.progress,
  ...(told.total !== undefined && { total: told.total }),
  ...(told.message !== undefined && { message: told.message }),
  ...(told.waiting !== undefined && { waiting: told.waiting }),
});
