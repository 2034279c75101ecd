import { assertEquals } from "@std/assert";
import { IdleTimer } from "../../../shared/time/idle_timer.ts";
import { keepTimers } from "../../support/timers.ts";

/** A timer for 1000 ms that the test fires, and how often it has called back. */
function setup() {
  const time = keepTimers(1000);
  let idle = 0;
  const timer = new IdleTimer(() => idle++, 1000);
  return {
    timer,
    use: () => {
      timer.begin();
      timer.end();
    },
    /** Fires; returns how often it has called back. */
    fire: () => {
      time.fire();
      return idle;
    },
    armed: time.armed,
    async [Symbol.asyncDispose]() {
      timer.stop();
      time[Symbol.dispose]();
      // Each timer that is kept has one of the runtime.
      await new Promise((resolve) => setTimeout(resolve, 0));
    },
  };
}

Deno.test("IdleTimer calls back once when nothing was used since it was set, and again after another use", async () => {
  await using idle = setup();
  idle.use();
  assertEquals([idle.fire(), idle.fire()], [1, 1]);
  idle.use();
  assertEquals(idle.fire(), 2);
});

Deno.test("IdleTimer waits again after uses in between, which set no timer", async () => {
  await using idle = setup();
  for (let uses = 0; uses < 5; uses++) idle.use();
  assertEquals(idle.armed.length, 1);
  assertEquals([idle.fire(), idle.fire()], [0, 1]);
});

Deno.test("IdleTimer never calls back during a use, and waits from its end on", async () => {
  await using idle = setup();
  idle.use();
  idle.timer.begin();
  assertEquals([idle.fire(), idle.fire()], [0, 0]);
  idle.timer.end();
  assertEquals(idle.fire(), 1);
});

Deno.test("IdleTimer calls back no more once it is stopped", async () => {
  await using idle = setup();
  idle.use();
  idle.timer.stop();
  assertEquals(idle.armed.length, 1);
});
