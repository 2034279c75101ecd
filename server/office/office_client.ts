/**
 * A client of the Server, in an office or in none (protocol §3, §5): its events in their order, also while a
 * join waits for another node, its joins and leaves, and what it gets where it has no seat.
 *
 * @module
 */
import {
  type ClientEvent,
  ErrorCode,
  eventOf,
  isClientEvent,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  type OfficeAck,
  ProtocolError,
  type Role,
  SERVER_EVENTS,
  type ServerEvent,
  TOOL_CALL_PROGRESS_EVENT,
} from "../../protocol/mod.ts";
import { hasNotificationPrefix } from "../../protocol/profiles.ts";
import {
  parseEnterOfficeReq,
  parseLeaveOfficeReq,
} from "../../protocol/payloads/offices.ts";
import { MAX_MEMBERS, REQUEST_BOUNDS } from "../../protocol/event_table.ts";
import { errorAnswer, type Payload, shuttingDown } from "../shared/payload.ts";
import { log, short } from "../shared/log.ts";
import { checkIdentity, type MemberSeat } from "../shared/identity.ts";
import {
  type Ack,
  type OfficeParts,
  type Offices,
  partyOf,
  type Peer,
  type Refusal,
  refusalOf,
  type Seat,
  type WantedSeat,
} from "./peer.ts";
import { type Excess, excessOf } from "./call.ts";
import { refuseOutsider, unknownEvent } from "./members.ts";

/** An event that a client may send. */
type AnyEvent = ClientEvent | ServerEvent;

/** The client's seat. */
export type OwnSeat = MemberSeat & { readonly seat: Seat };

/** The most bytes of events that wait for another node to answer. */
const MAX_WAITING_BYTES = 2 ** 20;

/** What an event costs above its bytes. */
const WAITING_OVERHEAD_BYTES = 256;

/** What a connection works with. */
export interface OfficeClientParts
  extends Pick<OfficeParts, "audit" | "clock"> {
  readonly offices: Offices;
  /** Notes an event that the client's version does not have. */
  readonly unknownEvent: (peer: Peer, name: string) => void;
  /**
   * Called when an event arrives; the returned function is called with its answer.
   *
   * @param event its name in the event table; absent for one that the client's version does not have
   */
  readonly measure?: ((event: AnyEvent | undefined) => Ack) | undefined;
}

/**
 * A client of the Server, in an office or in none: it joins and leaves, and its other events go to its
 * seat. They take effect in the order of their arrival, also while a join waits for another node (spec
 * §3). No method throws.
 */
export class OfficeClient {
  readonly #peer: Peer;
  readonly #parts: OfficeClientParts;
  #role: Role | undefined;
  #own: OwnSeat | undefined;
  #isGone = false;
  /** Whether another node is to answer first. */
  #isWaiting = false;
  /** What arrived meanwhile. */
  readonly #waiting: (() => void)[] = [];
  #waitingBytes = 0;

  /** @param role declared at connect, if it was (protocol §2) */
  constructor(peer: Peer, parts: OfficeClientParts, role?: Role) {
    this.#peer = peer;
    this.#parts = parts;
    this.#role = role;
  }

  /** The seat that the client holds. */
  get held(): OwnSeat | undefined {
    return this.#own?.seat.isHeld ? this.#own : undefined;
  }

  /**
   * Handles an event.
   *
   * @param name as the client sent it, which may be an older name or none at all
   * @param ack called once, or not at all if the client is gone before its event had its turn; absent if
   *   it did not ask for an answer
   */
  receive(name: string, payload: Payload, ack?: Ack): void {
    const event = eventOf(this.#peer.profile, name);
    const excess = event &&
      excessOf(REQUEST_BOUNDS[event], payload, MAX_MEMBERS);
    if (excess) return this.refuse(name, notLetIn(excess), ack);
    const answer = this.#parts.measure ? this.#measured(event, ack) : ack;
    if (event === undefined) {
      return this.#inTurn(() => this.#refuseName(name, answer));
    }
    // Answers of calls wait for no turn: the last progress must not come after them.
    if (!this.#isWaiting || event === TOOL_CALL_PROGRESS_EVENT) {
      return this.#handle(event, payload, answer);
    }
    // A join may wait for some seconds; one event of any size may follow it.
    const isFirst = this.#waitingBytes === 0;
    this.#waitingBytes += (payload.size ?? 0) + WAITING_OVERHEAD_BYTES;
    if (!isFirst && this.#waitingBytes > MAX_WAITING_BYTES) {
      return this.#peer.end("too much arrived while its join waits", false);
    }
    this.#waiting.push(() => {
      if (!this.#isGone) return this.#handle(event, payload, answer);
      // A client that is gone needs no answers, but its earlier cancel still counts.
      if (ackOf(event) === "none") this.#handle(event, payload, undefined);
    });
  }

