/**
 * An office: one Agent, its Computers, and everything that passes between them, in the order of the
 * specification: who takes a seat (§5, §9), what a member sends (§3), how a request gets to a Computer
 * (§7, in `call.ts`), and how a member leaves (§5).
 *
 * Everything takes effect in the order of its arrival, in one process, so nothing here is asynchronous.
 * No socket, no other node, no timer: a member is a {@linkcode Peer}, the rest is {@linkcode OfficeParts}.
 *
 * @module
 */
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  CLIENT_EVENTS,
  type ClientEvent,
  ENTER_OFFICE_NOTIFICATION,
  ErrorCode,
  isClientEvent,
  LEAVE_OFFICE_NOTIFICATION,
  LIST_ROOM_EVENT,
  type ListRoomRet,
  type Notification,
  SERVER_EVENTS,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  type ToolCallCancel,
  UPDATE_RESOURCES_EVENT,
} from "../../protocol/mod.ts";
import {
  isTranslated,
  shownTo,
  translateNotice,
} from "../../protocol/translate.ts";
import { AGENT_GONE, CANCELLED_BY_OPERATOR, endOf } from "../shared/audit.ts";
import { errorPayloadOf, shuttingDown } from "../shared/error_payload.ts";
import { log, short } from "../shared/log.ts";
import { Payload } from "../shared/payload.ts";
import {
  agentName,
  asOfSeat,
  type Call,
  computerLeft,
  endOfCancelled,
  forward,
  type SharedParts,
} from "./call.ts";
import { judgeSeat, ROOM_FULL } from "./join_rule.ts";
import {
  checkAccess,
  forbidden,
  type Member,
  noteFailure,
  notifyMember,
  notInOffice,
  refuseOutsider,
} from "./members.ts";
import {
  type Ack,
  type MemberEvent,
  partyOf,
  type Peer,
  type Refusal,
  type Seat,
  type Seated,
  type SeatRole,
  type WantedSeat,
} from "./peer.ts";

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

/** What the others are notified of. */
const NOTICES = {
  joined: ENTER_OFFICE_NOTIFICATION,
  left: LEAVE_OFFICE_NOTIFICATION,
} as const;

/** The fields of a report of progress. */
const PROGRESS = "computer agent req_id progress total message waiting"
  .split(" ");

/** The fields of a report that a resource has changed. */
const RESOURCE = ["computer", "mcp_server", "uri"];

/** The key of the Agent's seat; that of a Computer is its name, that of an operator its connection. */
const AGENT = Symbol("agent");

/** One office; it exists while somebody has a seat. */
export class Office {
  /** The `office_id` of the wire. */
  readonly name: string;
  readonly #parts: SharedParts;
  readonly #emptied: () => void;
  /** In the order in which they were taken. */
  readonly #seats = new Map<string | symbol | Peer, Member>();

  /** @param emptied called when the last seat was left */
  constructor(name: string, parts: SharedParts, emptied: () => void) {
    this.name = name;
    this.#parts = parts;
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

  get #everybody(): Member[] {
    return this.#with("agent", "computer", "operator");
  }

  #with(...roles: SeatRole[]): Member[] {
    const all = [...this.#seats.values()];
    return roles.flatMap((wanted) => all.filter(({ role }) => role === wanted));
  }

  // ---------------------------------------------------------------- taking a seat (spec §5, §9)

  /**
   * Takes a seat that {@linkcode Office.judge} does not refuse, and notifies the others. The seat of the
   * Agent and each name of a Computer are exclusive; only the same instance takes its own seat over, and
   * its former connection is closed.
   *
   * @param former a seat in another office, left before this one is taken
   */
  join(peer: Peer, wanted: WantedSeat, former?: Seat): Seat {
    const { role, name, office } = wanted;
    const member: Member = {
      ...{ peer, role, name, office, calls: [] },
      record: {
        joinedAt: this.#parts.clock.date(),
        ...{ calls: 0, lastError: undefined },
      },
      names: undefined,
      saidOtherName: false,
    };
    former?.leave();
    const holder = this.#seats.get(keyOf(member));
    if (holder) {
      this.#remove(holder, false, "its seat was taken over");
      holder.peer.end("its client joined with another connection", true);
    }
    this.#seats.set(keyOf(member), member);
    this.#announce("joined", member);
    return this.#seatOf(member);
  }

