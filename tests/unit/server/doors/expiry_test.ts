import { assertEquals } from "@std/assert";
import { EventEmitter } from "node:events";
import {
  atTime,
  type Clock,
  endAtExpiry,
} from "../../../../server/doors/expiry.ts";
import type { Session } from "../../../../server/doors/session.ts";
import { Journal } from "../../../../server/shared/audit.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** A manual clock, with its timers. */
function standingClock(start: number) {
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

Deno.test("atTime() calls back at a time, once, and not before it even when a timer fires early", () => {
  const { clock, waiting, fire } = standingClock(1000);
  let called = 0;
  atTime(4000, () => called++, clock);
  fire(1);
  assertEquals([called, clock.now(), waiting.size], [0, 3999, 1]);
  fire();
  assertEquals([called, clock.now(), waiting.size], [1, 4000, 0]);
});

Deno.test("atTime() calls back for a past or invalid time, but not synchronously", () => {
  for (const time of [0, -Infinity, NaN]) {
    const { clock, fire } = standingClock(1000);
    let called = 0;
    atTime(time, () => called++, clock);
    assertEquals(called, 0);
    fire();
    assertEquals(called, 1);
  }
});

Deno.test("atTime() waits longer than a timer can, and can be canceled at any moment", () => {
  const { clock, waiting, fire } = standingClock(0);
  let called = 0;
  const prevent = atTime(60 * DAY_MS, () => called++, clock);
  for (const [, at] of waiting) assertEquals(at, 2 ** 31 - 1);
  fire();
  fire();
  assertEquals([called, clock.now() > 49 * DAY_MS], [0, true]);
  prevent();
  assertEquals(waiting.size, 0);
  atTime(Infinity, () => called++, clock);
  fire();
  assertEquals([called, waiting.size], [0, 1]);
});

Deno.test("endAtExpiry() starts no timer for a session that is gone when its identity is renewed", () => {
  const socket = Object.assign(new EventEmitter(), { connected: true });
  const identity = { principal: "key:a", policy: {}, expiresAt: Infinity };
  const session: Session = Object({ socket, identity });
  const { clock, waiting } = standingClock(0);
  const renewed = endAtExpiry(session, new Journal(), clock);
  identity.expiresAt = DAY_MS;
  renewed();
  assertEquals(waiting.size, 1);
  socket.connected = false;
  socket.emit("disconnect");
  renewed();
  assertEquals(waiting.size, 0);
});
