/**
 * An office: one Agent, its Computers, and everything that passes between them, in the order of the
 * specification: who takes a seat (§5, §9), what a member sends (§3, in `members.ts`), how a request gets
 * to a Computer (§7, in `call.ts`), and how a member leaves (§5).
 *
 * Everything takes effect in the order of its arrival, in one process, so nothing here is asynchronous.
 * No socket, no other node, no timer: a member is a {@linkcode Peer}, the rest is {@linkcode OfficeParts}.
 *
 * @module
 */
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  ENTER_OFFICE_NOTIFICATION,
  LEAVE_OFFICE_NOTIFICATION,
  type Notification,
  TOOL_CALL_EVENT,
  type ToolCallCancel,
} from "../../protocol/mod.ts";
import { serverFor } from "../../protocol/translation.ts";
import { type Call, computerLeft, type SharedParts } from "./call.ts";
import { agentName, forbidden, Member, notInOffice } from "./members.ts";
import {
  holderOf,
  type OfficeParts,
  type Offices,
  partyOf,
  type Peer,
  type Refusal,
  type Seat,
  type Seated,
  type SeatRole,
  type WantedSeat,
} from "./peer.ts";
import { AGENT_GONE, CANCELLED_BY_OPERATOR } from "../shared/audit.ts";
import { Payload, shuttingDown } from "../shared/payload.ts";
import type { Deadline } from "../../shared/deadlines.ts";

/** Who changes something as an operator, and why. */
export interface Order {
  /** Who the operator is authenticated as. */
  readonly by: string;
  /** Shown to those whom it concerns. */
  readonly reason: string;
}

/** A kick. */
export interface Kick extends Order {
  /** Milliseconds for which the seat is held free; 0 lets the client rejoin immediately. */
  readonly holdMs: number;
}

/** The key of the Agent's seat; that of a Computer is its name, that of an operator its connection. */
const AGENT = Symbol("agent");

/** One office; it exists while a seat in it is taken. */
export class Office {
  /** The `office_id` of the wire. */
  readonly name: string;
  /** What it works with. */
  readonly parts: SharedParts;
  readonly #emptied: () => void;
  /** In the order in which they were taken; that of a Computer by its name. */
  readonly seats: Map<string | symbol | Peer, Member> = new Map();

  /** @param emptied called when the last seat was left */
  constructor(name: string, parts: SharedParts, emptied: () => void) {
    this.name = name;
    this.parts = parts;
    this.#emptied = emptied;
  }

  /** The members: the Agent first, the Computers in the order of their joins; no operators. */
  get members(): Member[] {
    return this.#with("agent", "computer");
  }

  /** The pending calls: those of the Agent, then those of operators. */
  get calls(): Call[] {
    return this.#with("agent", "operator").flatMap(({ calls }) => calls);
  }

