import type { z } from "zod";
import type { ProtocolName } from "../../protocol/mod.ts";
import type { Member, Seat } from "../shared/member.ts";
import type { PendingCall, Session } from "../shared/session.ts";
import type { Carried } from "../wire/mod.ts";
import type { callSchema, memberSchema, officeSchema } from "./schemas.ts";

/** A member as operators see it. */
export type MemberView = z.infer<typeof memberSchema>;
/** A call as operators see it. */
export type CallView = z.infer<typeof callSchema>;
/** An office as operators see it. */
export type OfficeView = z.infer<typeof officeSchema>;

const iso = (at: number): string => new Date(at).toISOString();

/** Shows a member with a connection here. */
export function memberView(
  seat: Seat,
  { address, identity, record, calls }: Pick<
    Session,
    "address" | "identity" | "record" | "calls"
  >,
  carried: Carried | undefined,
  protocol: ProtocolName,
): MemberView {
  const { lastError } = record;
  return {
    ...strangerView(seat, protocol),
    ...(identity && { principal: identity.principal }),
    address,
    since: iso(record.joinedAt),
    calls: record.calls,
    pending_calls: calls.length,
    ...(carried && { bytes: { ...carried } }),
    ...(lastError && {
      last_error: { ...lastError, at: iso(lastError.at) },
    }),
  };
}

/** Shows a member of which only the seat is known. */
export const strangerView = (
  { socket, office, role, name, version }: Member,
  protocol: ProtocolName,
): MemberView => ({ id: socket, office, protocol, role, name, version });

/**
 * Shows a call.
 *
 * @param seat its Agent's
 * @param now milliseconds of a monotonic clock
 */
export const callView = (
  { office, name: agent }: Seat,
  { identity }: Pick<Session, "identity">,
  { computer, reqId, event, tool, began, waiting }: PendingCall,
  protocol: ProtocolName,
  now: number,
): CallView => ({
  office,
  protocol,
  agent,
  computer,
  req_id: reqId ?? "",
  request: event,
  ...(tool !== undefined && { tool }),
  ...(identity && { principal: identity.principal }),
  ...(waiting !== undefined && { waiting }),
  ms: Math.round(now - began),
});

/** Shows the offices of one version. */
export function officeViews(
  sessions: Iterable<Pick<Session, "member" | "calls">>,
  protocol: ProtocolName,
  sees: (office: string) => boolean,
): OfficeView[] {
  const offices = new Map<string, OfficeView>();
  for (const { member, calls } of sessions) {
    if (member === undefined || !sees(member.office)) continue;
    const { office, role, name } = member;
    const view = offices.get(office) ??
      { office, protocol, agent: null, computers: 0, pending_calls: 0 };
    offices.set(office, view);
    if (role === "computer") view.computers++;
    else {
      view.agent = name;
      view.pending_calls += calls.length;
    }
  }
  return [...offices.values()];
}

/** Makes one list, by name, of those that nodes have of the same offices. */
export function joinOffices(
  lists: Iterable<readonly OfficeView[]>,
): OfficeView[] {
  const all = new Map<string, OfficeView>();
  for (const view of [...lists].flat()) {
    const key = `${view.protocol} ${view.office}`;
    const known = all.get(key);
    all.set(
      key,
      known
        ? {
          ...known,
          agent: known.agent ?? view.agent,
          computers: known.computers + view.computers,
          pending_calls: known.pending_calls + view.pending_calls,
        }
        : view,
    );
  }
  return [...all.values()].sort((a, b) =>
    a.protocol === b.protocol
      ? (a.office < b.office ? -1 : 1)
      : (a.protocol < b.protocol ? -1 : 1)
  );
}
