import type { Namespace, Socket } from "socket.io";
import {
  CLIENT_EVENTS,
  ErrorCode,
  isClientEvent,
  namesOf,
  type Profile,
  ProtocolError,
  VERSION_PARAMETER,
} from "../../protocol/mod.ts";
import { toConnectError, unauthorized } from "../shared/error_payload.ts";
import { failure, log } from "../shared/log.ts";
import { createTaskQueue } from "../shared/task_queue.ts";
import type { Identity } from "../shared/identity.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { GatewayPass } from "../auth/gateway_pass.ts";
import { endAtExpiry } from "./expiry.ts";
import { recheck, recheckAll } from "./recheck.ts";
import type { Dispatcher } from "../relay/dispatcher.ts";
import { type HandshakeAuth, readHandshakeAuth } from "./handshake_auth.ts";
import type { Arrivals } from "../limits/arrivals.ts";
import { clientAddress } from "../limits/client_address.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { PacketGuards } from "../limits/packet_guards.ts";
import { TokenBucket } from "../shared/token_bucket.ts";
import type { Membership } from "../offices/membership.ts";
import type { Metrics } from "../observe/metrics.ts";
import { rejectUnknownNamespaces } from "./refuse_namespaces.ts";
import type { LinkedSession } from "../relay/linked_session.ts";
import type { Relay } from "../relay/relay.ts";
import type { Journal } from "../shared/journal.ts";
import type { Session } from "../shared/session.ts";
import { Link } from "../wire/mod.ts";

/** The parts of a server that {@linkcode acceptSessions} needs. */
export interface SessionParts {
  /** The protocol version of the server. */
  readonly profile: Profile;
  /** Handles every event. */
  readonly dispatcher: Dispatcher;
  /** Ends the calls of a disconnected session. */
  readonly relay: Relay;
  /** Releases the seat of a disconnected session. */
  readonly membership: Membership;
  /** Decides who may connect; without it, everybody may. */
  readonly authenticator: Authenticator | undefined;
  /** Known by the gateway's own Agents, who have no other credentials. */
  readonly pass: GatewayPass | undefined;
  /** Closes connections that do not open a session in time. */
  readonly arrivals: Arrivals;
  /** Check the packets of connections. */
  readonly guards: PacketGuards;
  /** Provides the limits, and records refusals. */
  readonly limiter: Limiter;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
  /** Counts refusals. */
  readonly metrics: Metrics | undefined;
  /** Notes sessions that end. */
  readonly journal: Journal;
}

/** The data of an admitted connection. */
interface Admission {
  readonly handshakeAuth: HandshakeAuth;
  readonly identity: Identity | undefined;
  readonly address: string;
  /** The number of rechecks before its authentication started. */
  readonly rechecks: number;
}

/**
 * Creates a session for every connection to the namespace that may connect and whose `auth` is valid;
 * refuses all others (spec §2, §10).
 *
 * @returns a function that rechecks the credentials of all sessions
 */
