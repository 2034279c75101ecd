import { assert, assertEquals } from "@std/assert";
import {
  type WakeChannel,
  type WakeClock,
  Waker,
  type WakerOptions,
} from "../../../../computer/approvals/waker.ts";
import { captureLog } from "../../../support/log_capture.ts";

/** A clock that stands still until the test moves it. */
class HandClock implements WakeClock {
  time = 0;
  readonly #timers = new Set<{ at: number; run: () => void }>();

  get timers(): number {
    return this.#timers.size;
  }

  now(): number {
    return this.time;
  }

  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.time + milliseconds, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets time pass. */
  pass(milliseconds: number): void {
    const end = this.time + milliseconds;
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.at - b.at);
      if (next === undefined || next.at > end) break;
      this.#timers.delete(next);
      this.time = next.at;
      next.run();
    }
    this.time = end;
  }
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A waker, and the times at which it woke with what was left then. */
function waking(options: Omit<WakerOptions, "clock"> = {}) {
  const clock = new HandClock();
  const woken: [at: number, leftMs: number][] = [];
  const channel: WakeChannel = {
    name: "test",
    wake: (leftMs) => {
      woken.push([clock.time, leftMs]);
      return Promise.resolve();
    },
  };
  const waker = new Waker({ ...options, clock });
  waker.use(channel);
  return { clock, woken, waker };
}

Deno.test("Waker wakes for a question that nobody answers within three seconds", () => {
  const { clock, woken, waker } = waking();
  waker.asked("a", 5 * MINUTE);
  clock.pass(2_999);
  assertEquals(woken, []);
  clock.pass(1);
  assertEquals(woken, [[3_000, 5 * MINUTE - 3_000]]);
  clock.pass(HOUR);
  assertEquals(woken.length, 1, "once for each question");
  assertEquals(clock.timers, 0);
});

Deno.test("Waker wakes nobody for a question that was answered before", () => {
  const { clock, woken, waker } = waking();
  waker.asked("a", MINUTE);
  clock.pass(2_999);
  waker.answered("a");
  waker.answered("never asked");
  assertEquals(clock.timers, 0);
  clock.pass(HOUR);
  assertEquals(woken, []);
});

Deno.test("Waker wakes nobody for a question whose time ends before that", () => {
  const { clock, woken, waker } = waking();
  waker.asked("short", 3_000);
  clock.pass(HOUR);
  assertEquals(woken, []);
  waker.asked("longer", 3_001);
  clock.pass(HOUR);
  assertEquals(woken, [[HOUR + 3_000, 1]]);
});

Deno.test("Waker waits half a minute after each wake-up, and then wakes once for all", () => {
  const { clock, woken, waker } = waking();
  waker.asked("a", 5 * MINUTE);
  clock.pass(10_000);
  waker.asked("b", MINUTE);
  waker.asked("c", 10 * MINUTE);
  clock.pass(22_999);
  assertEquals(woken.length, 1);
  clock.pass(1);
  // What is left of the one that is open longest.
  assertEquals(woken.slice(1), [[33_000, 10 * MINUTE - 23_000]]);
  clock.pass(HOUR);
  assertEquals(woken.length, 2);
});

Deno.test("Waker wakes for nothing that ended while it waited", () => {
  const { clock, woken, waker } = waking();
  waker.asked("a", 5 * MINUTE);
  clock.pass(10_000);
  waker.asked("b", 5 * MINUTE);
  waker.asked("c", 15_000);
  waker.answered("b");
  clock.pass(HOUR);
  assertEquals(woken.length, 1);
});

Deno.test("threat 5: an Agent that asks without end wakes the person 12 times an hour at most", () => {
  const { clock, woken, waker } = waking();
  for (let i = 0; i < 3 * 3600; i++) {
    waker.asked(String(i), MINUTE);
    clock.pass(1_000);
    waker.answered(String(i - 40));
  }
  const times = woken.map(([at]) => at);
  assertEquals(times.length, 36);
  for (const at of times) {
    const hour = times.filter((other) => other >= at && other < at + HOUR);
    assert(hour.length <= 12, `${hour.length} from ${at}`);
  }
  for (const [i, at] of times.entries()) {
    assert(at - (times[i - 1] ?? -MINUTE) >= 30_000);
  }
});

Deno.test("Waker waits as long as it is given, and none after its end", () => {
  const { clock, woken, waker } = waking({ delayMs: 10 });
  waker.asked("a", MINUTE);
  clock.pass(10);
  assertEquals(woken.length, 1);
  waker.asked("b", MINUTE);
  waker[Symbol.dispose]();
  assertEquals(clock.timers, 0);
  clock.pass(HOUR);
  assertEquals(woken.length, 1);
});

Deno.test("a channel that fails or hangs keeps no other from waking, and is logged", async () => {
  using logs = captureLog();
  const clock = new HandClock();
  const woken = Promise.withResolvers<void>();
  const channels: WakeChannel[] = [
    { name: "hangs", wake: () => new Promise(() => {}) },
    { name: "fails", wake: () => Promise.reject(new Error("no luck")) },
    {
      name: "throws",
      wake: () => {
        throw new Error("at once");
      },
    },
    { name: "works", wake: () => Promise.resolve(woken.resolve()) },
  ];
  using waker = new Waker({ clock });
  channels.forEach((channel) => waker.use(channel));
  waker.asked("a", MINUTE);
  clock.pass(3_000);
  await woken.promise;
  const reasons = () =>
    logs.records.filter(({ level }) => level === "warning")
      .map(({ properties }) => properties.reason);
  while (reasons().length < 2) await Promise.resolve();
  assertEquals(reasons().sort(), ["at once", "no luck"]);
});

Deno.test("Waker works with the time of the process, and does not keep that running", async () => {
  const woken = Promise.withResolvers<number>();
  const channel = {
    name: "test",
    wake: (leftMs: number) => Promise.resolve(woken.resolve(leftMs)),
  };
  using waker = new Waker({ delayMs: 1 });
  waker.use(channel);
  const timer = setTimeout(() => {}, MINUTE); // the timers of the waker are unref()ed
  waker.asked("a", MINUTE);
  assert(await woken.promise <= MINUTE);
  clearTimeout(timer);
});