  #measured(event: AnyEvent | undefined, ack?: Ack): Ack | undefined {
    const measure = this.#parts.measure?.(event);
    if (measure === undefined) return ack;
    return (answer, end) => {
      measure(answer, end);
      ack?.(answer, end);
    };
  }

  #inTurn(run: () => void): void {
    if (this.#isWaiting) this.#waiting.push(run);
    else run();
  }

  /** Answers an event with an error instead of handling it, in the form of its ack. */
  refuse(name: string, error: ProtocolError, ack?: Ack): void {
    const event = eventOf(this.#peer.profile, name);
    const answer = this.#measured(event, ack);
    if (event !== undefined && ackOf(event) === "office") {
      answer?.([false, error.message]);
    } else answer?.(errorAnswer(error));
  }

  /** Leaves the office, after all earlier events: the connection stays, or is closed afterwards. */
  depart(then?: () => void): void {
    this.#inTurn(() => {
      this.#own?.seat.leave();
      then?.();
    });
  }

  /** Notes that the connection is closed. */
  gone(): void {
    this.#isGone = true;
    this.#inTurn(() => this.#own?.seat.gone());
  }

  #handle(event: AnyEvent, payload: Payload, ack: Ack | undefined): void {
    if (event === JOIN_OFFICE_EVENT || event === LEAVE_OFFICE_EVENT) {
      const isJoin = event === JOIN_OFFICE_EVENT;
      const answer = isJoin ? this.#join(payload) : this.#leave(payload);
      return this.#acknowledge(answer, ack);
    }
    const { seat } = this.#own ?? {};
    if (seat?.isHeld) return seat.receive(event, payload, ack);
    // Members leave before their connections close: the answer gives the reason.
    const isEnd = this.#parts.offices.isClosed && isClientEvent(event);
    try {
      refuseOutsider(event, payload, isEnd ? shuttingDown() : undefined);
    } catch (error) {
      ack?.(errorAnswer(error));
    }
  }

  /** Answers 400, unless it is a notification: a client's own is ignored (protocol §3). */
  #refuseName(name: string, ack: Ack | undefined): void {
    if (this.#isGone) return;
    if (hasNotificationPrefix(name)) {
      log.debug("A client's own {name} is not relayed", {
        name: short(name),
        socket: this.#peer.id,
      });
      return ack?.([]);
    }
    this.#parts.unknownEvent(this.#peer, name);
    ack?.(errorAnswer(unknownEvent(name)));
  }

  // ---------------------------------------------------------------- joining and leaving (protocol §5)

  /**
   * Answers `(true, null)` or `(false, reason)`, never an error object (protocol §3). Later events are kept
   * back until another node has answered.
   */
  #acknowledge(
    answer: OfficeAck | Promise<OfficeAck>,
    ack: Ack | undefined,
  ): void {
    if (!(answer instanceof Promise)) return ack?.(answer);
    this.#isWaiting = true;
    answer.then((answer) => {
      if (!this.#isGone) ack?.(answer);
      this.#isWaiting = false;
      this.#waitingBytes = 0;
      // One of them may wait for another node again.
      while (!this.#isWaiting && this.#waiting.length > 0) {
        this.#waiting.shift()?.();
      }
    });
  }

  #join(payload: Payload): OfficeAck | Promise<OfficeAck> {
    let wanted: MemberSeat | undefined;
    try {
      const { role, name, office_id, devices } = parseEnterOfficeReq(
        payload.parse(),
      );
      const own = wanted = { role, name, office: office_id };
      const seat = this.#take({ ...own, ...(devices && { devices }) });
      return seat instanceof Promise
        ? seat.catch(refusalOf).then((seat) => this.#joined(own, seat))
        : this.#joined(own, seat);
    } catch (error) {
      return this.#refuseJoin(refusalOf(error), wanted);
    }
  }

  #take(
    wanted: MemberSeat & Pick<WantedSeat, "devices">,
  ): ReturnType<Offices["join"]> {
    const { offices, clock } = this.#parts;
    if (offices.isClosed) return refusalOf(shuttingDown());
    const { identity } = this.#peer;
    const refused = identity && checkIdentity(identity, wanted, clock.date());
    if (refused !== undefined) return { refused };
    const { held } = this;
    return judgeJoiner(wanted, this.#role, held) ??
      offices.join(this.#peer, wanted, held?.seat);
  }

  #joined(wanted: MemberSeat, seat: Seat | Refusal): OfficeAck {
    if ("refused" in seat) return this.#refuseJoin(seat, wanted);
    this.#role = wanted.role;
    this.#own = { ...wanted, seat };
    return [true, null];
  }

  #refuseJoin(
    { refused: reason }: Refusal,
    wanted: MemberSeat | undefined,
  ): OfficeAck {
    const party = partyOf(this.#peer);
    this.#parts.audit({ event: "join_refused", reason, ...wanted, ...party });
    return [false, reason];
  }

  #leave(payload: Payload): OfficeAck | Promise<OfficeAck> {
    try {
      const { office_id } = parseLeaveOfficeReq(payload.parse());
      const { held } = this;
      if (held === undefined) return [false, "Not in an office"];
      if (held.office !== office_id) return this.#refuseLeave(held);
      return held.seat.leave()?.then(() => [true, null]) ?? [true, null];
    } catch (error) {
      return [false, refusalOf(error).refused];
    }
  }

  /** Audits an attempt to act in another office (protocol §10). */
  #refuseLeave({ office, role, name }: OwnSeat): OfficeAck {
    const reason = "Cannot leave an office that you are not in";
    const request = LEAVE_OFFICE_EVENT;
    const code = ErrorCode.CROSS_ROOM_ACCESS;
    this.#parts.audit({
      event: "access_refused",
      request,
      code,
      reason,
      office,
      role,
      name,
      ...partyOf(this.#peer),
    });
    return [false, reason];
  }
}

