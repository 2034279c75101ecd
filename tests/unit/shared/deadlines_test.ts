import { assertEquals } from "@std/assert";
import { Deadlines } from "../../../shared/deadlines.ts";

/** Resolves with the names of what was called back, when `count` were. */
function recorder(count: number) {
  const called: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const late = (name: string) => () => {
    if (called.push(name) === count) resolve(called);
  };
  return { called, late, all: promise };
}

Deno.test("Deadlines calls back in the order of the deadlines, and leaves out what was removed", async () => {
  const deadlines = new Deadlines();
  const { late, all } = recorder(3);
  const removed = late("removed");
  deadlines.add(late("third"), 30);
  deadlines.add(removed, 5);
  deadlines.add(late("first"), 1);
  deadlines.add(late("second"), 10);
  assertEquals(deadlines.remove(removed), true);
  assertEquals(deadlines.remove(removed), false);
  const busyUntil = performance.now() + 40; // so that all are due in one turn
  while (performance.now() < busyUntil);
  assertEquals(await all, ["first", "second", "third"]);
});

Deno.test("Deadlines.end() calls all back once, and takes more after that", async () => {
  const deadlines = new Deadlines();
  const { called, late, all } = recorder(3);
  deadlines.add(late("a"), 60_000);
  deadlines.add(late("b"), 1);
  deadlines.end();
  assertEquals(called, ["a", "b"]);
  deadlines.add(late("c"), 1);
  assertEquals(await all, ["a", "b", "c"]);
});

Deno.test("Deadlines.release() leaves no timer, at once or after the last that waits", () => {
  // The leak checks of the runner see a timer that stays.
  const idle = new Deadlines();
  const late = () => {};
  idle.add(late, 60_000);
  idle.remove(late);
  idle.release();

  const busy = new Deadlines();
  busy.add(late, 60_000);
  busy.release();
  busy.remove(late);
});

Deno.test("Deadlines calls what one callback removes from another no more", async () => {
  const deadlines = new Deadlines();
  const called: string[] = [];
  const other = () => called.push("other");
  await new Promise<void>((resolve) => {
    deadlines.add(() => {
      called.push("one");
      deadlines.remove(other);
      resolve();
    }, 1);
    deadlines.add(other, 1);
  });
  deadlines.release();
  assertEquals(called, ["one"]);
});
