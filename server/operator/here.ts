import process from "node:process";
import type { z } from "zod";
import type { Authenticator } from "../auth/authenticator.ts";
import type { Journal } from "../shared/audit.ts";
import { type Policy, seesAll, seesOffice } from "../shared/identity.ts";
import { type Carried, carriedBy } from "../wire/mod.ts";
import type { Answerers, Questions } from "./nodes.ts";
import type { OperatedServer } from "./api.ts";
import type {
  callSchema,
  memberSchema,
  officeSchema,
  processSchema,
} from "./schemas.ts";
import { agentName, type Call } from "../office/call.ts";
import type { Member } from "../office/members.ts";
import type { Office } from "../office/office.ts";

/** The parts of a server that {@linkcode Here} needs. */
export interface HereParts extends OperatedServer {
  /** Refuses keys. */
  readonly authenticator: Authenticator | undefined;
  /** Notes what was changed. */
  readonly journal: Journal;
  /** Whether the server is shutting down. */
  draining(): boolean;
  /** Checks the credentials of all sessions and streams again. */
  recheck(): Promise<void>;
}

/** What this node has, and does, for operators of whatever node. */
export class Here
  implements
    Pick<Answerers, "members" | "calls" | "cancel" | "kick" | "revoke"> {
  readonly #parts: HereParts;

  constructor(parts: HereParts) {
    this.#parts = parts;
  }

  /** The offices here that the operator may see, and the process where it may see all. */
  status(
    { policy }: { readonly policy: Policy },
    streams: number,
  ): { offices: OfficeView[]; process?: ProcessView } {
    const { local, draining } = this.#parts;
    const seen = [...local].filter(({ name }) => seesOffice(policy, name));
    return {
      offices: seen.flatMap((office) => officeView(office) ?? []),
      ...(seesAll(policy) &&
        { process: processOf(this.#parts, streams, draining()) }),
    };
  }

  /** The members of an office here. */
  members({ office }: { readonly office: string }): MemberView[] {
    const { local, sessions } = this.#parts;
    const views = [];
    for (const member of local.find(office)?.members ?? []) {
      const { role, peer } = member;
      const session = sessions.open.get(peer.id);
      if (role === "operator") continue;
      const carried = session && carriedBy(session.socket.conn);
      views.push(memberView({ ...member, role }, carried));
    }
    return views;
  }

  /** The calls on their way in an office here, those of operators too. */
  calls({ office }: { readonly office: string }): CallView[] {
    const now = performance.now();
    const calls = this.#parts.local.find(office)?.calls ?? [];
    return calls.map((call) => callView(call, now));
  }

  /** Ends calls; returns how many. */
  cancel(
    { by, office, req_id, reason }: Questions["cancel"],
  ): number {
    const found = this.#parts.local.find(office);
    const calls = found?.calls.filter(({ reqId }) => reqId === req_id) ?? [];
    for (const call of calls) found?.cancel(call, { by, reason });
    return calls.length;
  }

  /** Kicks a member of an office that the operator may see; returns how many. */
  kick({ id, policy, by, reason, hold_ms }: Questions["kick"]): number {
    const { local } = this.#parts;
    const found = local.findMember(id);
    if (found === undefined || !seesOffice(policy, found.office.name)) return 0;
    local.kick(found, { by, reason, holdMs: hold_ms });
    return 1;
  }

  /** Refuses a key; returns how many it knows. */
  async revoke(
    { by, principal, reason }: Questions["revoke"],
  ): Promise<number> {
    const { authenticator, journal, recheck } = this.#parts;
    if (authenticator?.revoke?.(principal) !== true) return 0;
    journal.write({ event: "key_revoked", by, reason, principal });
    await recheck();
    return 1;
  }
}

/** A process as operators of all offices see it. */
type ProcessView = z.infer<typeof processSchema>;

/** Counts what the process has in all. */
function processOf(
  { sessions, local, stats }: Pick<
    OperatedServer,
    "sessions" | "local" | "stats"
  >,
  streams: number,
  draining: boolean,
): ProcessView {
  const { rss, heapUsed } = process.memoryUsage();
  let queued = 0;
  for (const { socket } of sessions.open.values()) {
    queued += carriedBy(socket.conn)?.queued ?? 0;
  }
  return {
    draining,
    connections: stats().connections,
    calls: local.sentCalls,
    streams,
    queued_bytes: queued,
    memory_bytes: rss,
    heap_bytes: heapUsed,
  };
}

/** A member as operators see it. */
type MemberView = z.infer<typeof memberSchema>;
/** A call as operators see it. */
type CallView = z.infer<typeof callSchema>;
/** An office as operators see it. */
export type OfficeView = z.infer<typeof officeSchema>;

const iso = (at: number): string => new Date(at).toISOString();

/**
 * Shows a member.
 *
 * @param carried the bytes of its WebSocket, if it is here
 */
function memberView(
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
function callView(
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
function officeView(
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
