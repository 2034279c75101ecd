/**
 * The members of an office, in the order of the specification: which events they may send (§5), and what
 * each does (§3); requests go on to `call.ts` (§7).
 *
 * @module
 */
import {
  CANCEL_TOOL_CALL_EVENT,
  CLIENT_EVENTS,
  type ClientEvent,
  DEVICE_EVENT,
  ErrorCode,
  isClientEvent,
  LIST_ROOM_EVENT,
  type ListRoomRet,
  namesOf,
  type Notification,
  ProtocolError,
  SERVER_EVENTS,
  type ServerEvent,
  type ServerEventSpec,
  toErrorPayload,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  type ToolCallCancel,
  UPDATE_DEVICES_EVENT,
  UPDATE_RESOURCES_EVENT,
  type UpdateDevicesRet,
} from "../../protocol/mod.ts";
import { OPERATOR_AGENT } from "../../protocol/payloads/tools.ts";
import { shownTo } from "../../protocol/profiles.ts";
import type { ServerNames } from "../../protocol/server_names.ts";
import {
  type CallEnd,
  CANCELLED_BY_OPERATOR,
  endOf,
  isFaultOf,
} from "../shared/audit.ts";
import { copyOf } from "../../shared/bytes.ts";
import { errorPayloadOf, Payload } from "../shared/payload.ts";
import { restrictsNames } from "../shared/identity.ts";
import { log, quote, short } from "../shared/log.ts";
import {
  type Call,
  endOfCancelled,
  forward,
  type SharedParts,
} from "./call.ts";
import {
  type Ack,
  type Forget,
  type MemberEvent,
  partyOf,
  type Peer,
  type Seat,
  type SeatDevices,
  type Seated,
  type WantedSeat,
} from "./peer.ts";

/** The most bytes of a member in a list, whatever its names are. */
const MAX_SESSION_BYTES = 8_192;

/** @throws {ProtocolError} 500 for a list of members that is larger than a message: it is never shortened */
function checkSize(answer: ListRoomRet, max: number): void {
  if (answer.sessions.length * MAX_SESSION_BYTES <= max) return;
  const count = new TextEncoder().encode(JSON.stringify(answer)).length;
  if (count <= max) return;
  throw new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    `The list of members has ${count} bytes, and a message at most ${max}; raise maxMessageBytes (--max-message-bytes)`,
    { fields: { limit: "bytes", count, max } },
  );
}

// ------------------------------------------------------------------ rights of senders (protocol §5)

/** What a request claims about its sender. */
interface Claim {
  /** The role that may send it. */
  readonly role: ServerEventSpec<ServerEvent>["from"];
  /** The claimed name: `agent` of an Agent's request, `computer` of a Computer's. */
  readonly name: string;
  /** The office that it names, if any. */
  readonly office?: string;
}

/**
 * Decides whether a member may send a request with a valid payload: role (403), name (403), office
 * (4104), in this order. Outsiders were refused before ({@linkcode refuseOutsider}).
 *
 * A Computer must give its own name. An Agent may give any, since released SDKs take it from another
 * setting than the name of the join; the name of its seat counts. Credentials that restrict names
 * require the exact name of an Agent, too.
 *
 * @throws {ProtocolError} with the code of the first check that fails
 */
export function checkAccess(
  { role, name, office, peer }: Seated,
  claim: Claim,
): void {
  if ((role === "operator" ? "agent" : role) !== claim.role) {
    const sender = claim.role === "agent" ? "an agent" : "a computer";
    throw forbidden(`Only ${sender} may send this event`);
  }
  const { policy } = peer.identity ?? {};
  const isExact = role === "computer" ||
    role === "agent" && policy && restrictsNames(policy);
  if (isExact && name !== claim.name) {
    throw forbidden(
      `Cannot act for another member: "${role}" must be the name you joined with`,
    );
  }
  if (claim.office !== undefined && claim.office !== office) {
    throw new ProtocolError(
      ErrorCode.CROSS_ROOM_ACCESS,
      "Cannot reach another office: office_id must be the one you are in",
    );
  }
}

/** The error for what a role, a name or an operator's order forbids. */
export const forbidden = (message: string): ProtocolError =>
  new ProtocolError(ErrorCode.FORBIDDEN, message);

/**
 * Refuses an event of a client without a seat.
 *
 * @throws {ProtocolError} 400 for an invalid payload, else the error
 */
