import type { Namespace } from "socket.io";
import {
  ENTER_OFFICE_NOTIFICATION,
  ErrorCode,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  namesOf,
  type Notification,
  type OfficeAck,
  parseEnterOfficeReq,
  parseLeaveOfficeReq,
  type Profile,
  ProtocolError,
  type Role,
} from "../../protocol/mod.ts";
import { errorPayloadOf, shuttingDown } from "../shared/error_payload.ts";
import { failure, log, short } from "../shared/log.ts";
import { checkIdentity } from "../auth/policy.ts";
import { audit, type AuditSeat, partyOf, seatOf } from "../shared/audit.ts";
import type { Member } from "../shared/member.ts";
import type { JoinDecision } from "./join_rule.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { OfficeVersions } from "./office_versions.ts";
import type { OfficeRegistry } from "./registry.ts";
import type { Session } from "../shared/session.ts";

/** Returns the Socket.IO room of an office; the prefix keeps it apart from socket ids (spec §5). */
const roomOf = (office: string): string => `office:${office}`;

/** Ends the calls of a session that leaves its office. */
export interface CallEnder {
  /**
   * @param role the session's role in its office
   * @param gone whether its connection is closed
   */
  end(session: Session, role: Role, gone: boolean): void;
}

/** Handles joins and leaves, and notifies the offices (spec §3, §5, §9). */
export class Membership {
  readonly #nsp: Namespace;
  readonly #registry: OfficeRegistry;
  readonly #sessions: ReadonlyMap<string, Session>;
  readonly #profile: Profile;
  readonly #calls: CallEnder;
  readonly #limiter: Limiter;
  readonly #versions: OfficeVersions | undefined;
  #closed = false;

  /**
   * @param sessions the connections of this server by Socket.IO id
   * @param profile the protocol version of the server
   * @param versions knows the members of all versions, where the server serves several
   */
  constructor(
    nsp: Namespace,
    registry: OfficeRegistry,
    sessions: ReadonlyMap<string, Session>,
    profile: Profile,
    calls: CallEnder,
    limiter: Limiter,
    versions: OfficeVersions | undefined,
  ) {
    this.#versions = versions;
    this.#nsp = nsp;
    this.#registry = registry;
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
      const forbidden = identity && checkIdentity(identity, wanted, Date.now());
      const decision: JoinDecision = forbidden === undefined
        ? await this.#registry.claim(
          wanted,
          session,
          this.#limiter.limits.membersPerOffice,
        )
        : { kind: "refuse", reason: forbidden };
      if (decision.kind === "refuse") {
        if (decision.full) {
          this.#limiter.recordHit("membersPerOffice", partyOf(session));
        }
        return [false, decision.reason];
      }
      if (decision.kind === "admit") {
        if (decision.leave) await this.#moveOut(session, decision.leave);
        if (decision.evict) this.#evict(decision.evict);
        if (!session.socket.connected) {
          await this.#release(wanted);
          return [false, "The connection is gone"];
        }
        this.#moveIn(session, wanted);
      }
      return [true, null];
    });
    const [ok, reason] = ack;
    if (!ok) {
      audit({ event: "join_refused", reason, ...seat, ...partyOf(session) });
    }
    return ack;
  }

  /** Answers `server:leave_office`; never throws (spec §3). */
  leave(session: Session, payload: unknown): Promise<OfficeAck> {
    return officeAck(async () => {
      const { office_id: office } = parseLeaveOfficeReq(payload);
      if (session.member === undefined) return [false, "Not in an office"];
      if (session.member.office !== office) {
        return refuseLeave(session);
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

  /**
   * Sends a notification to the members of an office.
   *
   * @param except the socket that must not get it, usually the one that caused it
   */
  notify(
    office: string,
    event: Notification,
    payload: unknown,
    except?: string,
  ): void {
    const room = this.#nsp.to(roomOf(office));
    const receivers = except === undefined ? room : room.except(except);
    for (const name of namesOf(this.#profile, event)) {
      receivers.emit(name, payload);
    }
  }

  /** Refuses every join from now on. */
  close(): void {
    this.#closed = true;
  }

  #moveIn(session: Session, member: Member): void {
    session.role = member.role;
    session.member = member;
    session.socket.join(roomOf(member.office));
    this.#announce(ENTER_OFFICE_NOTIFICATION, member);
    const { office, socket } = member;
    this.#versions?.joined(office, socket, this.#profile.version);
    audit({ event: "joined", ...seatOf(member), ...partyOf(session) });
  }

  async #moveOut(session: Session, member: Member): Promise<void> {
    this.#unseat(session, member);
    await this.#release(member);
  }

  /** Disconnects the former holder of a seat; the seat already belongs to the new socket. */
  #evict(member: Member): void {
    const session = this.#sessions.get(member.socket);
    // A session of another node was announced; one that has not finished joining was not.
    if (session === undefined) {
      this.#announce(LEAVE_OFFICE_NOTIFICATION, member);
    } else if (session.member?.office === member.office) {
      this.#unseat(session, member);
    }
    session?.socket.disconnect(true);
  }

  /** Announces the leave, and removes the socket from the office, in one synchronous step. */
  #unseat(session: Session, member: Member): void {
    this.#announce(LEAVE_OFFICE_NOTIFICATION, member);
    this.#calls.end(session, member.role, !session.socket.connected);
    session.member = undefined;
    session.socket.leave(roomOf(member.office));
    this.#versions?.left(member.office, member.socket);
    audit({ event: "left", ...seatOf(member), ...partyOf(session) });
  }

  #announce(event: Notification, { office, role, name, socket }: Member): void {
    this.notify(office, event, { office_id: office, [role]: name }, socket);
  }

  /** Releases a seat; a failure is logged only, since the client can continue. */
  async #release(member: Member): Promise<void> {
    try {
      await this.#registry.release(member);
    } catch (error) {
      log.error("Cannot release the seat of {name}", {
        name: short(member.name),
        socket: member.socket,
        ...failure(error),
      });
    }
  }
}

/** Refuses to leave another office, and audits it as an attempt to act there (spec §10). */
function refuseLeave(session: Session): OfficeAck {
  const reason = "Cannot leave an office that you are not in";
  audit({
    event: "access_refused",
    request: LEAVE_OFFICE_EVENT,
    code: ErrorCode.CROSS_ROOM_ACCESS,
    reason,
    ...partyOf(session),
    ...(session.member && seatOf(session.member)),
  });
  return [false, reason];
}

async function officeAck(act: () => Promise<OfficeAck>): Promise<OfficeAck> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ProtocolError) return [false, error.message];
    return [false, errorPayloadOf(error).message];
  }
}
