/**
 * The Socket.IO sessions of a server: who gets one, and how it is the peer of an office.
 *
 * @module
 */
import {
  CLIENT_EVENTS,
  ErrorCode,
  isClientEvent,
  namesOf,
  parseRole,
  type Profile,
  PROFILES,
  ProtocolError,
  type Role,
  VERSION_PARAMETER,
} from "../../protocol/mod.ts";
import type { Arrivals, PacketGuards } from "../limits/guards.ts";
import { addressOf, clientAddress, overLimit } from "../limits/limits.ts";
import { Connection, type ConnectionParts } from "../office/connection.ts";
import { type Ack, type Forget, partyOf, type Peer } from "../office/peer.ts";
import type { Journal } from "../shared/audit.ts";
import { toConnectError, unauthorized } from "../shared/payload.ts";
import type { Identity } from "../shared/identity.ts";
import { TokenBucket } from "../shared/pending.ts";
import {
  type ClientSocket,
  type Connection as WireConnection,
  type Incoming,
  Link,
  type Payload,
} from "../wire/mod.ts";
import { endAtExpiry, recheck, recheckAll } from "./expiry.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { chooseProfile, isRefusal } from "../http/gate.ts";
import type { Limiter } from "../limits/limiter.ts";
import {
  opensSession,
  parametersOf,
  type RequestHead,
  splitTarget,
} from "../shared/http.ts";

/** The parts of a server that {@linkcode Sessions} needs. */
export interface SessionsParts extends AdmitParts {
  /** What every connection works with. */
  readonly connections: ConnectionParts;
  /** Closes connections that do not open a session in time. */
  readonly arrivals: Arrivals;
  /** Check the packets of connections. */
  readonly guards: PacketGuards;
  /** Notes sessions that end. */
  readonly journal: Journal;
}

/** What sessions work with. */
interface SessionParts extends SessionsParts {
  /** The answer to events beyond the rate: an error costs more than all else done for such an event. */
  readonly flood: ProtocolError;
}

/** What is kept of a connection, also between sessions: a reconnect over it must not refill the bucket. */
interface KeptConnection {
  /** Limits its events. */
  readonly rate: TokenBucket;
  /** Whether it has a session, or asks for one. */
  isTaken: boolean;
}

/**
 * The Socket.IO sessions of a server, of all versions: one for every connection to the namespace that
 * may connect and whose `auth` is valid; all others are refused (spec §2, §10).
 */
export class Sessions {
  readonly #parts: SessionParts;
  readonly #open = new Map<string, Session>();
  readonly #kept = new WeakMap<WireConnection, KeptConnection>();
  #rechecks = 0;

  constructor(parts: SessionsParts) {
    const flood = overLimit(parts.limiter.limits, "eventsPerSecond");
    this.#parts = { ...parts, flood };
  }

  /** The open sessions, members or not. */
  get open(): ReadonlyMap<string, Session> {
    return this.#open;
  }

