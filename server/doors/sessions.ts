import type { Namespace, Socket } from "socket.io";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import type { Arrivals, PacketGuards } from "../limits/guards.ts";
import { clientAddress, overLimit } from "../limits/limits.ts";
import { partyOf } from "../office/peer.ts";
import { toConnectError } from "../shared/error_payload.ts";
import type { Journal } from "../shared/audit.ts";
import { log } from "../shared/log.ts";
import { TokenBucket } from "../shared/pending.ts";
import {
  admit,
  type AdmitParts,
  rejectUnknownNamespaces,
} from "./admission.ts";
import { endAtExpiry, recheck, recheckAll } from "./expiry.ts";
import { type Admission, Session, type SessionParts } from "./session.ts";

/** The parts of a server that {@linkcode Sessions} needs. */
export interface SessionsParts
  extends AdmitParts, Pick<SessionParts, "connections"> {
  /** Closes connections that do not open a session in time. */
  readonly arrivals: Arrivals;
  /** Check the packets of connections. */
  readonly guards: PacketGuards;
  /** Notes sessions that end. */
  readonly journal: Journal;
}

/** What the middleware leaves for the session. */
interface Admitted extends Admission {
  /** The number of rechecks before its authentication started. */
  readonly rechecks: number;
}

/**
 * The Socket.IO sessions of a server, of all versions: one for every connection to the namespace that
 * may connect and whose `auth` is valid; all others are refused (spec §2, §10).
 */
export class Sessions {
  readonly #parts: SessionsParts;
  readonly #session: SessionParts;
  readonly #open = new Map<string, Session>();
  readonly #expiries = new WeakMap<Session, () => void>();
  readonly #taken = new WeakSet<Socket["conn"]>();
  /** Per connection, not per session: reconnecting over one must not refill the bucket. */
  readonly #rates = new WeakMap<Socket["conn"], TokenBucket>();
  #rechecks = 0;

  /** Accepts the connections of a namespace. */
  constructor(nsp: Namespace, parts: SessionsParts) {
    const { connections, limiter } = parts;
    this.#parts = parts;
    this.#session = {
      connections,
      limiter,
      flood: overLimit(limiter.limits, "eventsPerSecond"),
    };
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
    const { conn } = socket;
    arrivals.asked(conn);
    // Every CONNECT but the first counts as an event, since it costs as much.
    const isAnother = this.#rates.has(conn);
    const rate = this.#rateOf(conn);
    if (isAnother && !rate.take(performance.now())) {
      const { address: peer, headers } = socket.handshake;
      const address = clientAddress(peer, headers["x-forwarded-for"], proxies);
      return toConnectError(limiter.refuse("eventsPerSecond", { address }));
    }
    // Socket.IO accepts further CONNECTs of a connection while one is pending here.
    if (this.#taken.has(conn)) return alreadyConnected();
    this.#taken.add(conn);
    const rechecks = this.#rechecks;
    const admission = await admit(socket, this.#parts);
    // Credentials must not stay in memory; the admission has all that is needed.
    socket.handshake.auth = {};
    if (admission instanceof Error) {
      this.#taken.delete(conn);
      return admission;
    }
    socket.data = { ...admission, rechecks } satisfies Admitted;
    return undefined;
  }

  #begin(socket: Socket): void {
    const { arrivals, guards, journal } = this.#parts;
    const { conn } = socket;
    const { rechecks, ...admission }: Admitted = socket.data;
    arrivals.ended(conn);
    const session = new Session(
      socket,
      admission,
      this.#rateOf(conn),
      this.#session,
    );
    const guard = guards.of(conn);
    guard?.admit(partyOf(session));
    this.#open.set(session.id, session);
    this.#expiries.set(session, endAtExpiry(session, journal));
    // Keys were replaced while it authenticated.
    if (rechecks !== this.#rechecks) void recheckAll([this.#again(session)]);
    socket.on("error", connectionFailed);
    socket.on("disconnect", () => {
      this.#taken.delete(conn);
      guard?.leave();
      this.#open.delete(session.id);
      session.gone();
    });
  }

  #again(session: Session): Promise<void> {
    const { authenticator, journal } = this.#parts;
    return recheck(
      session,
      authenticator,
      journal,
      () => this.#expiries.get(session)?.(),
    );
  }

  #rateOf(conn: Socket["conn"]): TokenBucket {
    const { eventsPerSecond } = this.#parts.limiter.limits;
    const rate = this.#rates.get(conn) ??
      new TokenBucket(eventsPerSecond, performance.now());
    this.#rates.set(conn, rate);
    return rate;
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
