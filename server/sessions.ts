import type { Namespace, Socket } from "socket.io";
import {
  ErrorCode,
  type ErrorPayload,
  type Profile,
  ProtocolError,
  VERSION_PARAMETER,
} from "../protocol/mod.ts";
import { toAnswer } from "./_answers.ts";
import { failure, log } from "./_log.ts";
import { serial } from "./_serial.ts";
import { audit } from "./audit.ts";
import type { Authenticator, Identity } from "./auth/authenticator.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { type Introduction, readIntroduction } from "./introduction.ts";
import type { Membership } from "./membership.ts";
import type { Relay } from "./relay.ts";
import type { Session } from "./session.ts";

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
}

/** What is known of a connection once it is let in. */
interface Admission {
  readonly introduction: Introduction;
  readonly identity: Identity | undefined;
}

/** Makes a session of every connection of the namespace that may connect, and whose `auth` is valid (spec §2, §10). */
export function acceptSessions(
  nsp: Namespace,
  sessions: Map<string, Session>,
  parts: SessionParts,
): void {
  nsp.use(async (socket, next) => {
    const admission = await admit(socket, parts.authenticator);
    if (admission instanceof Error) return next(admission);
    socket.data = admission;
    next();
  });
  // Synchronous: an event that arrives before its listener is lost.
  nsp.on("connection", (socket) => {
    const session = newSession(socket, socket.data, parts.profile);
    sessions.set(socket.id, session);
    socket.onAny((...args: unknown[]) =>
      parts.dispatcher.receive(session, args)
    );
    socket.on("error", () => {
      // Also what a client sends as event "error": nothing of it is worth a line.
      log.debug("A connection failed", { socket: socket.id });
    });
    socket.on("disconnect", () => {
      if (session.role) parts.relay.end(session, session.role, true);
      session.enqueue(async () => {
        await parts.membership.depart(session);
        sessions.delete(socket.id);
      });
    });
  });
}

/** Sockets on any namespace but the protocol's are refused (spec §2). */
export function refuseNamespace(nsp: Namespace): void {
  nsp.use((_socket, next) =>
    next(refused(
      new ProtocolError(ErrorCode.BAD_REQUEST, "Invalid namespace"),
    ))
  );
}

/** @returns the refusal for the client when it may not connect */
async function admit(
  { handshake: { auth, headers, address } }: Socket,
  authenticator: Authenticator | undefined,
): Promise<Admission | Error> {
  const refuse = (error: unknown, why?: string) => {
    const refusal = refused(error);
    const { code, message } = refusal.data;
    const reason = why ?? message;
    audit({ event: "handshake_refused", code, reason, address });
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
    return { identity: verdict, introduction: readIntroduction(auth) };
  } catch (error) {
    return refuse(error);
  }
}

/** Whatever was wrong, clients hear the same (spec §10). */
const unauthorized = (): ProtocolError =>
  new ProtocolError(ErrorCode.UNAUTHORIZED, "Authentication failed");

const newSession = (
  socket: Socket,
  { identity, introduction: { role, instance } }: Admission,
  profile: Profile,
): Session => ({
  socket,
  version: String(socket.handshake.query[VERSION_PARAMETER] ?? profile.version),
  instance,
  identity,
  address: socket.handshake.address,
  role,
  member: undefined,
  calls: new Set(),
  enqueue: serial((error) => log.error("A task failed", failure(error))),
});

/** What a client finds as `error.data` of its `connect_error`. */
function refused(error: unknown): Error & { data: ErrorPayload } {
  const data = toAnswer(error);
  return Object.assign(new Error(data.message), { data });
}
