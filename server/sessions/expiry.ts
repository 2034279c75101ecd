import { clearTimeout, setTimeout } from "node:timers";
import { audit, partyOf, seatOf } from "../shared/audit.ts";
import type { Session } from "../shared/session.ts";

/** What {@linkcode atTime} needs of the time. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once so many milliseconds have passed; returns the function that prevents it. */
  after(milliseconds: number, callBack: () => void): () => void;
}

/** The longest that a timer waits, in milliseconds: one that should wait longer fires at once. */
const LONGEST = 2 ** 31 - 1;

const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  after: (milliseconds, callBack) => {
    const timer = setTimeout(callBack, milliseconds);
    timer.unref(); // nobody stays up for the end of a session
    return () => clearTimeout(timer);
  },
};

/**
 * Calls back at a time, never before it, and never at once; a time that is past is now.
 *
 * @param time milliseconds since 1970, as far away as it may be
 * @returns the function that prevents it
 */
export function atTime(
  time: number,
  callBack: () => void,
  clock: Clock = SYSTEM_CLOCK,
): () => void {
  let prevent: () => void;
  const wait = () => {
    const left = Math.min(Math.max(0, time - clock.now()), LONGEST);
    prevent = clock.after(left, () => {
      if (clock.now() < time) wait();
      else callBack();
    });
  };
  wait();
  return () => prevent();
}

/**
 * Ends a session when its credentials expire (spec §10).
 *
 * Its connection is closed, not its namespace: so the client connects again by itself, with new
 * credentials if it has any, and else hears 401.
 */
export function endAtExpiry(session: Session): void {
  const { identity, socket } = session;
  if (identity?.expiresAt === undefined) return;
  const prevent = atTime(identity.expiresAt, () => {
    audit({
      event: "session_expired",
      ...partyOf(session),
      ...(session.member && seatOf(session.member)),
    });
    socket.conn.close();
  });
  socket.once("disconnect", prevent);
}