  #with(...roles: SeatRole[]): Member[] {
    const all = [...this.seats.values()];
    return roles.flatMap((wanted) => all.filter(({ role }) => role === wanted));
  }

  // ---------------------------------------------------------------- taking a seat (protocol §5, §9)

  /**
   * Takes a seat that {@linkcode Office.judge} does not refuse, and notifies the others. The seat of the
   * Agent and each name of a Computer are exclusive; only the same instance takes its own seat over, and
   * its former connection is closed.
   *
   * @param former a seat in another office, left before this one is taken
   */
  join(peer: Peer, wanted: WantedSeat, former?: Seat): Seat {
    const member = new Member(peer, wanted, this);
    former?.leave();
    const holder = this.seats.get(keyOf(member));
    if (holder) {
      this.#remove(holder, false, "its seat was taken over");
      holder.peer.end("its client joined with another connection", true);
    }
    this.seats.set(keyOf(member), member);
    this.#announce(ENTER_OFFICE_NOTIFICATION, member);
    this.#audit("joined", member);
    return member;
  }

  /** Returns why a client would get no seat now; `undefined` when it would. */
  judge(peer: Peer, wanted: WantedSeat): Refusal | undefined {
    if (isHidden(wanted.role)) return undefined;
    const { limiter } = this.parts;
    const holder = this.seats.get(keyOf({ ...wanted, peer }));
    const isFull = this.members.length >= limiter.limits.membersPerOffice;
    const refusal = judgeSeat(peer, wanted, holder, isFull);
    if (refusal === ROOM_FULL) {
      limiter.recordHit("membersPerOffice", partyOf(peer));
    }
    return refusal;
  }

  // ---------------------------------------------------------------- notices (protocol §3)

  /**
   * Notifies all members, in the order of their seats, but the one that causes it. All get the same
   * payload object, or the same translation of it.
   */
  notify(event: Notification, notice: Payload, cause?: Member): void {
    const mcp_server = cause?.names &&
      serverFor(event, Object(notice.peek()), cause.names);
    const translated = mcp_server === undefined
      ? notice
      : notice.with({ mcp_server });
    for (const member of this.members) {
      if (member === cause) continue;
      const differs = cause &&
        cause.peer.profile.bundleIds !== member.peer.profile.bundleIds;
      member.notify(event, differs ? translated : notice);
    }
  }

  /** Notifies the whole office of a cancel, the Agent included: other programs of its own may show the call. */
  notifyCancel(
    sender: Seated,
    req_id: string,
    reason: ToolCallCancel["reason"],
  ): void {
    const agent = agentName(sender);
    const cancelled = { agent, req_id, ...(reason && { reason }) };
    this.notify(CANCEL_TOOL_CALL_NOTIFICATION, Payload.of(cancelled));
  }

  // ---------------------------------------------------------------- leaving (protocol §5, §9)

  /** Makes a member leave; its connection stays, or is gone. */
  leave(member: Member, isGone: boolean): void {
    if (!member.isHeld) return;
    this.#remove(member, isGone);
    if (this.seats.size === 0) this.#emptied();
  }

  /**
   * Frees a seat, notifies the others, and ends the calls of the member: those that a Computer has to
   * answer with 404, those of an Agent with 4103, or silently where its connection is gone.
   */
  #remove(member: Member, isGone: boolean, reason?: string): void {
    const { role, name, calls } = member;
    this.seats.delete(keyOf(member));
    member.isHeld = false;
    member.endDevices();
    this.#announce(LEAVE_OFFICE_NOTIFICATION, member);
    const left = isGone ? undefined : notInOffice();
    const error = role === "computer" ? computerLeft(name) : left;
    const how = role === "operator" ? CANCELLED_BY_OPERATOR : AGENT_GONE;
    for (const call of [...calls]) {
      call.end(error, role === "computer" ? undefined : call.stopped ?? how);
    }
    this.#audit("left", member, reason); // after its calls, which have lines of their own
  }

  /** Notifies the others; operators are invisible. */
  #announce(event: Notification, member: Member): void {
    const { office, role, name } = member;
    if (isHidden(role)) return;
    const notice = Payload.of({ office_id: office, [role]: name });
    this.notify(event, notice, member);
  }

  #audit(event: "joined" | "left", member: Member, reason?: string): void {
    const { office, role, name, peer } = member;
    if (isHidden(role)) return;
    this.parts.audit({
      event,
      office,
      role,
      name,
      ...partyOf(peer),
      ...(reason !== undefined && { reason }),
    });
  }

  /** Ends all calls, and makes all members leave, at shutdown. */
  close(): void {
    for (const call of this.calls) call.end(shuttingDown());
    for (const each of [...this.members, ...this.#with("operator", "device")]) {
      this.leave(each, false);
    }
  }

  /**
   * Closes the connections of all members as a network would, and frees their seats, in one turn: another
   * process may be the home of the office.
   */
  disband(reason: string): void {
    const everybody = [...this.seats.values()];
    for (const { peer } of everybody) peer.end(reason, false);
    for (const member of everybody) this.leave(member, true);
  }

  // ---------------------------------------------------------------- orders of operators

  /**
   * Kicks a member. The protocol has no event for it: its calls end with the reason, its office is
   * notified that it left, and its connection is closed, so that its client reconnects by itself.
   */
  kick(member: Member, { by, reason, holdMs }: Kick): void {
    const { peer, office, role, name } = member;
    if (isHidden(role) || !member.isHeld) return;
    this.parts.audit({
      event: "member_kicked",
      by,
      reason,
      hold_ms: holdMs,
      ...partyOf(peer),
      office,
      role,
      name,
    });
    const shown = kickedFor(reason);
    if (role === "agent") {
      for (const call of [...member.calls]) {
        call.end(forbidden(shown), CANCELLED_BY_OPERATOR);
      }
    }
    this.leave(member, false);
    peer.end(shown, false);
  }

  /** Cancels a call for its Agent with an error, and for its Computer as the Agent's own cancel would. */
  cancel(call: Call, { by, reason }: Order): void {
    const { event, reqId: req_id, computer } = call;
    const agent = agentName(call.agent);
    this.parts.audit({
      event: "call_cancelled",
      by,
      reason,
      office: this.name,
      agent,
      computer: computer.name,
      req_id,
      request: event,
    });
    // Other requests than tool calls have no cancel.
    if (event === TOOL_CALL_EVENT) {
      this.notifyCancel(call.agent, req_id, "operator");
    }
    const error = forbidden(`Cancelled by an operator: ${reason}`);
    call.end(error, CANCELLED_BY_OPERATOR);
  }
}

