import { log, short } from "../shared/log.ts";
import type { Session } from "../shared/session.ts";

/** The sessions that were told of. */
const told = new WeakSet<Session>();

/**
 * Tells in the log, once a session, that an Agent's requests give another name than its seat has. It is
 * no reason to refuse them unless credentials restrict names: released SDKs take the two from different
 * settings, and the name of the seat counts (0.4 §10).
 */
export function tellOtherName(session: Session, claimed: string): void {
  if (told.has(session)) return;
  told.add(session);
  log.debug("An agent's requests say {claimed}, its seat is {name}", {
    claimed: short(claimed),
    name: short(session.member?.name ?? ""),
    socket: session.socket.id,
  });
}