  /** Returns why a client would get no seat now; `undefined` when it would. */
  judge(peer: Peer, wanted: WantedSeat): Refusal | undefined {
    if (wanted.role === "operator") return undefined;
    const { limiter } = this.#parts;
    const holder = this.#seats.get(keyOf({ ...wanted, peer }));
    const isFull = this.members.length >= limiter.limits.membersPerOffice;
    const refusal = judgeSeat(peer, wanted, holder, isFull);
    if (refusal === ROOM_FULL) {
      limiter.recordHit("membersPerOffice", partyOf(peer));
    }
    return refusal;
  }

  #seatOf(member: Member): Seat {
    const isHeld = () => this.#holds(member);
    return {
      get isHeld() {
        return isHeld();
      },
      receive: (event, payload, ack) =>
        this.#receive(member, event, payload, ack),
      leave: () => void this.#leave(member, false),
      gone: () => this.#leave(member, true),
    };
  }

  #holds(member: Member): boolean {
    return this.#seats.get(keyOf(member)) === member;
  }

  // ---------------------------------------------------------------- events of members (spec §3)

  #receive(
    member: Member,
    event: MemberEvent,
    payload: Payload,
    ack: Ack | undefined,
  ): void {
    try {
      if (!this.#holds(member)) refuseOutsider(event, payload);
      if (isClientEvent(event)) {
        return this.#request(member, event, payload, ack);
      }
      const answer = this.#serve(member, event, payload.parse());
      ack?.(answer);
    } catch (error) {
      this.#refuse(member, event, error, ack);
    }
  }

  /** @returns the arguments of the ack */
  #serve(
    member: Member,
    event: Exclude<MemberEvent, ClientEvent>,
    payload: unknown,
  ): Payload | [] {
    switch (event) {
      case LIST_ROOM_EVENT:
        return Payload.of(this.#list(member, payload));
      case CANCEL_TOOL_CALL_EVENT:
        this.#cancel(member, payload);
        return [];
      case TOOL_CALL_PROGRESS_EVENT:
        this.#progress(member, payload);
        return [];
      default: { // a Computer reports a change
        const { from, parseRequest, notification } = SERVER_EVENTS[event];
        const report = parseRequest(payload);
        checkAccess(member, { role: from, name: report.computer });
        const isOfOne = event === UPDATE_RESOURCES_EVENT;
        const notice = known(report, isOfOne ? RESOURCE : ["computer"]);
        if (notification) this.#notify(notification, notice, member);
        return [];
      }
    }
  }

  /** Answers with the error; audits attempts to reach another office or to exceed a role. */
  #refuse(
    member: Member,
    event: MemberEvent,
    error: unknown,
    ack: Ack | undefined,
  ): void {
    const { peer, office, role, name } = member;
    const refusal = errorPayloadOf(error);
    const { code, message: reason } = refusal;
    if (code === ErrorCode.FORBIDDEN || code === ErrorCode.CROSS_ROOM_ACCESS) {
      this.#parts.audit({
        ...{ event: "access_refused", request: event, code, reason },
        ...partyOf(peer),
        ...(role !== "operator" && { office, role, name }),
      });
    }
    const body = Payload.of(refusal);
    noteFailure(member, body, endOf(body), this.#parts.clock.date());
    ack?.(body);
  }

  /** The members, each with its own version (spec §4). */
  #list(reader: Member, payload: unknown): ListRoomRet {
    const { from, parseRequest } = SERVER_EVENTS[LIST_ROOM_EVENT];
    const { agent, office_id, req_id } = parseRequest(payload);
    checkAccess(reader, { role: from, name: agent, office: office_id });
    const { profile } = reader.peer;
    const sessions = this.members.flatMap(({ peer, role, name }) =>
      role === "operator" ? [] : shownTo(profile, {
        sid: peer.id,
        ...{ name, role, office_id },
        a2c_version: peer.version,
      })
    );
    return { sessions, req_id };
  }

  /** Notifies the whole office, the Agent included: other programs of its own may show the call. */
  #cancel(sender: Member, payload: unknown): void {
    const { from, parseRequest } = SERVER_EVENTS[CANCEL_TOOL_CALL_EVENT];
    const { agent, req_id, reason } = parseRequest(payload);
    checkAccess(sender, { role: from, name: agent });
    const isOperator = sender.role === "operator";
    for (const call of sender.calls) {
      if (call.reqId !== req_id) continue;
      call.stopped ??= isOperator
        ? CANCELLED_BY_OPERATOR
        : endOfCancelled(call, reason, this.#parts.clock.now());
    }
    const shown = reason === "timeout" ? reason : undefined;
    this.#notifyCancel(sender, req_id, isOperator ? "operator" : shown);
  }

  #notifyCancel(
    sender: Member,
    req_id: string,
    reason: ToolCallCancel["reason"],
  ): void {
    const agent = agentName(sender);
    const cancelled = { agent, req_id, ...(reason && { reason }) };
    this.#notify(CANCEL_TOOL_CALL_NOTIFICATION, cancelled);
  }

  /**
   * Passes the progress of a call on to the Agent that made it, and to nobody else (spec §7). That of a
   * call which has ended, or whose Agent did not ask for it, is dropped: its Computer cannot know yet.
   */
  #progress(computer: Member, payload: unknown): void {
    const { from, parseRequest } = SERVER_EVENTS[TOOL_CALL_PROGRESS_EVENT];
    const report = parseRequest(payload);
    checkAccess(computer, { role: from, name: report.computer });
    const { agent, req_id } = report;
    const call = computer.calls.find((call) =>
      call.reqId === req_id && call.event === TOOL_CALL_EVENT &&
      agentName(call.agent) === agent
    );
    if (call === undefined) return;
    const { waiting } = report;
    if (waiting !== undefined) {
      call.waiting = waiting ?? undefined;
      this.#parts.waits(call, waiting);
    }
    const wantsThis = call.progress === true ||
      call.progress === "waiting" && waiting !== undefined;
    if (!wantsThis) return;
    const notice = Payload.of(known(report, PROGRESS));
    notifyMember(call.agent, TOOL_CALL_PROGRESS_NOTIFICATION, notice);
  }

  /**
   * Notifies all members, in the order of their seats, but the one that causes it. All get the same
   * payload object, or the same translation of it.
   */
  #notify(event: Notification, notice: object, cause?: Member): void {
    const plain = Payload.of(notice);
    const translated = cause?.names
      ? Payload.of(translateNotice(notice, cause.names))
      : plain;
    for (const member of this.members) {
      if (member === cause) continue;
      const differs = cause &&
        isTranslated(event, cause.peer.profile, member.peer.profile);
      notifyMember(member, event, differs ? translated : plain);
    }
  }

  // ---------------------------------------------------------------- requests to Computers (spec §7)

  #request(
    agent: Member,
    event: ClientEvent,
    payload: Payload,
    ack: Ack | undefined,
  ): void {
    const about = CLIENT_EVENTS[event].parseRequest(payload.peek());
    checkAccess(agent, { role: "agent", name: about.agent });
    logOtherName(agent, about.agent);
    const forwarded = asOfSeat(agent, about, payload);
    forward(
      { agent, event, about, payload: forwarded },
      this.#seats.get(about.computer),
      ack,
      this.#parts,
    );
  }

  // ---------------------------------------------------------------- leaving (spec §5, §9)

  #leave(member: Member, isGone: boolean): void {
    if (!this.#holds(member)) return;
    this.#remove(member, isGone);
    if (this.#seats.size === 0) this.#emptied();
  }

  /**
   * Frees a seat, notifies the others, and ends the calls of the member: those that a Computer has to
   * answer with 404, those of an Agent with 4103, or silently where its connection is gone.
   */
  #remove(member: Member, isGone: boolean, reason?: string): void {
    const { role, name, calls } = member;
    this.#seats.delete(keyOf(member));
    this.#announce("left", member, reason);
    const error = role === "computer"
      ? computerLeft(name)
      : isGone
      ? undefined
      : notInOffice();
    const how = role === "operator" ? CANCELLED_BY_OPERATOR : AGENT_GONE;
    for (const call of [...calls]) {
      call.end(error, role === "computer" ? undefined : call.stopped ?? how);
    }
  }

  /** Notifies the others, and audits it; nobody sees operators. */
  #announce(
    event: "joined" | "left",
    member: Member,
    reason?: string,
  ): void {
    const { office, role, name, peer } = member;
    if (role === "operator") return;
    const notice = { office_id: office, [role]: name };
    this.#notify(NOTICES[event], notice, member);
    this.#parts.audit({
      ...{ event, office, role, name },
      ...partyOf(peer),
      ...(reason !== undefined && { reason }),
    });
  }

  /** Ends all calls, and makes everybody leave, at shutdown. */
  close(): void {
    for (const call of this.calls) call.end(shuttingDown());
    for (const member of this.#everybody) this.#leave(member, false);
  }

  /**
   * Closes the connections of all members as a network would, and frees their seats, at once: another
   * process may be the home of the office.
   */
  disband(reason: string): void {
    const everybody = this.#everybody;
    for (const { peer } of everybody) peer.end(reason, false);
    for (const member of everybody) this.#leave(member, true);
  }

  // ---------------------------------------------------------------- orders of operators

  /**
   * Kicks a member. The protocol has no event for it: its calls end with the reason, its office is
   * notified that it left, and its connection is closed, so that its client reconnects by itself.
   */
  kick(member: Member, { by, reason, holdMs }: Kick): void {
    const { peer, office, role, name } = member;
    if (role === "operator" || !this.#holds(member)) return;
    this.#parts.audit({
      event: "member_kicked",
      ...{ by, reason, hold_ms: holdMs },
      ...partyOf(peer),
      ...{ office, role, name },
    });
    const shown = kickedFor(reason);
    if (role === "agent") {
      for (const call of [...member.calls]) {
        call.end(forbidden(shown), CANCELLED_BY_OPERATOR);
      }
    }
    this.#leave(member, false);
    peer.end(shown, false);
  }

  /** Cancels a call for its Agent with an error, and for its Computer as the Agent's own cancel would. */
  cancel(call: Call, { by, reason }: Order): void {
    const { event, reqId: req_id, computer } = call;
    const agent = agentName(call.agent);
    this.#parts.audit({
      event: "call_cancelled",
      ...{ by, reason, office: this.name, agent },
      ...{ computer: computer.name, req_id, request: event },
    });
    // Other requests than tool calls have no cancel.
    if (event === TOOL_CALL_EVENT) {
      this.#notifyCancel(call.agent, req_id, "operator");
    }
    const error = forbidden(`Cancelled by an operator: ${reason}`);
    call.end(error, CANCELLED_BY_OPERATOR);
  }
}

const keyOf = ({ role, name, peer }: Seated): string | symbol | Peer =>
  role === "computer" ? name : role === "agent" ? AGENT : peer;

/** The answer to a join for a seat that is held free. */
export const kickedFor = (reason: string): string =>
  `Kicked by an operator: ${reason}`;

/** Logs, once a seat, that an Agent's requests give another name; its seat's counts (0.4 §10). */
function logOtherName(agent: Member, claimed: string): void {
  if (agent.saidOtherName || claimed === agentName(agent)) return;
  agent.saidOtherName = true;
  log.debug("An agent's requests say {claimed}, its seat is {name}", {
    claimed: short(claimed),
    name: short(agent.name),
    socket: agent.peer.id,
  });
}

/** The fields of a report that its receivers get: what a Computer adds is not for them to rely on. */
const known = (report: object, fields: readonly string[]): object =>
  Object.fromEntries(
    fields.map((field) => [field, Object(report)[field]])
      .filter(([, value]) => value !== undefined),
  );