/** Whether no member sees who has a seat of this role. */
const isHidden = (
  role: SeatRole,
): role is Exclude<SeatRole, "agent" | "computer"> =>
  role === "operator" || role === "device";

const keyOf = ({ role, name, peer }: Seated): string | symbol | Peer =>
  role === "computer" ? name : role === "agent" ? AGENT : peer;

/** The answer to a join for a seat that is held free. */
const kickedFor = (reason: string) => `Kicked by an operator: ${reason}`;

/** What follows the offices of a process. No method calls them before it returns. */
interface OfficesFollower {
  /** Called when the last seat of an office was left. */
  emptied(office: string): void;
  /** Called when a kick holds a seat free. */
  held(seat: WantedSeat, hold: Omit<Kick, "by">): void;
}

/** The offices whose home is this process, by name. */
export class LocalOffices implements Offices {
  /** What follows them. */
  follower: OfficesFollower | undefined;
  readonly #parts: SharedParts;
  readonly #offices = new Map<string, Office>();
  /** Why, and until when since 1970, seats are held free after a kick: clients reconnect by themselves. */
  readonly #holds = new Map<string, { refused: string; until: number }>();

  /** @param parts what the offices work with */
  constructor(parts: OfficeParts) {
    const calls = { sentCalls: 0, pendingCalls: 0, idle: undefined };
    this.#parts = { ...parts, ...calls, isClosed: false };
  }

  /** Whether the server is shutting down. */
  get isClosed(): boolean {
    return this.#parts.isClosed;
  }

  /** The number of calls that were sent to Computers so far. */
  get sentCalls(): number {
    return this.#parts.sentCalls;
  }

  /** The bytes of what is kept of each member. */
  memberBytes(): number[] {
    return this.#offices.values()
      .flatMap(({ members }) => members.map(({ bytes }) => bytes)).toArray();
  }

  /** Returns the open offices. */
  [Symbol.iterator](): Iterator<Office> {
    return this.#offices.values();
  }

  /** Finds an office with members. */
  find(name: string): Office | undefined {
    return this.#offices.get(name);
  }

  /** Finds a member by the id of its connection. */
  findMember(id: string): Member | undefined {
    return this.#offices.values().flatMap(({ members }) => members)
      .find(({ peer }) => peer.id === id);
  }