export function acceptSessions(
  nsp: Namespace,
  sessions: Map<string, LinkedSession>,
  parts: SessionParts,
): () => Promise<void> {
  rejectUnknownNamespaces(nsp.server, parts);
  const requests: ReadonlySet<string> = new Set(
    Object.keys(CLIENT_EVENTS).filter(isClientEvent)
      .flatMap((event) => namesOf(parts.profile, event)),
  );
  let rechecks = 0;
  const again = (session: Session) =>
    recheck(
      session,
      session.identity === parts.pass?.identity
        ? undefined
        : parts.authenticator,
      {
        journal: parts.journal,
        depart: (session) => parts.membership.depart(session),
        renewed: (session) => expiries.get(session)?.(),
      },
    );
  const expiries = new WeakMap<Session, () => void>();
  const taken = new WeakSet<Socket["conn"]>();
  // Per connection, not per session: reconnecting over one must not refill the bucket.
  const events = new WeakMap<Socket["conn"], TokenBucket>();
  const eventsOf = ({ conn }: Socket): TokenBucket => {
    const { eventsPerSecond } = parts.limiter.limits;
    const bucket = events.get(conn) ??
      new TokenBucket(eventsPerSecond, performance.now());
    events.set(conn, bucket);
    return bucket;
  };
  nsp.use(async (socket, next) => {
    parts.arrivals.asked(socket.conn);
    // Every CONNECT but the first counts as an event, since it costs as much.
    const again = events.has(socket.conn);
    const bucket = eventsOf(socket);
    if (again && !bucket.take(performance.now())) {
      const { address: peer, headers } = socket.handshake;
      const address = clientAddress(
        peer,
        headers["x-forwarded-for"],
        parts.proxies,
      );
      return next(
        toConnectError(parts.limiter.refuse("eventsPerSecond", { address })),
      );
    }
    // Socket.IO accepts further CONNECTs of a connection while one is pending here.
    if (taken.has(socket.conn)) return next(alreadyConnected());
    taken.add(socket.conn);
    const admission = await admit(socket, parts, rechecks);
    // Credentials must not stay in memory; the admission has all that is needed.
    socket.handshake.auth = {};
    if (admission instanceof Error) {
      taken.delete(socket.conn);
      return next(admission);
    }
    socket.data = admission;
    next();
  });
  // Synchronous: an event that arrives before its listener is lost.
  nsp.on("connection", (socket) => {
    parts.arrivals.ended(socket.conn);
    const link = new Link(
      socket,
      requests,
      (incoming) => parts.dispatcher.receive(session, incoming),
    );
    const guard = parts.guards.of(socket.conn);
    const session = newSession(
      socket,
      link,
      socket.data,
      parts,
      eventsOf(socket),
    );
    guard?.admit(session);
    sessions.set(socket.id, session);
    expiries.set(session, endAtExpiry(session, parts.journal));
    const { rechecks: before }: Admission = socket.data;
    // Keys were replaced while it authenticated.
    if (before !== rechecks) void recheckAll([again(session)]);
    socket.on("error", connectionFailed);
    socket.on("disconnect", () => {
      taken.delete(socket.conn);
      guard?.leave();
      link.end();
      if (session.role) parts.relay.end(session, session.role, true);
      session.enqueue(async () => {
        await parts.membership.depart(session);
        sessions.delete(socket.id);
      });
    });
  });
  return async () => {
    rechecks++;
    await recheckAll([...sessions.values()].map(again));
  };
}

const alreadyConnected = (): Error =>
  toConnectError(
    new ProtocolError(
      ErrorCode.BAD_REQUEST,
      "Cannot connect twice: this connection has a session already",
    ),
  );

/** @returns the error for a client that may not connect */
async function admit(
  { handshake: { auth, headers, address: peer } }: Socket,
  { authenticator, pass, limiter, proxies, metrics }: SessionParts,
  rechecks: number,
): Promise<Admission | Error> {
  const address = clientAddress(peer, headers["x-forwarded-for"], proxies);
  const refuse = (error: unknown, why?: string) => {
    const refusal = toConnectError(error);
    const { code, message } = refusal.data;
    const reason = why ?? message;
    metrics?.handshakeRefused("namespace", code);
    limiter.recordRefusedHandshake({ code, reason, address });
    return refusal;
  };
  try {
    const verdict = pass?.matches(headers)
      ? pass.identity
      : await authenticator?.authenticate({ auth, headers, address });
    if (verdict && "refused" in verdict) {
      return refuse(unauthorized(verdict), verdict.refused);
    }
    return {
      identity: verdict,
      handshakeAuth: readHandshakeAuth(auth),
      address,
      rechecks,
    };
  } catch (error) {
    return refuse(error);
  }
}

const taskFailed = (error: unknown): void =>
  log.error("A task failed", failure(error));

/** Also called for a client's own event "error", so its argument is not logged. */
function connectionFailed(this: Socket): void {
  log.debug("A connection failed", { socket: this.id });
}

const newSession = (
  socket: Socket,
  link: Link,
  { identity, handshakeAuth: { role, instance }, address }: Admission,
  { profile }: SessionParts,
  events: TokenBucket,
): LinkedSession => ({
  socket,
  link,
  version: String(socket.handshake.query[VERSION_PARAMETER] ?? profile.version),
  instance,
  identity,
  address,
  role,
  member: undefined,
  events,
  calls: [],
  record: { joinedAt: 0, calls: 0, lastError: undefined },
  enqueue: createTaskQueue(taskFailed),
});
