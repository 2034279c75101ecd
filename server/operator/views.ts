import type { z } from "zod";
import { agentName, type Call } from "../office/call.ts";
import type { Member } from "../office/members.ts";
import type { Office } from "../office/office.ts";
import type { Carried } from "../wire/mod.ts";
import type { callSchema, memberSchema, officeSchema } from "./schemas.ts";

/** A member as operators see it. */
export type MemberView = z.infer<typeof memberSchema>;
/** A call as operators see it. */
export type CallView = z.infer<typeof callSchema>;
/** An office as operators see it. */
export type OfficeView = z.infer<typeof officeSchema>;

const iso = (at: number): string => new Date(at).toISOString();

/**
 * Shows a member.
 *
 * @param carried the bytes of its WebSocket, if it is here
 */
export function memberView(
  { peer, office, role, name, record, calls }: Member & {
    readonly role: MemberView["role"];
  },
  carried: Carried | undefined,
): MemberView {
  const { id, version, identity, address } = peer;
  const { lastError } = record;
  return {
    ...{ id, office, role, name, version },
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

/**
 * Shows a call, of an operator too.
 *
 * @param now milliseconds of a monotonic clock
 */
export function callView(
  { agent, computer, reqId, event, tool, began, waiting }: Call,
  now: number,
): CallView {
  const { office, peer: { identity } } = agent;
  return {
    office,
    agent: agentName(agent),
    computer: computer.name,
    req_id: reqId,
    request: event,
    ...(tool !== undefined && { tool }),
    ...(identity && { principal: identity.principal }),
    ...(waiting !== undefined && { waiting }),
    ms: Math.round(now - began),
  };
}

/** Shows an office; `undefined` of one in which only operators are. */
export function officeView(
  { name: office, members, calls }: Office,
): OfficeView | undefined {
  if (members.length === 0) return undefined;
  const agent = members.find(({ role }) => role === "agent");
  return {
    office,
    agent: agent?.name ?? null,
    computers: members.length - (agent ? 1 : 0),
    pending_calls: calls.length,
  };
}
