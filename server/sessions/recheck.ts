import { failure, log } from "../shared/log.ts";
import { audit, partyOf, seatOf } from "../shared/audit.ts";
import type { Session } from "../shared/session.ts";
import type { Authenticator } from "../auth/authenticator.ts";

/**
 * Rechecks sessions, and tells in one line of those about which nothing could be learned: an issuer
 * that cannot be reached says nothing about anybody, and they stay.
 */
export async function recheckAll(
  rechecks: readonly Promise<void>[],
): Promise<void> {
  const failures = (await Promise.allSettled(rechecks))
    .filter((each) => each.status === "rejected");
  const [first] = failures;
  if (first === undefined) return;
  log.error("Cannot ask again who sessions belong to; they stay", {
    sessions: failures.length,
    ...failure(first.reason),
  });
}

/**
 * Asks again who the holder of a session is: its next join is judged by the answer, and one whose
 * credentials are gone is ended (spec §10).
 *
 * Its calls are answered and its office is told first. Like at {@linkcode endAtExpiry} the
 * connection is closed, so that the client comes back by itself, with other credentials if it has
 * any, and else hears 401.
 *
 * @param depart makes it leave its office
 */
export async function recheck(
  session: Session,
  authenticator: Authenticator | undefined,
  depart: (session: Session) => Promise<void>,
): Promise<void> {
  const { identity } = session;
  if (identity === undefined) return;
  const verdict = await authenticator?.refresh?.(identity);
  if (verdict === undefined) return;
  if ("principal" in verdict) {
    session.identity = verdict;
    return;
  }
  // What it has sent already may include a join.
  session.identity = { ...identity, expiresAt: 0 };
  audit({
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
