import { assert, assertEquals } from "@std/assert";
import { type Deadline, Deadlines } from "../../../shared/deadlines.ts";
import {
  hurryTimers,
  keepsRunning,
  watchTimers,
} from "../../support/timers.ts";

/** Deadlines that note their names when they expire, and the end of all. */
function noted() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const ends: string[] = [];
  const at = (due: number, name: string, then = () => {}): Deadline => ({
    due,
    expire: () => {
      ends.push(name);
      then();
      if (name.startsWith("last")) resolve();
    },
  });
  return { ends, at, over: promise, deadlines: new Deadlines() };
}

Deno.test("Deadlines has one timer, for the earliest of them, and expires those that are due", async () => {
  using _running = keepsRunning();
  using timers = hurryTimers(10_000, 20_000, 5_000, 15_000);
  const { ends, at, over, deadlines } = noted();
  const taken = at(5_000, "taken back");
  const all = [at(10_000, "2"), at(20_000, "3"), taken, at(5_000, "last: 1")];
  for (const each of all) deadlines.add(each, 0);
  assertEquals(timers.armed, [10_000, 5_000]);
  deadlines.remove(taken);
  await over;
  assertEquals(ends, ["last: 1"]);
  deadlines.clear();
});

Deno.test("Deadlines continues with the next one after the earliest, also when that was removed or added while others expire", async () => {
  using _running = keepsRunning();
  const { ends, at, over, deadlines } = noted();
  const now = performance.now();
  const removed = at(now + 1, "removed");
  const last = at(now + 4, "last");
  const all = [
    removed,
    at(now + 2, "2", () => deadlines.add(last, now)),
    at(now + 3, "3"),
  ];
  for (const deadline of all) deadlines.add(deadline, now);
  deadlines.remove(removed);
  await over;
  assertEquals(ends, ["2", "3", "last"]);
});

Deno.test("Deadlines sets no negative delay when the next one is overdue, since Node warns of it", async () => {
  using _running = keepsRunning();
  const delays: (number | undefined)[] = [];
  using _ = watchTimers((delay) => delays.push(delay));
  const { at, over, deadlines } = noted();
  const now = performance.now();
  // Overdue by the time that the first one has expired.
  const last = at(now - 500, "last");
  deadlines.add(at(now - 1000, "1", () => deadlines.add(last, now)), now);
  await over;
  assertEquals(delays.filter((delay) => !(delay! >= 0)), []);
  assert(delays.length >= 2);
});

Deno.test("Deadlines wait for what came in time while the process was stalled", async () => {
  using _running = keepsRunning();
  const { ends, at, over, deadlines } = noted();
  const now = performance.now();
  const answered = at(now + 1, "last: answered");
  for (const each of [answered, at(now + 1, "last: silent")]) {
    deadlines.add(each, now);
  }
  // Stands for an answer that is read in a later turn than that of the timer.
  setTimeout(() => deadlines.remove(answered) && ends.push("answer"), 2);
  while (performance.now() < now + 200);
  await over;
  assertEquals(ends, ["answer", "last: silent"]);
});

Deno.test("Deadlines.remove() removes the given one, in any order, and only once", () => {
  const { at, deadlines } = noted();
  const all = [5, 3, 1, 4, 2].map((due) => at(due * 1e6, ""));
  for (const deadline of all) deadlines.add(deadline, 0);
  const left = new Set(all);
  for (const index of [2, 0, 4, 3, 1]) {
    const deadline = all[index]!;
    assertEquals(deadlines.remove(deadline), true);
    assertEquals(deadlines.remove(deadline), false);
    left.delete(deadline);
    assertEquals(new Set(deadlines), left);
  }
  deadlines.clear();
});

Deno.test("Deadlines.end() expires all once, and takes more after that", async () => {
  const { ends, at, over } = noted();
  const deadlines = new Deadlines(true);
  const now = performance.now();
  deadlines.add(at(now + 60_000, "a"), now);
  deadlines.add(at(now + 1, "b"), now);
  deadlines.end();
  assertEquals(ends, ["a", "b"]);
  deadlines.add(at(now + 1, "last: c"), now);
  await over;
  assertEquals(ends, ["a", "b", "last: c"]);
});

Deno.test("Deadlines.release() leaves no timer, immediately or after the last removal", () => {
  // The leak checks of the runner see a timer that stays.
  const { at } = noted();
  const idle = new Deadlines(true);
  const deadline = at(60_000, "");
  idle.add(deadline, 0);
  idle.remove(deadline);
  idle.release();

  const busy = new Deadlines(true);
  busy.add(deadline, 0);
  busy.release();
  busy.remove(deadline);
});

Deno.test("Deadlines does not expire what another one removes as it expires", async () => {
  using _running = keepsRunning();
  const { ends, at, over, deadlines } = noted();
  const due = performance.now() + 1;
  const other = at(due, "other");
  deadlines.add(at(due, "last", () => deadlines.remove(other)), due - 1);
  deadlines.add(other, due - 1);
  await over;
  deadlines.clear();
  assertEquals(ends, ["last"]);
});
