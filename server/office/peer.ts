/**
 * The words between an office and its surroundings: a peer leads to a client, a seat leads a
 * member to its office; the parts are what the offices of a process work with.
 *
 * @module
 */
import {
  type ClientEvent,
  type ClientEvents,
  type DEVICE_EVENT,
  type DeviceVerifier,
  type JOIN_OFFICE_EVENT,
  type LEAVE_OFFICE_EVENT,
  type Profile,
  PROFILES,
  type ProtocolError,
  type Role,
  type ServerEvent,
  type Waiting,
} from "../../protocol/mod.ts";
import type { AuditEvent, AuditParty, CallEnd } from "../shared/audit.ts";
import type { Deadline } from "../../shared/deadlines.ts";
import type { Identity } from "../shared/identity.ts";
import { errorPayloadOf, type Payload } from "../shared/payload.ts";

/**
 * A member's role. An operator has a seat without being a member: it is invisible, and only sends requests.
 * So has a person's device, which sends `client:device` alone.
 */
export type SeatRole = Role | "operator" | "device";

/** The answer to an event: a payload, or all arguments of its ack. */
export type Answer = Payload | readonly unknown[];

/**
 * Sends the answer to an event; called once, with `undefined` when its sender is gone. How it ended is
 * given where the answer alone does not show it.
 */
export type Ack = (answer: Answer | undefined, end?: CallEnd) => void;

/** Forgets a request, whose answer does not matter any more. */
export type Forget = () => void;

/**
 * A client as its office reaches it: a session, a stream from another node, a connection in this
 * process. No method throws but {@linkcode Peer.ask}, and none calls the office before it returns.
 */
export interface Peer {
  /** The id of its connection, as `list_room` shows it. */
  readonly id: string;
  /** The version that it speaks. */
  readonly profile: Profile;
  /** The `a2c_version` that it sent; that of the profile if it sent none. */
  readonly version: string;
  /** Random per client instance, never revealed to others; without it, no other connection counts as the same (protocol §9). */
  readonly instance: string | undefined;
  /** Who it is authenticated as, and what it may do; absent without authentication. A recheck replaces it. */
  readonly identity: Identity | undefined;
  /** The client's network address. */
  readonly address: string;
  /** The node of a cluster that it is connected to, where that is another one. */
  readonly node?: string;
  /**
   * Sends a notification. All members get the same payload object, so that its encoding can be kept.
   *
   * @param event the name in the client's version
   */
  send(event: string, payload: Payload): void;
  /**
   * Sends a request.
   *
   * @param event the name in the client's version
   * @param answered called at most once with the first argument of the ack, and not before this
   *   returns; never when the request was forgotten
   * @throws when the payload cannot be encoded
   */
  ask(
    event: string,
    payload: Payload,
    answered: (answer: Payload | undefined) => void,
  ): Forget;
  /**
   * Closes the connection.
   *
   * @param isReplaced whether its client has another one; else it closes as a network would, so that
   *   the client reconnects
   */
  end(reason: string, isReplaced: boolean): void;
}

/**
 * A member's seat in its office. Events take effect in the order of the calls; no method throws.
 * One that does not hold its seat any more gets 4103.
 */
export interface Seat {
  /** Whether the seat is held; not any more after a leave, a kick, or when another connection took it over. */
  readonly isHeld: boolean;
  /**
   * Handles an event.
   *
   * @param event its name in the event table, not an older one
   * @param ack absent if the sender did not ask for an answer
   */
  receive(event: MemberEvent, payload: Payload, ack?: Ack): void;
  /**
   * Leaves the office; pending calls of the member are answered (protocol §5).
   *
   * @returns resolves when the seat is free; `undefined` where it is on return
   */
  leave(): Promise<void> | undefined;
  /** Notes that the connection is closed; pending calls of the member are dropped silently (protocol §5). */
  gone(): void;
}

/** An event of a member: all but those that come and go. */
export type MemberEvent =
  | ClientEvent
  | typeof DEVICE_EVENT
  | Exclude<ServerEvent, typeof JOIN_OFFICE_EVENT | typeof LEAVE_OFFICE_EVENT>;

/** The seat that a client requests. */
export interface WantedSeat {
  readonly role: SeatRole;
  readonly name: string;
  readonly office: string;
  /** The devices of a Computer, where the client gives them. */
  readonly devices?: readonly DeviceVerifier[];
}

/** Why a client gets no seat, as a message for people. */
export interface Refusal {
  readonly refused: string;
  /** The Agent that has the seat, where that is why. */
  readonly holder?: SeatHolder;
}

/** The Agent that has the seat of an office. */
export interface SeatHolder {
  /** Its name. */
  readonly name: string;
  /** The node of a cluster that it is connected to; absent where office and Agent are in this process. */
  readonly node?: string;
}

/** Returns the Agent that a member of an office is. */
export const holderOf = ({ name, peer: { node } }: Seated): SeatHolder =>
  node === undefined ? { name } : { name, node };

/** Refuses a seat because of an error. */
export const refusalOf = (error: unknown): Refusal => ({
  refused: errorPayloadOf(error).message,
});

