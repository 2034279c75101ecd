/**
 * The Socket.IO sessions of a server. The connection of a client is opened, and guarded from then on; it
 * asks for the namespace, is authenticated, and gets a {@linkcode Session}, the peer of an office. What
 * it sends from then on reaches its {@linkcode OfficeClient} of the office, unless it sends too much.
 *
 * @module
 */
import { REQUEST_BOUNDS } from "../../protocol/event_table.ts";
import {
  CLIENT_EVENTS,
  ErrorCode,
  isClientEvent,
  isServerEvent,
  namesOf,
  parseRole,
  type Profile,
  PROFILES,
  ProtocolError,
  type Role,
  SERVER_EVENTS,
  VERSION_PARAMETER,
} from "../../protocol/mod.ts";
import { Arrivals, guardQueue, SessionGuard } from "../limits/guards.ts";
import { addressOf, clientAddress, overLimit } from "../limits/limits.ts";
import {
  OfficeClient,
  type OfficeClientParts,
} from "../office/office_client.ts";
import {
  type Ack,
  type ClientSocket,
  type ConnectionGuard,
  Link,
  type Payload,
  type Reception,
  type WireConnection,
} from "../wire/mod.ts";
import { partyOf, type Peer } from "../office/peer.ts";
import type { Journal } from "../shared/audit.ts";
import { toConnectError, unauthorized } from "../shared/payload.ts";
import type { Identity } from "../shared/identity.ts";
import { TokenBucket } from "../../shared/async.ts";
import { endAtExpiry, recheck, recheckAll } from "./expiry.ts";
import { chooseProfile, isRefusal, type RequestParts } from "../http/gate.ts";
import {
  opensSession,
  parametersOf,
  type RequestHead,
  splitTarget,
} from "../shared/http.ts";
import { flushed } from "../http/closing.ts";

/** The parts of a server that {@linkcode Sessions} needs. */
interface SessionsParts extends RequestParts {
  /** Maximum size of a packet that requests a session. */
  readonly maxConnectBytes: number;
  /** Milliseconds for a new connection to request a session. */
  readonly connectTimeoutMs: number;
  /** Milliseconds from a connection to its admission. */
  readonly handshakeTimeoutMs: number;
  /** Notes sessions that end. */
  readonly journal: Journal;
  /** What every connection to an office works with. */
  readonly connections: OfficeClientParts;
}

/** `flood` is the answer to events beyond the rate: an error costs more than all else done for such an event. */
type SessionParts = SessionsParts & { readonly flood: ProtocolError };

/** What is kept of a connection, also between sessions: a reconnect over it must not refill the bucket. */
interface KeptConnection {
  /** Limits its events. */
  readonly rate: TokenBucket;
  /** Whether it has a session, or asks for one. */
  isTaken: boolean;
}

/**
 * The Socket.IO sessions of a server, of all versions: one for every connection to the namespace that
 * may connect and whose `auth` is valid; all others are refused (protocol §2, §10).
 */
export class Sessions implements Reception {
  readonly #parts: SessionParts;
  readonly #arrivals: Arrivals;
  readonly #guards = new WeakMap<WireConnection, SessionGuard>();
  /** The open sessions, members or not. */
  readonly open: Map<string, Session> = new Map();
  readonly #kept = new WeakMap<WireConnection, KeptConnection>();
  #rechecks = 0;

  /** @throws {TypeError} when a limit is invalid */
  constructor(parts: SessionsParts) {
    const flood = overLimit(parts.limiter.limits, "eventsPerSecond");
    this.#parts = { ...parts, flood };
    this.#arrivals = new Arrivals(parts);
  }

