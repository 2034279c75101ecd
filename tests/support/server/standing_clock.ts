import type { Clock } from "../../../server/doors/expiry.ts";

/** A manual clock, with its timers. */
export function standingClock(start: number) {
  let now = start;
  const waiting = new Map<() => void, number>();
  const clock: Clock = {
    now: () => now,
    after(milliseconds, callBack) {
      waiting.set(callBack, now + milliseconds);
      return () => void waiting.delete(callBack);
    },
  };
  return {
    clock,
    waiting,
    /** Moves on to the next timer, which fires; `early` milliseconds before its time. */
    fire(early = 0) {
      for (const [callBack, at] of [...waiting]) {
        waiting.delete(callBack);
        now = at - early;
        callBack();
      }
    },
  };
}