/** The error for a payload that is larger than its event lets in. */
const notLetIn = ({ why, fields }: Excess): ProtocolError =>
  new ProtocolError(ErrorCode.BAD_REQUEST, `Invalid payload: it ${why}`, {
    fields,
  });

/** The form of an event's answer. */
const ackOf = (event: AnyEvent): "office" | "answer" | "none" =>
  isClientEvent(event) ? "answer" : SERVER_EVENTS[event].ack;

/**
 * Decides what the state of the connection alone decides about a join (protocol §5).
 *
 * @param fixed the role that was declared at connect or fixed by the first join, also after leaving
 * @param own the seat that the connection holds
 * @returns its own seat where it joins that again, which notifies no member; `undefined` when it may
 *   have the seat if the office agrees
 */
function judgeJoiner(
  { role, name, office }: WantedSeat,
  fixed: Role | undefined,
  own: OwnSeat | undefined,
): Refusal | Seat | undefined {
  if (fixed !== undefined && fixed !== role) {
    return refuse(`as ${role}: the role of this connection is ${fixed}`);
  }
  if (own?.office === office) {
    if (own.name === name) return own.seat;
    const held = JSON.stringify(own.name);
    return refuse(
      `under another name: this connection is in the office as ${held}`,
    );
  }
  if (own?.role === "agent") {
    return refuse(
      "a second office: an agent is in one office at a time, leave the other first",
    );
  }
  return undefined;
}

const refuse = (why: string): Refusal => ({ refused: `Cannot join ${why}` });
