import { failure, log } from "../shared/log.ts";
import { partyOf, seatOf } from "../shared/audit.ts";
import type { Journal } from "../shared/journal.ts";
import type { Session } from "../shared/session.ts";
import type { Authenticator } from "../auth/authenticator.ts";

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

/** The parts of a server that {@linkcode recheck} needs. */
export interface RecheckParts {
  /** Notes sessions that end. */
  readonly journal: Journal;
  /** Removes the session from its office. */
  depart(session: Session): Promise<void>;
  /** Called when the session has a new identity, which may expire at another time. */
  renewed(session: Session): void;
}

/**
 * Rechecks the credentials of a session: the result applies to its next join, and ends the session if
 * they are no longer valid (spec §10).
 *
 * Before that, its calls are answered and its office is notified. As in {@linkcode endAtExpiry}, the
 * connection is closed, so that the client reconnects by itself: with other credentials if it has any,
 * otherwise it gets 401.
 */
export async function recheck(
  session: Session,
  authenticator: Authenticator | undefined,
  { journal, depart, renewed }: RecheckParts,
): Promise<void> {
  const { identity } = session;
  if (identity === undefined) return;
  const verdict = await authenticator?.refresh?.(identity);
  if (verdict === undefined) return;
  if ("principal" in verdict) {
    session.identity = verdict;
    renewed(session);
    return;
  }
  // Refuses joins that are queued already.
  session.identity = { ...identity, expiresAt: 0 };
  journal.write({
    event: "session_revoked",
    reason: verdict.refused,
    ...partyOf(session),
    ...(session.member && seatOf(session.member)),
  });
  await session.enqueue(async () => {
    await depart(session);
    session.socket.conn.close();
  });
}
