import { assert, assertEquals } from "@std/assert";
import { type Deadline, Deadlines } from "../../../../server/shared/pending.ts";
import {
  hurryTimers,
  keepsRunning,
  watchTimers,
} from "../../../support/timers.ts";

Deno.test("Deadlines has one timer, for the earliest of them, and expires those that are due", async () => {
  using _running = keepsRunning();
  using timers = hurryTimers(10_000, 20_000, 5_000, 15_000);
  const deadlines = new Deadlines();
  const expired: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const at = (due: number, name: string): Deadline => ({
    due,
    expire: () => {
      expired.push(name);
      waiting.resolve();
    },
  });
  const taken = at(5_000, "taken back");
  deadlines.add(at(10_000, "second"), 0);
  deadlines.add(at(20_000, "last"), 0);
  deadlines.add(taken, 0);
  deadlines.add(at(5_000, "first"), 0);
  assertEquals(timers.armed, [10_000, 5_000]);
  deadlines.remove(taken);
  await waiting.promise;
  assertEquals(expired, ["first"]);
  deadlines.clear();
});

Deno.test("Deadlines continues with the next one after the earliest, also when that was removed", async () => {
  using _running = keepsRunning();
  const deadlines = new Deadlines();
  const now = performance.now();
  const expired: number[] = [];
  const done = Promise.withResolvers<void>();
  const all = [1, 2, 3].map((ms): Deadline => ({
    due: now + ms,
    expire: () => {
      expired.push(ms);
      if (ms === 3) done.resolve();
    },
  }));
  for (const deadline of all) deadlines.add(deadline, now);
  deadlines.remove(all[0]!);
  await done.promise;
  assertEquals(expired, [2, 3]);
});

Deno.test("Deadlines accepts new ones while it expires others", async () => {
  using _running = keepsRunning();
  const deadlines = new Deadlines();
  const done = Promise.withResolvers<void>();
  const now = performance.now();
  deadlines.add({
    due: now + 1,
    expire: () =>
      deadlines.add({ due: now + 2, expire: () => done.resolve() }, now),
  }, now);
  await done.promise;
});

Deno.test("Deadlines sets no negative delay when the next one is overdue, since Node warns of it", async () => {
  using _running = keepsRunning();
  const delays: (number | undefined)[] = [];
  using _ = watchTimers((delay) => delays.push(delay));
  const deadlines = new Deadlines();
  const done = Promise.withResolvers<void>();
  const now = performance.now();
  deadlines.add({
    due: now - 1000,
    expire: () => {
      // Overdue by the time that the first one has expired.
      deadlines.add({ due: now - 500, expire: () => done.resolve() }, now);
    },
  }, now);
  await done.promise;
  assertEquals(delays.filter((delay) => !(delay! >= 0)), []);
  assert(delays.length >= 2);
});

Deno.test("Deadlines wait for what came in time while the process was stalled", async () => {
  using _running = keepsRunning();
  const deadlines = new Deadlines();
  const ends: string[] = [];
  const over = Promise.withResolvers<void>();
  const end = (name: string): Deadline => ({
    due: performance.now() + 1,
    expire: () => {
      ends.push(`${name} expired`);
      over.resolve();
    },
  });
  const [answered, silent] = [end("answered"), end("silent")];
  for (const each of [answered, silent]) {
    deadlines.add(each, performance.now());
  }
  // Stands for an answer that is read in a later turn than that of the timer.
  setTimeout(() => deadlines.remove(answered) && ends.push("answer"), 2);
  const stalled = performance.now() + 200;
  while (performance.now() < stalled);
  await over.promise;
  assertEquals(ends, ["answer", "silent expired"]);
});

Deno.test("Deadlines.remove() removes the given one, in any order, and only once", () => {
  const deadlines = new Deadlines();
  const all = [5, 3, 1, 4, 2].map((due): Deadline => ({
    due: due * 1e6,
    expire: () => {},
  }));
  for (const deadline of all) deadlines.add(deadline, 0);
  const left = new Set(all);
  for (const at of [2, 0, 4, 3, 1]) {
    const deadline = all[at]!;
    assertEquals(deadlines.remove(deadline), true);
    assertEquals(deadlines.remove(deadline), false);
    left.delete(deadline);
    assertEquals(new Set(deadlines), left);
  }
  assertEquals(deadlines.size, 0);
  deadlines.clear();
});