  /** Applies all limits to a new connection, in both directions. */
  opened(connection: WireConnection): ConnectionGuard {
    const { slots, limiter, proxies } = this.#parts;
    slots.transfer(connection);
    this.#arrivals.opened(connection);
    const address = peerOf(connection, proxies);
    const { queuedBytes } = limiter.limits;
    guardQueue(connection, queuedBytes, (limit) => {
      limiter.recordHit(limit, { address });
    });
    const guard = new SessionGuard(connection, this.#parts, (reason, party) => {
      if (party) return limiter.recordRefusedPacket({ reason, ...party });
      const code = ErrorCode.BAD_REQUEST;
      limiter.recordRefusedHandshake("namespace", { code, reason, address });
    });
    this.#guards.set(connection, guard);
    return guard;
  }

  async admit(
    socket: ClientSocket,
    auth: Record<string, unknown>,
  ): Promise<Error | (() => void)> {
    const { limiter, proxies } = this.#parts;
    const { conn } = socket;
    this.#arrivals.asked(conn);
    const known = this.#kept.get(conn);
    const now = performance.now();
    // Every CONNECT but the first counts as an event, since it costs as much.
    if (known?.rate.take(now) === false) {
      const address = peerOf(conn, proxies);
      return toConnectError(limiter.refuse("eventsPerSecond", { address }));
    }
    // Further CONNECTs of a connection may come while one is pending here.
    if (known?.isTaken) {
      return refusedConnect(
        "Cannot connect twice: this connection has a session already",
      );
    }
    const { eventsPerSecond } = limiter.limits;
    const rate = known?.rate ?? new TokenBucket(eventsPerSecond, now);
    const kept = { rate, isTaken: true };
    this.#kept.set(conn, kept);
    const rechecks = this.#rechecks;
    const admission = await this.#authenticate(conn, auth);
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

  /** Authenticates a client, and reads its `auth` (protocol §2, §10); returns the error for one that may not connect. */
  async #authenticate(
    connection: WireConnection,
    auth: Record<string, unknown>,
  ): Promise<Admission | Error> {
    const { authenticator, limiter, proxies, profiles } = this.#parts;
    const { headers, url = "" } = connection.request;
    const address = peerOf(connection, proxies);
    const refuse = (error: unknown, why?: string) => {
      const refusal = toConnectError(error);
      const { code, message } = refusal.data;
      const about = { code, reason: why ?? message, address };
      limiter.recordRefusedHandshake("namespace", about);
      return refusal;
    };
    try {
      const identity = await authenticator?.authenticate({
        auth,
        headers,
        address,
      });
      if (identity && "refused" in identity) {
        return refuse(unauthorized(identity), identity.refused);
      }
      const { query } = splitTarget(url);
      const profile = chooseProfile(query, profiles);
      if (isRefusal(profile)) {
        throw new Error("The gate admitted an unsupported version");
      }
      const version = parametersOf(query).getAll(VERSION_PARAMETER).at(-1) ??
        profile.version;
      return {
        ...readHandshakeAuth(auth),
        profile,
        version,
        identity,
        address,
      };
    } catch (error) {
      return refuse(error);
    }
  }

  #begin(
    socket: ClientSocket,
    admission: Admission,
    kept: KeptConnection,
  ): Session {
    const { conn } = socket;
    this.#arrivals.ended(conn);
    const session = new Session(socket, admission, kept.rate, this.#parts);
    const guard = this.#guards.get(conn);
    guard?.admit(partyOf(session));
    this.open.set(session.id, session);
    if (session.identity) {
      session.renewed = endAtExpiry(session, this.#parts.journal);
    }
    socket.once("disconnect", () => {
      kept.isTaken = false;
      guard?.leave();
      this.open.delete(session.id);
      session.gone();
    });
    return session;
  }

  /** Records a socket on another namespace (protocol §2). */
  elsewhere(connection: WireConnection): Error {
    const { limiter, proxies } = this.#parts;
    const code = ErrorCode.BAD_REQUEST;
    const reason = "Invalid namespace";
    const address = peerOf(connection, proxies);
    limiter.recordRefusedHandshake("namespace", { code, reason, address });
    return refusedConnect(reason);
  }

  /** Notes a session request of another version or transport; those of ended sessions are common, and not worth it. */
  refused(request: RequestHead, code: number, reason: string): void {
    if (!opensSession(splitTarget(request.url ?? "").query)) return;
    const { limiter, proxies } = this.#parts;
    const address = addressOf(request, { proxies });
    limiter.recordRefusedHandshake("http", { code, reason, address });
  }

  /** Checks the credentials of all sessions again. */
  async recheck(): Promise<void> {
    this.#rechecks++;
    await recheckAll([...this.open.values()].map((one) => this.#again(one)));
  }

  #again(session: Session): Promise<void> {
    const { authenticator, journal } = this.#parts;
    return recheck(session, authenticator, journal);
  }

  /** Disconnects all clients once their queued packets are sent, or after a second. */
  async close(): Promise<void> {
    const { engine } = this.#parts;
    await flushed(engine.connections);
    await engine.close();
    this.#arrivals.close();
  }
}

/** A Socket.IO connection of a client, as its office sees it. */
export class Session extends Link implements Peer {
  readonly id: string;
  readonly profile: Profile;
  readonly version: string;
  readonly instance: string | undefined;
  readonly address: string;
  /** Replaced by rechecks. */
  identity: Identity | undefined;
  /** Called when it was replaced by another one, which may expire at another time. */
  renewed: (() => void) | undefined;
  /** Its connection to its office. */
  readonly connection: OfficeClient;
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
    super(socket, MOST_BYTES);
    this.id = socket.id;
    this.profile = admission.profile;
    this.version = admission.version;
    this.instance = admission.instance;
    this.identity = admission.identity;
    this.address = admission.address;
    this.#rate = rate;
    this.#parts = parts;
    this.connection = new OfficeClient(this, parts.connections, role);
  }

  protected override receive(
    event: string,
    payload: Payload,
    ack: Ack | undefined,
  ): void {
    if (this.#rate.take(performance.now())) {
      return this.connection.receive(event, payload, ack);
    }
    const { limiter, flood } = this.#parts;
    limiter.recordHit("eventsPerSecond", partyOf(this));
    this.connection.refuse(event, flood, ack);
  }

  end(_reason: string, isReplaced: boolean): void {
    if (isReplaced) this.socket.disconnect();
    else this.socket.conn.close();
  }

  /** Notes that the connection is closed. */
  gone(): void {
    this.unlink();
    this.connection.gone();
  }
}

/** The most bytes of each event that a client of any version may send, under each of its names. */
const MOST_BYTES: ReadonlyMap<string, number> = new Map(
  [
    ...Object.keys(CLIENT_EVENTS).filter(isClientEvent),
    ...Object.keys(SERVER_EVENTS).filter(isServerEvent),
  ].flatMap((event) =>
    Object.values(PROFILES).flatMap((profile) =>
      namesOf(profile, event).map((name) =>
        [name, REQUEST_BOUNDS[event].bytes] as const
      )
    )
  ),
);

/** The `auth` object of a connection. */
interface HandshakeAuth {
  /** The role that the client must join with. */
  readonly role: Role | undefined;
  /** Distinguishes it from others with its name when it reconnects. */
  readonly instance: string | undefined;
}

/** A client that was admitted. */
interface Admission extends HandshakeAuth {
  /** The version that it is served in. */
  readonly profile: Profile;
  /** The `a2c_version` that it sent; that of the profile if it sent none. */
  readonly version: string;
  readonly identity: Identity | undefined;
  readonly address: string;
}

const MAX_INSTANCE_LENGTH = 256;

/**
 * Reads the `auth` object of a connection (protocol §2, §9); ignores other fields.
 *
 * @throws {ProtocolError} 400 when `role` or `instance_id` is present but invalid
 */
export function readHandshakeAuth(
  { role, instance_id: instance }: Record<string, unknown>,
): HandshakeAuth {
  let parsed: Role | undefined;
  try {
    if (role !== undefined) parsed = parseRole(role);
  } catch {
    throw invalidAuth('role: expected "agent" or "computer"');
  }
  const isValid = instance === undefined || typeof instance === "string" &&
      instance !== "" && instance.length <= MAX_INSTANCE_LENGTH;
  if (isValid) return { role: parsed, instance };
  throw invalidAuth(
    `instance_id: expected a string of 1 to ${MAX_INSTANCE_LENGTH} characters`,
  );
}

const invalidAuth = (what: string): ProtocolError =>
  new ProtocolError(ErrorCode.BAD_REQUEST, `Invalid auth.${what}`);

const refusedConnect = (message: string): Error =>
  toConnectError(new ProtocolError(ErrorCode.BAD_REQUEST, message));

/** Returns the address of a client, also when the socket of its first request is closed. */
const peerOf = (
  { remoteAddress, request: { headers } }: WireConnection,
  proxies: number,
): string => clientAddress(remoteAddress, headers["x-forwarded-for"], proxies);
