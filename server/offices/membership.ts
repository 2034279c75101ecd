import {
  type OfficeAck,
  parseEnterOfficeReq,
  parseLeaveOfficeReq,
  type Profile,
  ProtocolError,
  type Role,
} from "../../protocol/mod.ts";
import { notServing, shuttingDown } from "../shared/error_payload.ts";
import { failure, log, short } from "../shared/log.ts";
import { checkIdentity } from "../shared/identity.ts";
import { type AuditSeat, partyOf, seatOf } from "../shared/audit.ts";
import type { Journal } from "../shared/journal.ts";
import type { Member, Seat } from "../shared/member.ts";
import type { Exchange } from "./exchange.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { Bars } from "./bars.ts";
import { officeAck, refuseLeave } from "./office_ack.ts";
import { type OfficeNews, roomOf } from "./office_news.ts";
import type { OfficeVersions } from "./office_versions.ts";
import { seatTaken } from "./join_rule.ts";
import type { Claim, OfficeRegistry } from "./registry.ts";
import type { Rosters } from "./rosters.ts";
import type { Session } from "../shared/session.ts";

/** Ends the calls of a session that leaves its office. */
export interface CallEnder {
  /**
   * @param role the session's role in its office
   * @param gone whether its connection is closed
   */
  end(session: Session, role: Role, gone: boolean): void;
}

/** Serves clients of another protocol as the Agent of their office, and makes way for other Agents. */
export interface SeatSharer {
  /** Returns whether a session is one of its Agents. */
  isOwn(session: Session): boolean;
  /**
   * Gives up the seat of an office to an Agent that may use the office as its clients do.
   *
   * @param principal as which that Agent is authenticated
   * @returns `undefined` once the seat is free; else who uses it and until when, as the rest of a sentence
   */
  makeWay(
    office: string,
    principal: string | undefined,
  ): Promise<string | undefined>;
  /** Is called when another Agent has left an office, or was not let in after all. */
  seatFreed(office: string): void;
}

/** Handles joins and leaves, and notifies the offices (spec §3, §5, §9). */
export class Membership {
  readonly #registry: OfficeRegistry;
  readonly #rosters: Rosters;
  readonly #news: OfficeNews;
  readonly #exchange: Exchange | undefined;
  readonly #sessions: ReadonlyMap<string, Session>;
  readonly #profile: Profile;
  readonly #calls: CallEnder;
  readonly #limiter: Limiter;
  readonly #versions: OfficeVersions | undefined;
  readonly #journal: Journal;
  readonly #bars: Bars;
  readonly #sharer: SeatSharer | undefined;
  #closed = false;

  /**
   * @param rosters who sits in the offices that have members here
   * @param news tells the offices who comes and goes
   * @param exchange the other nodes, in a cluster
   * @param sessions the connections of this server by Socket.IO id
   * @param profile the protocol version of the server
   * @param versions knows the members of all versions, where the server serves several
   * @param journal notes who comes and goes
   * @param bars know who may not come back for now
   * @param sharer makes way for Agents
   */
  constructor(
    registry: OfficeRegistry,
    rosters: Rosters,
    news: OfficeNews,
    exchange: Exchange | undefined,
    sessions: ReadonlyMap<string, Session>,
    profile: Profile,
    calls: CallEnder,
    limiter: Limiter,
    versions: OfficeVersions | undefined,
    journal: Journal,
    bars: Bars,
    sharer: SeatSharer | undefined,
  ) {
    this.#sharer = sharer;
    this.#journal = journal;
    this.#bars = bars;
    this.#versions = versions;
    this.#registry = registry;
    this.#rosters = rosters;
    this.#news = news;
    this.#exchange = exchange;
    this.#sessions = sessions;
    this.#profile = profile;
    this.#calls = calls;
    this.#limiter = limiter;
  }

