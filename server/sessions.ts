import type { Namespace, Socket } from "socket.io";
import {
  ErrorCode,
  type Profile,
  ProtocolError,
  VERSION_PARAMETER,
} from "../protocol/mod.ts";
import { toAnswer } from "./_answers.ts";
import { failure, log } from "./_log.ts";
import { serial } from "./_serial.ts";
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
}

/** Makes a session of every connection of the namespace whose `auth` is valid (spec §2). */
export function acceptSessions(
  nsp: Namespace,
  sessions: Map<string, Session>,
  parts: SessionParts,
): void {
  nsp.use((socket, next) => {
    try {
      socket.data = readIntroduction(socket.handshake.auth);
      next();
    } catch (error) {
      next(refused(error));
    }
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

const newSession = (
  socket: Socket,
  { role, instance }: Introduction,
  profile: Profile,
): Session => ({
  socket,
  version: String(socket.handshake.query[VERSION_PARAMETER] ?? profile.version),
  instance,
  principal: undefined,
  role,
  member: undefined,
  calls: new Set(),
  enqueue: serial((error) => log.error("A task failed", failure(error))),
});

/** What a client finds as `error.data` of its `connect_error`. */
function refused(error: unknown): Error {
  const data = toAnswer(error);
  return Object.assign(new Error(data.message), { data });
}
