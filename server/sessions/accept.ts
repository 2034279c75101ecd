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
import type { Session } from "../shared/session.ts";
import { Link } from "../wire/mod.ts";

/** Who does what with the events of a session. */
export interface SessionParts {
  /** What the server speaks. */
  readonly profile: Profile;
  /** Gets every event. */
  readonly dispatcher: Dispatcher;
  /** Ends the calls of a session that is gone. */
  readonly relay: Relay;
  /** Frees its seat. */
  readonly membership: Membership;
  /** Decides who may connect; absent: everybody. */
  readonly authenticator: Authenticator | undefined;
  /** The connections that have no session yet. */
  readonly arrivals: Arrivals;
  /** What connections send before they have a session, and then. */
  readonly guards: PacketGuards;
  /** How many events a session may send. */
  readonly limiter: Limiter;
  /** How many proxies of the operator's own stand in front of the server. */
  readonly proxies: number;
  /** Told of every refusal. */
  readonly metrics: Metrics | undefined;
}

/** What is known of a connection once it is let in. */
interface Admission {
  readonly introduction: HandshakeAuth;
  readonly identity: Identity | undefined;
  readonly address: string;
  /** How often sessions had been rechecked when it was asked for. */
  readonly rechecks: number;
}

/**
 * Makes a session of every connection of the namespace that may connect, and whose `auth` is valid; refuses all others (spec §2, §10).
 *
 * @returns asks again who the holders of all sessions are
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
      parts.authenticator,
      (session) => parts.membership.depart(session),
    );
  const taken = new WeakSet<Socket["conn"]>();
  // Of the connection, not of the session: who comes and goes over one gets no more for it.
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
    // The first CONNECT is free, further ones count as events: they cost as much.
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
    // While one CONNECT waits here, Socket.IO takes any number of others from the same connection.
    if (taken.has(socket.conn)) return next(alreadyConnected());
    taken.add(socket.conn);
    const admission = await admit(socket, parts, rechecks);
    // All that is kept of it is in the admission.
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
    endAtExpiry(session);
    const { rechecks: before }: Admission = socket.data;
    if (before !== rechecks) void recheckAll([again(session)]); // of keys that are replaced by now
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

/** @returns the refusal for the client when it may not connect */
async function admit(
  { handshake: { auth, headers, address: peer } }: Socket,
  { authenticator, limiter, proxies, metrics }: SessionParts,
  rechecks: number,
): Promise<Admission | Error> {
  const address = clientAddress(peer, headers["x-forwarded-for"], proxies);
  const refuse = (error: unknown, why?: string) => {
    const refusal = toConnectError(error);
    const { code, message } = refusal.data;
    const reason = why ?? message;
    metrics?.handshakeRefused("namespace", code);
    limiter.refusedHandshake({ code, reason, address });
    return refusal;
  };
  try {
    const verdict = await authenticator?.authenticate({
      auth,
      headers,
      address,
    });
    if (verdict && "refused" in verdict) {
      return refuse(unauthorized(), verdict.refused);
    }
    return {
      identity: verdict,
      introduction: readHandshakeAuth(auth),
      address,
      rechecks,
    };
  } catch (error) {
    return refuse(error);
  }
}

const taskFailed = (error: unknown): void =>
  log.error("A task failed", failure(error));

/** Also told of what a client sends as event "error": nothing of it is worth a line. */
function connectionFailed(this: Socket): void {
  log.debug("A connection failed", { socket: this.id });
}

const newSession = (
  socket: Socket,
  link: Link,
  { identity, introduction: { role, instance }, address }: Admission,
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
  enqueue: createTaskQueue(taskFailed),
});