/**
 * What the nodes of a cluster name in place of a version for a person's device: a node that is older than
 * approvals refuses it so. It would take the device for a member, show it to all others, and never answer.
 */
export const DEVICE_PROTOCOL = "approvals";

/** Refuses a seat at a server that does not know a version of the protocol, or what is named in its place. */
export const olderThan = (name: string): Refusal => ({
  refused: `The server of this office is older than ${name}`,
});

/** Finds offices by their names, here or at other nodes. */
export interface Offices {
  /** Whether the server is shutting down. */
  readonly isClosed: boolean;
  /**
   * Takes a seat, and notifies its office.
   *
   * @param former the seat that the client has elsewhere, left before the new one is taken
   * @returns synchronously where the office is in this process
   */
  join(
    peer: Peer,
    wanted: WantedSeat,
    former?: Seat,
  ): Seat | Refusal | Promise<Seat | Refusal>;
  /**
   * Refuses joins and calls, waits for pending calls, ends those that remain, and makes all members leave.
   *
   * @param graceMs how long to wait at most
   */
  drain(graceMs: number): Promise<void>;
}

/** A seat that is held, and its holder. */
export interface Seated extends WantedSeat {
  readonly peer: Peer;
}

/** A request that passed its checks (protocol §5). */
export interface ObservedCall {
  readonly event: ClientEvent;
  /** The Agent, or an operator. */
  readonly agent: Seated;
  /** What is known of it, such as the name of the Computer, in its office or not. */
  readonly about: ClientEvents[ClientEvent]["request"];
  /** The request as the Computer gets it, unless versions differ. */
  readonly payload: Payload;
}

/** A request that its Computer has not answered yet, for those that watch it. */
export interface PendingCall {
  readonly event: ClientEvent;
  readonly reqId: string;
  /** The tool, of a tool call. */
  readonly tool: string | undefined;
  readonly agent: Seated;
  readonly computer: Seated;
}

/** The devices of a Computer, kept with its seat (protocol §17). */
export interface SeatDevices {
  /** The host name under which alone devices reach the Server. */
  readonly host: string | undefined;
  /** Replaces the devices; requests of those that are gone end. */
  replace(devices: readonly DeviceVerifier[]): void;
  /**
   * Passes on what a device has sent, where its token fits. Never throws.
   *
   * @param request has `verifier`, `body` and `req_id`
   * @param ack called once, unless the request is forgotten
   */
  pass(request: Payload, ack: Ack): Forget;
  /** Ends all requests: the seat is left. */
  end(): void;
}

/** The clocks of a process, both in milliseconds. */
export interface Clock {
  /** Returns the time of a monotonic clock. */
  now(): number;
  /** Returns the time since 1970. */
  date(): number;
}

/** What the offices of a process work with. */
export interface OfficeParts {
  readonly clock: Clock;
  /** Expires deadlines; the only timer of an office. */
  readonly deadlines: {
    add(deadline: Deadline, now: number): void;
    remove(deadline: Deadline): void;
  };
  /** The two limits that an office applies. */
  readonly limiter: {
    readonly limits: {
      readonly callsPerAgent: number;
      readonly membersPerOffice: number;
    };
    /** Records that a client reached a limit, and returns the error for it. */
    refuse(limit: "callsPerAgent", subject: AuditParty): ProtocolError;
    /** Records that a client reached a limit. */
    recordHit(limit: "membersPerOffice", subject: AuditParty): void;
  };
  /** Takes the lines of the audit log. */
  readonly audit: (event: AuditEvent) => void;
  /**
   * Called for each request when it arrives; the returned function is called once when it ended, with
   * the answer, or `undefined` if the sender is gone, and how it ended. What that captures stays in
   * memory until then.
   */
  readonly observe: (
    call: ObservedCall,
  ) => (answer: Payload | undefined, end: CallEnd) => void;
  /** Called when a call begins to wait for a person at its Computer, and with `null` when it ends. */
  readonly waits: (call: PendingCall, waiting: Waiting | null) => void;
  /** Makes what keeps the devices of a Computer; absent where the Server has no approvals. */
  readonly devicesOf?: ((computer: Seated) => SeatDevices) | undefined;
  /** The most bytes of a message, also of an answer that is translated. */
  readonly maxMessageBytes: number;
  /** How long to wait for an answer to requests without a timeout of their own. */
  readonly requestTimeoutMs: number;
}

/** The profile of who is no member. */
export const HIDDEN_PROFILE: Profile = PROFILES["0.4"];

/**
 * Makes a peer that no member sees, and that gets answers alone: it takes a seat as `operator`, or as `device`.
 *
 * @param principal in whose name it asks
 * @param address of its client, if that is not this process
 */
export const hiddenPeer = (
  principal: string,
  address = "in process",
): Peer => ({
  id: crypto.randomUUID(),
  profile: HIDDEN_PROFILE,
  version: HIDDEN_PROFILE.version,
  instance: undefined,
  identity: { principal },
  address,
  send: () => {},
  ask: () => () => {},
  end: () => {},
});

/** Returns the client of a peer, for an audit line. */
export const partyOf = ({ address, id, identity }: Peer): AuditParty => ({
  address,
  socket: id,
  ...(identity && { principal: identity.principal }),
});
