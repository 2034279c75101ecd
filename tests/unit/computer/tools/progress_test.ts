import fc from "fast-check";
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  CallWaits,
  type ProgressClock,
  ProgressThrottles,
} from "../../../../computer/tools/progress.ts";
import type { ToolProgress } from "../../../../protocol/mod.ts";

/** A clock that a test moves. */
class TestClock implements ProgressClock {
  time = 0;
  readonly #timers = new Set<{ at: number; run: () => void }>();

  now(): number {
    return this.time;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.time + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get timers(): number {
    return this.#timers.size;
  }

  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const [next] = [...this.#timers].toSorted((a, b) => a.at - b.at);
      if (next === undefined || next.at > end) break;
      this.#timers.delete(next);
      this.time = next.at;
      next.run();
    }
    this.time = end;
  }
}

function setup() {
  const clock = new TestClock();
  const throttles = new ProgressThrottles(clock);
  const told: (ToolProgress & { at: number })[] = [];
  const open = () =>
    throttles.open((progress) => told.push({ ...progress, at: clock.time }));
  return { clock, told, open };
}

Deno.test("progress is told at once, then at most every 100 ms, the last one of a while", () => {
  const { clock, told, open } = setup();
  const call = open();
  for (let progress = 1; progress <= 30; progress++) {
    call.report({ progress });
    clock.pass(10);
  }
  assertEquals(told, [
    { progress: 1, at: 0 },
    { progress: 10, at: 100 },
    { progress: 20, at: 200 },
    { progress: 30, at: 300 },
  ]);
  clock.pass(1_000);
  call.report({ progress: 31 });
  assertEquals(told.at(-1), { progress: 31, at: 1_300 });
  call.end(true);
  assertEquals([told.length, clock.timers], [5, 0]);
});

Deno.test("the last progress is told when the call ends well, and nothing after that", () => {
  const { clock, told, open } = setup();
  const [good, cancelled] = [open(), open()];
  for (const call of [good, cancelled]) {
    call.report({ progress: 1 });
    call.report({ progress: 2, message: "done" });
  }
  good.end(true);
  cancelled.end(false);
  for (const call of [good, cancelled]) {
    call.report({ progress: 3 });
    call.end(true);
  }
  clock.pass(1_000);
  assertEquals(told, [
    { progress: 1, at: 0 },
    { progress: 1, at: 0 },
    { progress: 2, message: "done", at: 0 },
  ]);
  assertEquals(clock.timers, 0);
});

Deno.test("progress that does not increase is dropped, and long messages are cut between characters", () => {
  const { clock, told, open } = setup();
  const call = open();
  for (const progress of [2, 2, 1, -1, NaN]) {
    call.report({ progress });
    clock.pass(200);
  }
  call.report({ progress: 3, message: `x${"😀".repeat(600)}` });
  call.end(true);
  assertEquals(told.map(({ progress }) => progress), [2, 3]);
  assertEquals(told[1]?.message, `x${"😀".repeat(499)}…`);
});

Deno.test("however many calls report, a Computer tells at most 100 a second besides the first of each", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 20 }),
      (count, stepMs) => {
        const { clock, told, open } = setup();
        const calls = Array.from({ length: count }, open);
        for (let progress = 1; clock.time < 2_000; progress++) {
          for (const call of calls) call.report({ progress });
          clock.pass(stepMs);
        }
        const most = count *
          (1 + Math.ceil(clock.time / Math.max(100, count * 10)));
        assert(told.length <= most, `${told.length} > ${most}`);
        for (const call of calls) call.end(false);
        assertEquals(clock.timers, 0);
      },
    ),
    { numRuns: 20 },
  );
});

/** The reports of one call, with a clock that runs when the test says so. */
function waits() {
  const reports: unknown[] = [];
  const timers = new Set<() => void>();
  const call = new CallWaits((waiting) => reports.push(waiting), {
    after: (_ms, run) => {
      const timer = () => {
        timers.delete(timer);
        run();
      };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  });
  return { call, reports, timers, pass: () => timers.forEach((run) => run()) };
}

Deno.test("CallWaits reports a wait after a moment, and its end at once", async () => {
  const { call, reports, timers, pass } = waits();
  const { promise, resolve } = Promise.withResolvers<string>();
  const work = call.during("confirmation", () => promise);
  assertEquals([call.now, reports.length], ["confirmation", 0]);
  pass();
  assertEquals(reports, ["confirmation"]);
  resolve("once");
  assertEquals(await work, "once");
  assertEquals([call.now, timers.size], [undefined, 0]);
  assertEquals(reports, ["confirmation", null]);
});

Deno.test("CallWaits reports nothing of a program that decides at once", async () => {
  const { call, reports, timers } = waits();
  await call.during("confirmation", () => Promise.resolve());
  await assertRejects(() =>
    call.during("answer", () => Promise.reject(new Error()))
  );
  assertEquals([reports.length, timers.size], [0, 0]);
});

Deno.test("CallWaits counts waits that overlap as one, and reports nothing after the end of the call", async () => {
  const { call, reports, pass } = waits();
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const one = call.during("answer", () => first.promise);
  const two = call.during("answer", () => second.promise);
  pass();
  first.resolve();
  await one;
  assertEquals(reports, ["answer"]);
  call.end();
  second.resolve();
  await two;
  assertEquals(reports, ["answer"]);
});