  /** Answers `server:join_office`; never throws (spec §3). */
  async join(session: Session, payload: unknown): Promise<OfficeAck> {
    let seat: AuditSeat | undefined;
    const ack = await officeAck(async () => {
      const { role, name, office_id: office } = parseEnterOfficeReq(payload);
      seat = { office, role, name };
      if (this.#closed) throw shuttingDown();
      const { id: socket } = session.socket;
      const { version, instance, identity } = session;
      const wanted = {
        role,
        name,
        office,
        socket,
        version,
        instance,
        principal: identity?.principal,
      };
      const now = Date.now();
      const forbidden = (identity && checkIdentity(identity, wanted, now)) ??
        this.#bars.reasonFor(wanted, now);
      if (forbidden !== undefined) return [false, forbidden];
      if (this.#exchange && !this.#exchange.isServing()) throw notServing();
      // From before the claim on, so that no notice about the office is missed.
      const { stamp } = this.#rosters.hold(office);
      try {
        return await this.#take(session, wanted, stamp);
      } finally {
        this.#rosters.free(office);
      }
    });
    const [ok, reason] = ack;
    if (!ok) {
      this.#journal.write({
        event: "join_refused",
        reason,
        ...seat,
        ...partyOf(session),
      });
    }
    return ack;
  }

