import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  abortable,
  coalesce,
  forEachConcurrent,
  onAbort,
  sleep,
  withDeadline,
  withTimeout,
} from "../../../shared/async.ts";

const never = new Promise<never>(() => {});

Deno.test("onAbort() calls back once: at once, at the abort, or never", () => {
  const calls: string[] = [];
  const first = new AbortController();
  onAbort(first.signal, () => calls.push("heard"));
  onAbort(first.signal, () => calls.push("stopped"))();
  onAbort(undefined, () => calls.push("without a signal"))();
  assertEquals(calls, []);
  first.abort();
  assertEquals(calls, ["heard"]);
  onAbort(first.signal, () => calls.push("at once"))();
  assertEquals(calls, ["heard", "at once"]);
});

Deno.test("abortable() settles like the work, or rejects with the reason of the abort", async () => {
  const abort = new AbortController();
  assertEquals(await abortable(Promise.resolve(7), abort.signal), 7);
  const failed = abortable(Promise.reject(new Error("no")), abort.signal);
  await assertRejects(() => failed, Error, "no");
  const stopped = abortable(never, abort.signal);
  abort.abort(new Error("enough"));
  await assertRejects(() => stopped, Error, "enough");
  await assertRejects(() => abortable(never, abort.signal), Error, "enough");
});

Deno.test("sleep() ends with its time or with the abort, and leaves no timer", async () => {
  await sleep(0, new AbortController().signal);
  const abort = new AbortController();
  const asleep = sleep(1_000_000, abort.signal);
  abort.abort(new Error("wake up"));
  await assertRejects(() => asleep, Error, "wake up");
  await assertRejects(() => sleep(0, abort.signal), Error, "wake up");
});

Deno.test("withDeadline() waits for work that cleans up, and says why it was ended", async () => {
  let cleaned = 0;
  const work = async (signal: AbortSignal): Promise<never> => {
    try {
      return await abortable(never, signal);
    } finally {
      await Promise.resolve();
      cleaned++;
    }
  };
  const error = () => new Error("too late");
  await assertRejects(() => withDeadline(1, work, { error }), Error, "late");
  assertEquals(cleaned, 1);
  const abort = new AbortController();
  const { signal } = abort;
  const stopped = withDeadline(1_000_000, work, { signal, error });
  abort.abort(new Error("enough"));
  await assertRejects(() => stopped, Error, "enough");
  assertEquals(cleaned, 2);
});

Deno.test("withTimeout() returns the result of the work, or aborts it and states the limit", async () => {
  assertEquals(await withTimeout(60_000, () => Promise.resolve(7)), 7);
  let aborted = false;
  await assertRejects(
    () =>
      withTimeout(1, (signal) => {
        signal.addEventListener("abort", () => aborted = true);
        return new Promise(() => {});
      }),
    Error,
    "it took longer than 0.001 s",
  );
  assert(aborted);
});

Deno.test("forEachConcurrent() respects its limit, and starts nothing after a failure", async () => {
  let running = 0;
  let most = 0;
  const begun: number[] = [];
  const items = Array.from({ length: 20 }, (_, i) => i);
  await assertRejects(
    () =>
      forEachConcurrent(items, 3, async (item) => {
        begun.push(item);
        most = Math.max(most, ++running);
        await Promise.resolve();
        running--;
        if (item === 5) throw new Error("five");
      }),
    Error,
    "five",
  );
  assertEquals(most, 3);
  assert(begun.length < 10, begun.join());
  await forEachConcurrent(
    [],
    3,
    () => Promise.reject(new Error("never called")),
  );
});

Deno.test("coalesce() runs once at a time, and once more for triggers in between", async () => {
  const gates: (() => void)[] = [];
  let done = Promise.withResolvers<void>();
  const trigger = coalesce(async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gates.push(resolve);
    await promise;
    done.resolve();
  });
  trigger();
  trigger();
  trigger();
  assertEquals(gates.length, 1);
  gates[0]?.();
  await done.promise;
  await Promise.resolve();
  assertEquals(gates.length, 2);
  done = Promise.withResolvers();
  gates[1]?.();
  await done.promise;
  await Promise.resolve();
  assertEquals(gates.length, 2);
});
