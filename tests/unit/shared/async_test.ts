import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  abortable,
  coalesce,
  forEachConcurrent,
  onAbort,
  queue,
  sleep,
  withDeadline,
  withTimeout,
} from "../../../shared/async.ts";
import { readAt } from "../../../shared/bytes.ts";
import { loadPackages } from "../../../shared/packages.ts";

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

Deno.test("queue() runs work in order, and what fails does not hold up the next", async () => {
  const inTurn = queue();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const all = [
    inTurn(() => first.promise.then(() => void seen.push("first"))),
    inTurn(() => Promise.reject(new Error("second"))),
    inTurn(() => Promise.resolve(void seen.push("third"))),
  ];
  first.resolve();
  const ends = await Promise.allSettled(all);
  assertEquals(ends.map(({ status }) => status === "fulfilled"), [
    true,
    false,
    true,
  ]);
  assertEquals(seen, ["first", "third"]);
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

Deno.test("readAt() reads on until it has all, or the file ends", async () => {
  const content = Uint8Array.from({ length: 10 }, (_, index) => index);
  const slow = { // gives at most three bytes at a time
    read(into: Uint8Array, offset: number, length: number, position: number) {
      const part = content.subarray(position, position + Math.min(length, 3));
      into.set(part, offset);
      return Promise.resolve({ bytesRead: part.length });
    },
  };
  const rows: [position: number, length: number, bytes: number[]][] = [
    [0, 10, [...content]],
    [4, 4, [4, 5, 6, 7]],
    [8, 10, [8, 9]],
    [10, 5, []],
    [3, 0, []],
  ];
  for (const [position, length, bytes] of rows) {
    assertEquals([...await readAt(slow, position, length)], bytes);
  }
});

Deno.test("loadPackages() says what to install where a module is missing, and passes other errors on", async () => {
  const found = () => Promise.resolve({ answer: 42 });
  assertEquals((await loadPackages("count", ["abacus"], found)).answer, 42);
  const missing: string = "./not_there.ts";
  const load = () => import(missing);
  const other = () => Promise.reject(new RangeError("too many"));
  const rows: [
    packages: string[],
    load: () => Promise<object>,
    says: string,
  ][] = [
    [
      ["abacus"],
      load,
      "Cannot count: the package abacus is not installed; install it: npm install abacus",
    ],
    [
      ["abacus", "beads@1.0.0"],
      load,
      "Cannot count: not all packages that it needs are installed; install them: npm install abacus beads@1.0.0",
    ],
    [["abacus"], other, "too many"],
  ];
  for (const [packages, load, says] of rows) {
    const run = () => loadPackages("count", packages, load);
    const error = await assertRejects(run, Error, says);
    assertEquals(error instanceof RangeError, load === other);
  }
});