  /** @param since the stamp of the office's roster before the claim */
  async #take(
    session: Session,
    wanted: Member,
    since: number,
  ): Promise<OfficeAck> {
    const { office } = wanted;
    const claim = await this.#claim(session, wanted);
    if (claim.kind === "refuse") {
      if (claim.full) {
        this.#limiter.recordHit("membersPerOffice", partyOf(session));
      }
      return [false, claim.reason];
    }
    if (claim.kind === "admit") {
      const seat = this.#seatOf(wanted, claim.rev);
      if (session.member) await this.#moveOut(session, session.member);
      if (claim.evict) this.#takeOver(claim.evict, seat);
      if (!session.socket.connected) {
        await this.#release(wanted);
        this.#freed(session, wanted);
        return [false, "The connection is gone"];
      }
      if (claim.seats) this.#news.load(office, claim.seats, since);
      this.#moveIn(session, seat);
    }
    return [true, null];
  }

  /** Claims a seat; that of the Agent is given up by who shares it, where the joiner may have it. */
  async #claim(session: Session, wanted: Member): Promise<Claim> {
    const { office, principal } = wanted;
    const claim = async () =>
      await this.#registry.claim(
        wanted,
        session,
        this.#limiter.limits.membersPerOffice,
        this.#exchange && !this.#rosters.isComplete(office),
      );
    const first = await claim();
    const sharer = this.#sharer;
    const isTaken = first.kind === "refuse" && wanted.role === "agent" &&
      first.reason === seatTaken(wanted).reason;
    if (!isTaken || sharer === undefined || sharer.isOwn(session)) return first;
    const holder = (await this.list(office)).find(isAgent);
    const holding = holder && this.#sessions.get(holder.socket);
    // Who may join as Agent may ask the gateway as well, which says the same.
    const why = holding && sharer.isOwn(holding)
      ? await sharer.makeWay(office, principal)
      : holder && `${JSON.stringify(holder.name)} has it until it leaves`;
    if (why !== undefined) {
      return { ...first, reason: `${first.reason}: ${why}` };
    }
    let isIn = false;
    try {
      const second = await claim();
      isIn = second.kind !== "refuse";
      return second;
    } finally {
      if (!isIn) sharer.seatFreed(office);
    }
  }

  /** Answers `server:leave_office`; never throws (spec §3). */
  leave(session: Session, payload: unknown): Promise<OfficeAck> {
    return officeAck(async () => {
      const { office_id: office } = parseLeaveOfficeReq(payload);
      if (session.member === undefined) return [false, "Not in an office"];
      if (session.member.office !== office) {
        return refuseLeave(session, this.#journal);
      }
      await this.#moveOut(session, session.member);
      return [true, null];
    });
  }

  /** Makes a session leave its office, after it disconnected or at shutdown (spec §3, §5). */
  async depart(session: Session): Promise<void> {
    if (session.member) await this.#moveOut(session, session.member);
  }

  /** Lists the members of an office (spec §4). */
  async list(office: string): Promise<readonly Member[]> {
    return await this.#registry.list(office);
  }

  /** Refuses every join from now on. */
  close(): void {
    this.#closed = true;
  }

  /** Returns the members whose connections are here. */
  members(): Seat[] {
    const seats: Seat[] = [];
    for (const { member } of this.#sessions.values()) {
      if (member) seats.push(member);
    }
    return seats;
  }

  /** Notes in the audit log that a member of another node has left, which did not say so itself. */
  lost(seat: Seat, reason: string): void {
    const { socket, principal } = seat;
    this.#journal.write({
      event: "left",
      ...seatOf(seat),
      socket,
      ...(principal !== undefined && { principal }),
      reason,
    });
    this.#news.left(seat);
  }

  /** Disconnects a member whose seat another connection has. */
  evict(seat: Seat): void {
    const session = this.#sessions.get(seat.socket);
    const { member } = session ?? {};
    if (session && member?.office === seat.office) {
      this.#unseat(session, member, "its seat was taken over");
    } else this.#news.left(seat); // one that has not finished joining was not announced
    session?.socket.disconnect(true);
  }

  /** Forgets all members and closes their connections, whose clients then reconnect. */
  fence(reason: string): void {
    for (const session of [...this.#sessions.values()]) {
      const { member, socket } = session;
      if (member) {
        this.#calls.end(session, member.role, true);
        this.#forget(session, member, reason);
      }
      socket.conn.close();
    }
  }

  #seatOf(member: Member, rev: number): Seat {
    const node = this.#exchange?.node;
    return { ...member, rev, ...(node !== undefined && { node }) };
  }

  #moveIn(session: Session, seat: Seat): void {
    const { office, socket } = seat;
    session.role = seat.role;
    session.member = seat;
    session.record.joinedAt = Date.now();
    session.socket.join(roomOf(office));
    this.#rosters.hold(office);
    this.#news.enters(seat);
    this.#versions?.joined(office, socket, this.#profile.version);
    this.#journal.write({
      event: "joined",
      ...seatOf(seat),
      ...partyOf(session),
    });
  }

  async #moveOut(session: Session, seat: Seat): Promise<void> {
    this.#unseat(session, seat);
    await this.#release(seat);
    this.#freed(session, seat);
  }

  #freed(session: Session, { office, role }: Member): void {
    if (role === "agent" && !this.#sharer?.isOwn(session)) {
      this.#sharer?.seatFreed(office);
    }
  }

  /** Disconnects the former holder of a seat, which already belongs to the new socket. */
  #takeOver(former: Seat, seat: Seat): void {
    if (this.#news.isHere(former)) return this.evict(former);
    this.#news.leaves(former, seat.socket);
    this.#exchange?.evict(former, seat.socket);
  }

  /** Announces the leave, and removes the socket from the office, in one synchronous step. */
  #unseat(session: Session, seat: Seat, reason?: string): void {
    this.#news.leaves(seat, seat.socket);
    this.#calls.end(session, seat.role, !session.socket.connected);
    this.#forget(session, seat, reason);
  }

  #forget(session: Session, seat: Seat, reason: string | undefined): void {
    session.member = undefined;
    session.socket.leave(roomOf(seat.office));
    this.#rosters.free(seat.office);
    this.#versions?.left(seat.office, seat.socket);
    this.#journal.write({
      event: "left",
      ...seatOf(seat),
      ...partyOf(session),
      ...(reason !== undefined && { reason }),
    });
  }

  /** Releases a seat; a failure is logged only, since the client can continue. */
  async #release(member: Member): Promise<void> {
    try {
      await this.#registry.release(member);
    } catch (error) {
      // A cluster that cannot be asked says so itself, and compares its seats later.
      const level = error instanceof ProtocolError ? "debug" : "error";
      log[level]("Cannot release the seat of {name}", {
        name: short(member.name),
        socket: member.socket,
        ...failure(error),
      });
    }
  }
}

const isAgent = ({ role }: Member): boolean => role === "agent";