  /** Checks the credentials of all sessions again. */
  async recheck(): Promise<void> {
    this.#rechecks++;
    await recheckAll([...this.#open.values()].map((one) => this.#again(one)));
  }

  /** Decides about a client; parameters and result as of `Reception.admit`. */
  async admit(
    socket: ClientSocket,
    auth: Record<string, unknown>,
  ): Promise<Error | (() => void)> {
    const { arrivals, limiter, proxies } = this.#parts;
    const { eventsPerSecond } = limiter.limits;
    const { conn } = socket;
    arrivals.asked(conn);
    const known = this.#kept.get(conn);
    const now = performance.now();
    // Every CONNECT but the first counts as an event, since it costs as much.
    if (known?.rate.take(now) === false) {
      const address = peerOf(conn, proxies);
      return toConnectError(limiter.refuse("eventsPerSecond", { address }));
    }
    // Further CONNECTs of a connection may come while one is pending here.
    if (known?.isTaken) return alreadyConnected();
    const kept = known ??
      { rate: new TokenBucket(eventsPerSecond, now), isTaken: true };
    kept.isTaken = true;
    this.#kept.set(conn, kept);
    const rechecks = this.#rechecks;
    const admission = await admit(conn, auth, this.#parts);
    if (admission instanceof Error) {
      kept.isTaken = false;
      return admission;
    }
    return () => {
      const session = this.#begin(socket, admission, kept);
      // Keys were replaced while it authenticated.
      if (rechecks !== this.#rechecks) void recheckAll([this.#again(session)]);
    };
  }

  #begin(
    socket: ClientSocket,
    admission: Admission,
    kept: KeptConnection,
  ): Session {
    const { arrivals, guards, journal } = this.#parts;
    const { conn } = socket;
    arrivals.ended(conn);
    const session = new Session(socket, admission, kept.rate, this.#parts);
    const guard = guards.of(conn);
    guard?.admit(partyOf(session));
    this.#open.set(session.id, session);
    if (session.identity) session.renewed = endAtExpiry(session, journal);
    socket.once("disconnect", () => {
      kept.isTaken = false;
      guard?.leave();
      this.#open.delete(session.id);
      session.gone();
    });
    return session;
  }

  #again(session: Session): Promise<void> {
    const { authenticator, journal } = this.#parts;
    return recheck(session, authenticator, journal);
  }
}

const alreadyConnected = (): Error =>
  toConnectError(
    new ProtocolError(
      ErrorCode.BAD_REQUEST,
      "Cannot connect twice: this connection has a session already",
    ),
  );

/** A Socket.IO connection of a client, as its office sees it. */
export class Session implements Peer {
  readonly id: string;
  readonly profile: Profile;
  readonly version: string;
  readonly instance: string | undefined;
  readonly address: string;
  /** Replaced by rechecks. */
  identity: Identity | undefined;
  /** Called when it was replaced by another one, which may expire at another time. */
  renewed: (() => void) | undefined;
  /** The Socket.IO connection. */
  readonly socket: ClientSocket;
  /** Its way to its office. */
  readonly connection: Connection;
  readonly #link: Link;
  readonly #rate: TokenBucket;
  readonly #parts: SessionParts;

  /**
   * @param socket has just connected
   * @param rate limits its events, also after a reconnect over the same transport
   */
  constructor(
    socket: ClientSocket,
    { role, ...admission }: Admission,
    rate: TokenBucket,
    parts: SessionParts,
  ) {
    this.id = socket.id;
    this.socket = socket;
    this.profile = admission.profile;
    this.version = admission.version;
    this.instance = admission.instance;
    this.identity = admission.identity;
    this.address = admission.address;
    this.#rate = rate;
    this.#parts = parts;
    this.connection = new Connection(this, parts.connections, role);
    this.#link = new Link(
      socket,
      REQUESTS,
      (incoming) => this.#receive(incoming),
    );
  }

  send(event: string, payload: Payload): void {
    this.#link.notify(event, payload);
  }

  ask(
    event: string,
    payload: Payload,
    answered: (answer: Payload | undefined) => void,
  ): Forget {
    const id = this.#link.request(event, payload, answered);
    return () => this.#link.forget(id);
  }

  end(_reason: string, isReplaced: boolean): void {
    if (isReplaced) this.socket.disconnect();
    else this.socket.conn.close();
  }

  /** Notes that the connection is closed. */
  gone(): void {
    this.#link.end();
    this.connection.gone();
  }

  #receive({ event, payload, ack }: Incoming): void {
    const answer = ack && answering(this.socket, ack);
    if (this.#rate.take(performance.now())) {
      return this.connection.receive(event, payload, answer);
    }
    const { limiter, flood } = this.#parts;
    limiter.recordHit("eventsPerSecond", partyOf(this));
    this.connection.refuse(event, flood, answer);
  }
}

/** A separate function, so that the closure does not capture the payload. */
const answering = (
  socket: ClientSocket,
  ack: NonNullable<Incoming["ack"]>,
): Ack =>
(answer) => {
  if (answer !== undefined && socket.connected) ack(answer);
};

/** The names under which clients of any version get requests: the only events that the fast path reads. */
const REQUESTS: ReadonlySet<string> = new Set(
  Object.values(PROFILES).flatMap((profile) =>
    Object.keys(CLIENT_EVENTS).filter(isClientEvent)
      .flatMap((event) => namesOf(profile, event))
  ),
);

/** The parts of a server that {@linkcode admit} needs. */
export interface AdmitParts extends RefusalParts {
  /** The versions that the server lets in, oldest first. */
  readonly profiles: readonly Profile[];
  /** Decides who may connect; without it, everybody may. */
  readonly authenticator: Authenticator | undefined;
}

/**
 * Authenticates a client, and reads its `auth` (spec §2, §10).
 *
 * @param auth its credentials
 * @returns the error for one that may not connect
 */
export async function admit(
  connection: WireConnection,
  auth: Record<string, unknown>,
  { authenticator, limiter, proxies, profiles }: AdmitParts,
): Promise<Admission | Error> {
  const { headers, url = "" } = connection.request;
  const address = peerOf(connection, proxies);
  const refuse = (error: unknown, why?: string) => {
    const refusal = toConnectError(error);
    const { code, message } = refusal.data;
    const reason = why ?? message;
    limiter.recordRefusedHandshake("namespace", { code, reason, address });
    return refusal;
  };
  try {
    const verdict = await authenticator?.authenticate({
      ...{ auth, headers, address },
    });
    if (verdict && "refused" in verdict) {
      return refuse(unauthorized(verdict), verdict.refused);
    }
    const { query } = splitTarget(url);
    const profile = chooseProfile(query, profiles);
    if (isRefusal(profile)) throw new Error("The gate let in any version");
    return {
      ...readHandshakeAuth(auth),
      profile,
      version: parametersOf(query).getAll(VERSION_PARAMETER).at(-1) ??
        profile.version,
      identity: verdict,
      address,
    };
  } catch (error) {
    return refuse(error);
  }
}

/** The `auth` fields of a connection that the server reads (spec §2, §9). */
export interface HandshakeAuth {
  /** The role that the client must join with. */
  readonly role: Role | undefined;
  /** Distinguishes a reconnecting client from others with the same name. */
  readonly instance: string | undefined;
}

/** What is known of a client that was let in. */
export interface Admission extends HandshakeAuth {
  /** The version that it is served in. */
  readonly profile: Profile;
  /** The `a2c_version` that it sent; that of the profile if it sent none. */
  readonly version: string;
  readonly identity: Identity | undefined;
  readonly address: string;
}

const MAX_INSTANCE_LENGTH = 256;

/**
 * Reads the `auth` object of a connection; ignores other fields.
 *
 * @throws {ProtocolError} 400 when `role` or `instance_id` is present but invalid
 */
export function readHandshakeAuth(
  auth: Record<string, unknown>,
): HandshakeAuth {
  const { role, instance_id: instance } = auth;
  return {
    role: role === undefined ? undefined : readRole(role),
    instance: instance === undefined ? undefined : readInstance(instance),
  };
}

function readRole(role: unknown): Role {
  try {
    return parseRole(role);
  } catch {
    throw new ProtocolError(
      ErrorCode.BAD_REQUEST,
      'Invalid auth.role: expected "agent" or "computer"',
    );
  }
}

function readInstance(instance: unknown): string {
  if (
    typeof instance !== "string" || instance === "" ||
    instance.length > MAX_INSTANCE_LENGTH
  ) {
    throw new ProtocolError(
      ErrorCode.BAD_REQUEST,
      `Invalid auth.instance_id: expected a string of 1 to ${MAX_INSTANCE_LENGTH} characters`,
    );
  }
  return instance;
}

/** Returns the address of a client. */
export const peerOf = (
  { remoteAddress, request: { headers } }: WireConnection,
  proxies: number,
): string => clientAddress(remoteAddress, headers["x-forwarded-for"], proxies);

/** The parts of a server that record refusals. */
interface RefusalParts {
  /** Counts refusals, and writes them to the audit log. */
  readonly limiter: Limiter;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
}

/** Returns the error for a socket on another namespace (spec §2), and records it. */
export function refuseNamespace(
  connection: WireConnection,
  { limiter, proxies }: RefusalParts,
): Error {
  const code = ErrorCode.BAD_REQUEST;
  const reason = "Invalid namespace";
  const address = peerOf(connection, proxies);
  limiter.recordRefusedHandshake("namespace", { code, reason, address });
  return toConnectError(new ProtocolError(code, reason));
}

/**
 * Records a session request that Engine.IO refuses: another version of it, an unknown transport
 * (spec §10). Requests of ended sessions are common, and not worth recording.
 */
export function recordEngineRefusal(
  request: RequestHead,
  { code, reason }: { readonly code: number; readonly reason: string },
  { limiter, proxies }: RefusalParts,
): void {
  if (!opensSession(splitTarget(request.url ?? "").query)) return;
  const address = addressOf(request, { proxies });
  limiter.recordRefusedHandshake("http", { code, reason, address });
}
