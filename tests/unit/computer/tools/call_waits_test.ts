import { assertEquals, assertRejects } from "@std/assert";
import { CallWaits } from "../../../../computer/tools/progress.ts";

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