export function refuseOutsider(
  event: MemberEvent,
  payload: Payload,
  error: ProtocolError = notInOffice(),
): never {
  if (event === DEVICE_EVENT) throw error;
  if (isClientEvent(event)) CLIENT_EVENTS[event].parseRequest(payload.peek());
  else SERVER_EVENTS[event].parseRequest(payload.parse());
  throw error;
}

/** The error for an event that the Server does not have. */
export const unknownEvent = (name: string): ProtocolError =>
  new ProtocolError(ErrorCode.BAD_REQUEST, `Unknown event ${quote(name)}`);

/** The error for a device whose office, Computer or token is unknown: the same for each. */
export const noSuchDevice = (): ProtocolError =>
  new ProtocolError(ErrorCode.NOT_FOUND, "Not found");

/** The error for a client that is in no office, or no longer in one. */
export const notInOffice = (): ProtocolError =>
  new ProtocolError(ErrorCode.NOT_IN_ROOM, "Not in an office: join one first");

// ------------------------------------------------------------------ a member, and its events (protocol §3)

/** What operators see of a member. */
interface MemberRecord {
  /** When it took its seat, in milliseconds since 1970. */
  readonly joinedAt: number;
  /** The number of calls that it sent, or got. */
  calls: number;
  /** The last error that its requests ended with, when, and the message for people, if there was one. */
  lastError:
    | CallEnd & { readonly at: number; readonly message?: string }
    | undefined;
}

/** The longest message of an error that is kept, in characters. */
const MAX_MESSAGE_CHARS = 500;

/** The fields of any report: what a Computer adds is not for the receivers to rely on. */
const COMPUTER = ["computer"];

/** The fields of a report of progress. */
const PROGRESS = "computer agent req_id progress total message waiting"
  .split(" ");

/** The fields of a report that a resource has changed. */
const RESOURCE = ["computer", "mcp_server", "uri", "list"];

/** An office, as its members use it. */
interface MemberOffice {
  readonly parts: SharedParts;
  readonly members: readonly Member[];
  /** The seats, those of Computers by their names. */
  readonly seats: { get(computer: string): Member | undefined };
  notify(event: Notification, notice: Payload, cause?: Member): void;
  notifyCancel(
    sender: Seated,
    req_id: string,
    reason: ToolCallCancel["reason"],
  ): void;
  leave(member: Member, isGone: boolean): void;
}

/** A member, or an operator, in its office. */
export class Member implements Seat, Seated {
  readonly peer: Peer;
  readonly role: WantedSeat["role"];
  readonly name: string;
  readonly office: string;
  /** The pending calls that it sent, or has to answer: a list, which `swapRemove` keeps short. */
  readonly calls: Call[] = [];
  /** What operators see of it. */
  readonly record: MemberRecord;
  /** What a Computer's MCP servers are called by members of the other kind, once it was asked by one. */
  names: ServerNames | undefined;
  /** Until its office takes the seat away. */
  isHeld = true;
  /** The devices of a Computer, where the Server has approvals. */
  readonly approvals: SeatDevices | undefined;
  /** Ends the request of a device. */
  #passing: Forget | undefined;
  /** Its office. */
  readonly home: MemberOffice;
  /** Whether the log has that its requests give another name than its seat's. */
  #saidOtherName = false;

  constructor(
    peer: Peer,
    { role, name, office, devices = [] }: WantedSeat,
    home: MemberOffice,
  ) {
    this.peer = peer;
    this.role = role;
    this.name = name;
    this.office = office;
    const joinedAt = home.parts.clock.date();
    this.record = { joinedAt, calls: 0, lastError: undefined };
    this.home = home;
    if (role !== "computer") return;
    this.approvals = home.parts.devicesOf?.(this);
    this.approvals?.replace(devices);
  }

  /** The bytes of what is kept of it: texts of its own, and the names of its MCP servers. */
  get bytes(): number {
    const { name, office, peer, record } = this;
    const calls = this.calls.flatMap(({ reqId, tool }) => [reqId, tool]);
    const texts = [
      name,
      office,
      peer.instance,
      record.lastError?.message,
      ...calls,
    ];
    const units = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
    return 2 * units + (this.names?.bytes ?? 0);
  }

  leave(): undefined {
    this.home.leave(this, false);
  }

