/**
 * What operators see of a process, its offices, members and calls, in the words of the API.
 *
 * @module
 */
import process from "node:process";
import { agentName, type Call } from "../office/call.ts";
import type { Member } from "../office/members.ts";
import type { Office } from "../office/office.ts";
import type * as z from "../../protocol/schema.ts";
import type { ClientSocket } from "../wire/mod.ts";
import type {
  callSchema,
  memberSchema,
  officeSchema,
  processSchema,
} from "./schemas.ts";

/** An office. */
export type OfficeView = z.infer<typeof officeSchema>;
/** A member. */
type MemberView = z.infer<typeof memberSchema>;
/** A call. */
type CallView = z.infer<typeof callSchema>;

/** The Socket.IO sessions of a server by their ids. */
export type OpenSessions = ReadonlyMap<
  string,
  { readonly socket: Pick<ClientSocket, "conn"> }
>;

/** Shows what this process has in all, but its counts. */
export function memoryView(
  sessions: OpenSessions,
): Pick<
  z.infer<typeof processSchema>,
  "queued_bytes" | "memory_bytes" | "heap_bytes"
> {
  const { rss, heapUsed } = process.memoryUsage();
  let queued = 0;
  for (const { socket } of sessions.values()) {
    queued += socket.conn.carried?.()?.queued ?? 0;
  }
  return { queued_bytes: queued, memory_bytes: rss, heap_bytes: heapUsed };
}

/** Shows an office; nothing of one in which only operators are. */
export function officeView(
  { name: office, members, calls }: Office,
): OfficeView[] {
  if (members.length === 0) return [];
  const agent = members.find(({ role }) => role === "agent");
  return [{
    office,
    agent: agent?.name ?? null,
    computers: members.length - (agent ? 1 : 0),
    pending_calls: calls.length,
  }];
}

/** Shows a member, with the bytes of its WebSocket if that is here; nothing of an operator. */
export function memberView(
  { peer, office, role, name, record, calls }: Member,
  sessions: OpenSessions,
): MemberView[] {
  if (role === "operator") return [];
  const { id, version, identity, address } = peer;
  const { lastError, joinedAt } = record;
  const session = sessions.get(id);
  const bytes = session?.socket.conn.carried?.();
  return [{
    ...{ id, office, role, name, version },
    ...(identity && { principal: identity.principal }),
    address,
    since: iso(joinedAt),
    calls: record.calls,
    pending_calls: calls.length,
    ...(bytes && { bytes: { ...bytes } }),
    ...(lastError && { last_error: { ...lastError, at: iso(lastError.at) } }),
  }];
}

const iso = (at: number): string => new Date(at).toISOString();

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
