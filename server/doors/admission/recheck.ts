import type { Authenticator } from "../../auth/authenticator.ts";
import { partyOf } from "../../office/peer.ts";
import { type Journal, seatOf } from "../../shared/audit.ts";
import { failure, log } from "../../shared/log.ts";
import type { Session } from "../session.ts";

/**
 * Waits for rechecks of sessions, and logs one line for all that failed: those sessions stay, since an
 * unreachable issuer says nothing about their credentials.
 */
export async function recheckAll(
  rechecks: readonly Promise<void>[],
): Promise<void> {
  const failures = (await Promise.allSettled(rechecks))
    .filter((each) => each.status === "rejected");
  const [first] = failures;
  if (first === undefined) return;
  log.error("Cannot recheck the credentials of sessions; they stay", {
    sessions: failures.length,
    ...failure(first.reason),
  });
}

/**
 * Rechecks the credentials of a session: the result applies to its next join, and ends the session if
 * they are no longer valid (spec §10).
 *
 * Before that, its calls are answered and its office is notified. As in {@linkcode endAtExpiry}, the
 * connection is closed, so that the client reconnects by itself: with other credentials if it has any,
 * otherwise it gets 401.
 *
 * @param renewed called when the session has a new identity, which may expire at another time
 */
export async function recheck(
  session: Session,
  authenticator: Authenticator | undefined,
  journal: Journal,
  renewed: () => void,
): Promise<void> {
  const { identity, connection, socket } = session;
  if (identity === undefined) return;
  const verdict = await authenticator?.refresh?.(identity);
  if (verdict === undefined) return;
  if ("principal" in verdict) {
    session.identity = verdict;
    return renewed();
  }
  // Refuses joins that wait for their turn already.
  session.identity = { ...identity, expiresAt: 0 };
  journal.write({
    event: "session_revoked",
    reason: verdict.refused,
    ...partyOf(session),
    ...seatOf(connection.held),
  });
  connection.depart(() => socket.conn.close());
}
