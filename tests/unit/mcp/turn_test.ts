import { assert, assertEquals, assertRejects } from "@std/assert";
import { CallQueue, type Clock } from "../../../mcp/office/turn.ts";

/** A clock that stands still until it is told. */
class HandClock implements Clock {
  #now = 0;
  #timer: { at: number; run: () => void } | undefined;

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = this.#timer = { at: this.#now + ms, run };
    return () => {
      if (this.#timer === timer) this.#timer = undefined;
    };
  }

  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  /** Goes to the time of the next timer, if there is one. */
  async tick(): Promise<boolean> {
    await settled();
    const timer = this.#timer;
    if (!timer) return false;
    this.#timer = undefined;
    this.#now = timer.at;
    timer.run();
    await settled();
    return true;
  }
}

/** Lets everything run that waits for nothing but its turn. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

const { signal } = new AbortController();

Deno.test("CallQueue begins 400 calls at 90 a second, which a Server with a limit of 100 lets through", async () => {
  const clock = new HandClock();
  const queue = new CallQueue({ perSecond: 90, running: 1000 }, clock);
  const begun: number[] = [];
  const calls = Array.from(
    { length: 400 },
    () => queue.run(() => Promise.resolve(begun.push(clock.now())), signal),
  );
  while (await clock.tick());
  await Promise.all(calls);
  assertEquals(begun.length, 400);
  // A Server that allows 100 a second, and as many at once, refuses none of them.
  let [allowance, before] = [100, 0];
  for (const at of begun) {
    allowance = Math.min(100, allowance + (at - before) / 10) - 1;
    before = at;
    assert(allowance >= 0, `refused at ${at} ms`);
  }
  const lastAt = begun.at(-1) ?? 0;
  assert(lastAt >= 3400 && lastAt <= 3700, `${lastAt}`);
});

Deno.test("CallQueue runs no more at once than allowed, in the order in which they came", async () => {
  const queue = new CallQueue({ perSecond: Infinity, running: 3 });
  const order: number[] = [];
  let [running, most] = [0, 0];
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

Deno.test("CallQueue gives the turn of a call that failed to the next one", async () => {
  const queue = new CallQueue({ perSecond: Infinity, running: 1 });
  const failing = queue.run(() => Promise.reject(new Error("no")), signal);
  const next = queue.run(() => Promise.resolve("yes"), signal);
  await assertRejects(() => failing, Error, "no");
  assertEquals(await next, "yes");
});

Deno.test("CallQueue forgets a call that is cancelled while it waits, and its timer", async () => {
  const clock = new HandClock();
  const queue = new CallQueue({ perSecond: 1, running: 10 }, clock);
  await queue.run(() => Promise.resolve(), signal);
  const abort = new AbortController();
  let hasRun = false;
  const waiting = queue.run(() => {
    hasRun = true;
    return Promise.resolve();
  }, abort.signal);
  await settled();
  assert(clock.isWaiting);
  abort.abort(new Error("changed my mind"));
  await assertRejects(() => waiting, Error, "changed my mind");
  assertEquals([queue.waiting, clock.isWaiting, hasRun], [0, false, false]);
  await assertRejects(
    () => queue.run(() => Promise.resolve(), abort.signal),
    Error,
    "changed my mind",
  );
});