  gone(): void {
    this.home.leave(this, true);
  }

  receive(event: MemberEvent, payload: Payload, ack?: Ack): void {
    try {
      if (!this.isHeld) refuseOutsider(event, payload);
      if (event === DEVICE_EVENT) return this.#pass(payload, ack);
      if (isClientEvent(event)) return this.#request(event, payload, ack);
      const answer = this.#serve(event, payload) ?? [];
      ack?.(answer);
    } catch (error) {
      this.#refuse(event, error, ack);
    }
  }

  /** @returns the answer, if the event has one */
  #serve(
    event: Exclude<MemberEvent, ClientEvent | typeof DEVICE_EVENT>,
    payload: Payload,
  ): Payload | undefined {
    switch (event) {
      case LIST_ROOM_EVENT:
        return Payload.of(this.#list(payload.parse()));
      case CANCEL_TOOL_CALL_EVENT:
        return this.#cancel(payload.parse());
      case UPDATE_DEVICES_EVENT:
        return Payload.of(this.#updateDevices(payload.parse()));
      case TOOL_CALL_PROGRESS_EVENT:
        return this.#progress(payload);
      default: { // a Computer reports a change
        const { from, parseRequest, notification } = SERVER_EVENTS[event];
        const report = parseRequest(payload.parse());
        checkAccess(this, { role: from, name: report.computer });
        const isOfOne = event === UPDATE_RESOURCES_EVENT;
        const notice = payload.only(isOfOne ? RESOURCE : COMPUTER);
        if (notification) this.home.notify(notification, notice, this);
      }
    }
  }

  /** The members, each with its own version (protocol §4). */
  #list(payload: unknown): ListRoomRet {
    const { from, parseRequest } = SERVER_EVENTS[LIST_ROOM_EVENT];
    const { agent, office_id, req_id } = parseRequest(payload);
    checkAccess(this, { role: from, name: agent, office: office_id });
    const sessions = this.home.members.flatMap(({ peer, role, name }) =>
      role === "operator" || role === "device"
        ? []
        : shownTo(this.peer.profile, {
          sid: peer.id,
          name,
          role,
          office_id,
          a2c_version: peer.version,
        })
    );
    const answer = { sessions, req_id };
    checkSize(answer, this.home.parts.maxMessageBytes);
    return answer;
  }

  #cancel(payload: unknown): undefined {
    const { from, parseRequest } = SERVER_EVENTS[CANCEL_TOOL_CALL_EVENT];
    const { agent, req_id, reason } = parseRequest(payload);
    checkAccess(this, { role: from, name: agent });
    const isOperator = this.role === "operator";
    for (const call of this.calls) {
      if (call.reqId !== req_id) continue;
      call.stopped ??= isOperator
        ? CANCELLED_BY_OPERATOR
        : endOfCancelled(call, reason, this.home.parts.clock.now());
    }
    const shown = reason === "timeout" ? reason : undefined;
    this.home.notifyCancel(this, req_id, isOperator ? "operator" : shown);
  }

  /**
   * Passes the progress of a call on to the Agent that made it alone (protocol §7). That of a
   * call which has ended, or whose Agent did not ask for it, is dropped: its Computer may not have the news yet.
   */
  #progress(payload: Payload): undefined {
    const { from, parseRequest } = SERVER_EVENTS[TOOL_CALL_PROGRESS_EVENT];
    const { agent, computer, req_id, waiting } = parseRequest(payload.parse());
    checkAccess(this, { role: from, name: computer });
    const call = this.calls.find((call) =>
      call.reqId === req_id && call.event === TOOL_CALL_EVENT &&
      agentName(call.agent) === agent
    );
    if (call === undefined) return;
    if (waiting !== undefined) {
      // A Computer may report the same again: the person is asked since the first time.
      if (waiting !== null && waiting !== call.waiting) {
        call.waitingSince = this.home.parts.clock.now();
      }
      call.waiting = waiting ?? undefined;
      this.home.parts.waits(call, waiting);
    }
    const wantsThis = call.progress === true ||
      call.progress === "waiting" && waiting !== undefined;
    if (!wantsThis) return;
    const report = payload.only(PROGRESS);
    // A person of a later version is none that this one has.
    const isKnown = Object(report.peek()).waiting === waiting;
    const notice = isKnown ? report : report.with({ waiting });
    call.agent.notify(TOOL_CALL_PROGRESS_NOTIFICATION, notice);
  }

  /** @throws {ProtocolError} 400 without approvals, as of a Server that does not have the event */
  #updateDevices(payload: unknown): UpdateDevicesRet {
    const { from, parseRequest } = SERVER_EVENTS[UPDATE_DEVICES_EVENT];
    if (!this.home.parts.devicesOf) throw unknownEvent(UPDATE_DEVICES_EVENT);
    const { computer, devices } = parseRequest(payload);
    checkAccess(this, { role: from, name: computer });
    this.approvals?.replace(devices);
    const { host } = this.approvals ?? {};
    return { devices: devices.length, ...(host !== undefined && { host }) };
  }

  /** Passes on what a device has sent; only the Server itself takes the seat of one. */
  #pass(payload: Payload, ack: Ack = () => {}): void {
    if (this.role !== "device") throw unknownEvent(DEVICE_EVENT);
    const { computer } = Object(payload.peek());
    const { approvals } = this.home.seats.get(computer) ?? {};
    if (approvals === undefined) throw noSuchDevice();
    this.#passing = approvals.pass(payload, ack);
  }

  /** Ends what its devices wait for, or what it waits for as a device. */
  endDevices(): void {
    this.approvals?.end();
    this.#passing?.();
  }

  #request(event: ClientEvent, payload: Payload, ack: Ack | undefined): void {
    const about = CLIENT_EVENTS[event].parseRequest(payload.peek());
    checkAccess(this, { role: "agent", name: about.agent });
    const name = agentName(this);
    if (!this.#saidOtherName && about.agent !== name) {
      this.#saidOtherName = true; // that of its seat counts (protocol §5)
      log.debug("An agent's requests say {claimed}, its seat is {name}", {
        claimed: short(about.agent),
        name: short(this.name),
        socket: this.peer.id,
      });
    }
    const isAsIs = this.role === "agent" && about.agent === name &&
      !Object.hasOwn(about, "operator");
    const asked = isAsIs ? payload : asOfSeat(this, payload);
    forward({ agent: this, event, about, payload: asked }, ack);
  }

  /** Answers with the error; audits attempts to reach another office or to exceed a role. */
  #refuse(event: MemberEvent, error: unknown, ack: Ack | undefined): void {
    const { peer, office, role, name } = this;
    const refusal = errorPayloadOf(error);
    const { code, message: reason } = refusal;
    if (code === ErrorCode.FORBIDDEN || code === ErrorCode.CROSS_ROOM_ACCESS) {
      this.home.parts.audit({
        event: "access_refused",
        request: event,
        code,
        reason,
        ...partyOf(peer),
        ...(role !== "operator" && role !== "device" && { office, role, name }),
      });
    }
    const body = Payload.of(refusal);
    this.noteFailure(body, endOf(body));
    ack?.(body);
  }

  /** Sends a notification under each name of it in the receiver's version (protocol §12). */
  notify(event: Notification, payload: Payload): void {
    const { peer } = this;
    if (peer.profile.lacks.includes(event)) return;
    for (const name of namesOf(peer.profile, event)) peer.send(name, payload);
  }

  /** Notes for operators how a request ended, if that is an error of this member. */
  noteFailure(answer: Payload | undefined, end: CallEnd): void {
    const { role } = this;
    if (!isFaultOf(role === "computer" ? role : "agent", end)) return;
    const message = toErrorPayload(answer?.peek())?.message;
    this.record.lastError = {
      at: this.home.parts.clock.date(),
      ...end,
      ...(typeof message === "string" &&
        { message: copyOf(message.slice(0, MAX_MESSAGE_CHARS)) }),
    };
  }
}

/** The name in `agent` of what a member asks: that of its seat. */
export const agentName = ({ role, name }: Seated): string =>
  role === "operator" ? OPERATOR_AGENT : name;

/**
 * Replaces the Agent's name in a request by that of its seat, so that the Computer gets a call and its
 * cancel with the same name. Only the Server marks a request of an operator, so that the Computer may
 * refuse: a client's own `operator` is left out.
 */
function asOfSeat(seat: Seated, payload: Payload): Payload {
  const operator = seat.role === "operator" ? seat.name : undefined;
  return payload.with({ agent: agentName(seat), operator });
}