  /** Returns why a client would get no seat now; `undefined` when it would. */
  judge(peer: Peer, wanted: WantedSeat): Refusal | undefined {
    const { isClosed, clock } = this.#parts;
    if (isClosed) return { refused: shuttingDown().message };
    const { refused, until = 0 } = this.#holds.get(holdKey(wanted)) ?? {};
    if (refused && until > clock.date()) return { refused };
    return this.find(wanted.office)?.judge(peer, wanted);
  }

  /** Takes a seat; an office exists from its first seat on until the last one is left. */
  join(peer: Peer, wanted: WantedSeat, former?: Seat): Seat | Refusal {
    const refusal = this.judge(peer, wanted);
    if (refusal) return refusal;
    const office = this.find(wanted.office) ?? this.#open(wanted.office);
    return office.join(peer, wanted, former);
  }

  #open(name: string): Office {
    const office = new Office(name, this.#parts, () => {
      this.#offices.delete(name);
      this.follower?.emptied(name);
    });
    this.#offices.set(name, office);
    return office;
  }

  /** Kicks a member, whose client then gets the reason as the answer to its joins for a while. */
  kick(member: Member, order: Kick): void {
    this.hold(member, order);
    this.follower?.held(member, order);
    this.find(member.office)?.kick(member, order);
  }

  /** Holds a seat free; also for a kick at another node, since the office may move here. */
  hold(seat: WantedSeat, { reason, holdMs }: Omit<Kick, "by">): void {
    const now = this.#parts.clock.date();
    for (const [key, { until }] of this.#holds) {
      if (until <= now) this.#holds.delete(key);
    }
    if (holdMs <= 0) return;
    const hold = { refused: kickedFor(reason), until: now + holdMs };
    this.#holds.set(holdKey(seat), hold);
  }

  /**
   * Refuses joins and calls, waits for pending calls, ends those that remain, and makes all members leave.
   *
   * @param graceMs how long to wait at most
   */
  async drain(graceMs: number): Promise<void> {
    const parts = this.#parts;
    parts.isClosed = true;
    if (parts.pendingCalls > 0 && graceMs > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const now = parts.clock.now();
      const deadline: Deadline = { due: now + graceMs, expire: resolve };
      parts.idle = resolve;
      parts.deadlines.add(deadline, now);
      await promise;
      parts.deadlines.remove(deadline);
    }
    for (const office of [...this.#offices.values()]) office.close();
  }
}

const holdKey = ({ office, role, name }: WantedSeat): string =>
  JSON.stringify([office, role, name]);

/**
 * Decides what the office alone decides about a join (protocol §5, §9, §10).
 *
 * @param holder has the seat now: that of the Agent, or of the Computer with the name
 * @param isFull whether the office has as many members as it may; a seat can still be taken over
 * @returns why not, or `undefined` when the peer gets the seat, and the holder loses it
 */
export function judgeSeat(
  peer: Peer,
  { role, name }: WantedSeat,
  holder: Seated | undefined,
  isFull: boolean,
): Refusal | undefined {
  if (holder === undefined) return isFull ? ROOM_FULL : undefined;
  if (isSameInstance(holder.peer, peer)) return undefined;
  if (role === "agent") {
    return { refused: AGENT_SEAT_TAKEN, holder: holderOf(holder) };
  }
  return {
    refused: `Computer ${JSON.stringify(name)} already exists in the room`,
  };
}

/** The reason when the office has another Agent. */
export const AGENT_SEAT_TAKEN = "Room already has an agent";

/** The refusal when every seat is taken. */
export const ROOM_FULL: Refusal = {
  refused: "Room is full: it has as many members as this server allows",
};

/** Another principal with the same instance id has guessed it (protocol §9). */
const isSameInstance = (a: Peer, b: Peer): boolean =>
  a.instance !== undefined && a.instance === b.instance &&
  a.identity?.principal === b.identity?.principal;
