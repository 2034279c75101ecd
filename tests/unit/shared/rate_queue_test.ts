import { assert, assertEquals, assertRejects } from "@std/assert";
import { RateQueue } from "../../../shared/async.ts";
import { TestClock } from "../../support/clock.ts";

/** Lets everything run that waits for nothing but its turn. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

const { signal } = new AbortController();

/** Asserts that a Server that allows 100 a second, and as many at once, refuses none. */
function assertAllowed(begun: readonly number[], allowance: number) {
  let before = begun[0] ?? 0;
  for (const at of begun) {
    allowance = Math.min(100, allowance + (at - before) / 10) - 1;
    before = at;
    assert(allowance >= 0, `refused at ${at} ms`);
  }
}

Deno.test("RateQueue begins 400 calls at 90 a second, which a Server with a limit of 100 lets through", async () => {
  using clock = new TestClock();
  const queue = new RateQueue(90, 1000);
  const begun: number[] = [];
  const calls = Array.from(
    { length: 400 },
    () => queue.run(() => Promise.resolve(begun.push(clock.time)), signal),
  );
  do await clock.settled(); while (clock.next());
  await Promise.all(calls);
  assertEquals(begun.length, 400);
  assertAllowed(begun, 100);
  const lastAt = begun.at(-1) ?? 0;
  assert(lastAt >= 3400 && lastAt <= 3700, `${lastAt}`);
});

Deno.test("RateQueue runs no more at once than allowed, in the order in which they came", async () => {
  const queue = new RateQueue(Infinity, 3);
  const order: number[] = [];
  let running = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      queue.run(async () => {
        order.push(i);
        most = Math.max(most, ++running);
        await settled();
        running--;
      }, signal)),
  );
  assertEquals(most, 3);
  assertEquals(order, Array.from({ length: 20 }, (_, i) => i));
});

Deno.test("RateQueue gives the turn of a call that failed to the next one", async () => {
  const queue = new RateQueue(Infinity, 1);
  const failing = queue.run(() => Promise.reject(new Error("no")), signal);
  const next = queue.run(() => Promise.resolve("yes"), signal);
  await assertRejects(() => failing, Error, "no");
  assertEquals(await next, "yes");
});

Deno.test("RateQueue forgets a call that is cancelled while it waits, and its timer", async () => {
  using clock = new TestClock();
  const queue = new RateQueue(1, 10);
  await queue.run(() => Promise.resolve(), signal);
  const abort = new AbortController();
  let hasRun = false;
  const waiting = queue.run(() => {
    hasRun = true;
    return Promise.resolve();
  }, abort.signal);
  await clock.settled();
  assertEquals(clock.timers, 1);
  abort.abort(new Error("changed my mind"));
  await assertRejects(() => waiting, Error, "changed my mind");
  assertEquals([clock.timers, hasRun], [0, false]);
  await assertRejects(
    () => queue.run(() => Promise.resolve(), abort.signal),
    Error,
    "changed my mind",
  );
});

Deno.test("RateQueue sends at a rate that is learned from a refusal, and bursts no more than the Server allows later", async () => {
  using clock = new TestClock();
  const queue = new RateQueue();
  for (let i = 0; i < 1000; i++) assert(queue.tryBegin());
  queue.limitRate(90, 10); // the Server has room for one in 10 ms
  const begun: number[] = [];
  const send = (count: number) =>
    Array.from(
      { length: count },
      () => queue.run(() => Promise.resolve(begun.push(clock.time)), signal),
    );
  const from = clock.time;
  const first = send(200);
  do await clock.settled(); while (clock.next());
  await Promise.all(first);
  assert((begun[0] ?? 0) - from >= 10, `${begun[0]}`);
  assertAllowed(begun, 1);
  clock.pass(5_000); // the Server has room for 100
  const later = send(200);
  do await clock.settled(); while (clock.next());
  await Promise.all(later);
  assertAllowed(begun, 1);
  assertEquals(begun.length, 400);
});

Deno.test("RateQueue keeps order when it learns how much may run at once", async () => {
  const queue = new RateQueue();
  assert(queue.tryBegin());
  assert(queue.tryBegin());
  queue.limitAtOnce(1);
  const order: number[] = [];
  const waiting = [1, 2, 3].map((each) =>
    queue.run(() => Promise.resolve(order.push(each)), signal)
  );
  queue.end();
  await settled();
  assertEquals(order, []);
  queue.end();
  assertEquals(queue.tryBegin(), false); // others came first
  await Promise.all(waiting);
  assertEquals(order, [1, 2, 3]);
});
