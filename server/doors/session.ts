/**
 * The Socket.IO sessions of a server: who gets one, and how it is the peer of an office.
 *
 * @module
 */
import type { Namespace, Socket } from "socket.io";
import {
  CLIENT_EVENTS,
  ErrorCode,
  isClientEvent,
  namesOf,
  type Profile,
  PROFILES,
  ProtocolError,
} from "../../protocol/mod.ts";
import type { Arrivals, PacketGuards } from "../limits/guards.ts";
import { clientAddress, overLimit } from "../limits/limits.ts";
import { Connection, type ConnectionParts } from "../office/connection.ts";
import { type Ack, type Forget, partyOf, type Peer } from "../office/peer.ts";
import type { Journal } from "../shared/audit.ts";
import { toConnectError } from "../shared/error_payload.ts";
import type { Identity } from "../shared/identity.ts";
import { log } from "../shared/log.ts";
import { TokenBucket } from "../shared/pending.ts";
import { type Incoming, Link, type Payload } from "../wire/mod.ts";
import {
  type Admission,
  admit,
  type AdmitParts,
  rejectUnknownNamespaces,
} from "./admission.ts";
import { endAtExpiry, recheck, recheckAll } from "./expiry.ts";

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

/** What the middleware leaves for the session. */
interface Admitted extends Admission {
  /** The number of rechecks before its authentication started. */
  readonly rechecks: number;
  readonly kept: KeptConnection;
}

/**
 * The Socket.IO sessions of a server, of all versions: one for every connection to the namespace that
 * may connect and whose `auth` is valid; all others are refused (spec §2, §10).
 */
export class Sessions {
  readonly #parts: SessionParts;
  readonly #open = new Map<string, Session>();
  readonly #kept = new WeakMap<Socket["conn"], KeptConnection>();
  #rechecks = 0;

  /** Accepts the connections of a namespace. */
  constructor(nsp: Namespace, parts: SessionsParts) {
    const flood = overLimit(parts.limiter.limits, "eventsPerSecond");
    this.#parts = { ...parts, flood };
    rejectUnknownNamespaces(nsp.server, parts);
    nsp.use(async (socket, next) => next(await this.#admit(socket)));
    // Synchronous: an event that arrives before its listener is lost.
    nsp.on("connection", (socket) => this.#begin(socket));
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

  /** @returns the error for a client that may not connect */
  async #admit(socket: Socket): Promise<Error | undefined> {
    const { arrivals, limiter, proxies } = this.#parts;
    const { eventsPerSecond } = limiter.limits;
    const { conn } = socket;
    arrivals.asked(conn);
    const known = this.#kept.get(conn);
    const now = performance.now();
    // Every CONNECT but the first counts as an event, since it costs as much.
    if (known?.rate.take(now) === false) {
      const { address: peer, headers } = socket.handshake;
      const address = clientAddress(peer, headers["x-forwarded-for"], proxies);
      return toConnectError(limiter.refuse("eventsPerSecond", { address }));
    }
    // Socket.IO accepts further CONNECTs of a connection while one is pending here.
    if (known?.isTaken) return alreadyConnected();
    const kept = known ??
      { rate: new TokenBucket(eventsPerSecond, now), isTaken: true };
    kept.isTaken = true;
    this.#kept.set(conn, kept);
    const rechecks = this.#rechecks;
    const admission = await admit(socket, this.#parts);
    // Credentials must not stay in memory; the admission has all that is needed.
    socket.handshake.auth = {};
    if (admission instanceof Error) {
      kept.isTaken = false;
      return admission;
    }
    socket.data = { ...admission, rechecks, kept } satisfies Admitted;
    return undefined;
  }

  #begin(socket: Socket): void {
    const { arrivals, guards, journal } = this.#parts;
    const { conn } = socket;
    const { rechecks, kept, ...admission }: Admitted = socket.data;
    arrivals.ended(conn);
    const session = new Session(socket, admission, kept.rate, this.#parts);
    const guard = guards.of(conn);
    guard?.admit(partyOf(session));
    this.#open.set(session.id, session);
    session.renewed = endAtExpiry(session, journal);
    // Keys were replaced while it authenticated.
    if (rechecks !== this.#rechecks) void recheckAll([this.#again(session)]);
    socket.on("error", connectionFailed);
    socket.on("disconnect", () => {
      kept.isTaken = false;
      guard?.leave();
      this.#open.delete(session.id);
      session.gone();
    });
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

/** Also called for a client's own event "error", so its argument is not logged. */
function connectionFailed(this: Socket): void {
  log.debug("A connection failed", { socket: this.id });
}

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
  renewed: () => void = () => {};
  /** The Socket.IO connection. */
  readonly socket: Socket;
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
    socket: Socket,
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
    if (isReplaced) this.socket.disconnect(true);
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
  socket: Socket,
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
