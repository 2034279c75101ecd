import { assert, assertEquals, assertRejects } from "@std/assert";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import {
  hasEnded,
  type LockTimes,
  thisProcess,
  withFileLock,
} from "../../../shared/file_lock.ts";
import { type Child, start } from "../../support/child.ts";
import { scratch } from "../../support/scratch.ts";

const { signal } = new AbortController();

/** Times with which a test does not wait. */
const QUICK: LockTimes = {
  touchMs: 5,
  lookMs: 1,
  staleLooks: 40,
  waitMs: 60_000,
};

Deno.test("a lock that a process left behind is removed, by one of many that wait", async () => {
  await using folder = await scratch();
  const lock = join(folder.path, "lock");
  await writeFile(lock, "of a process that was killed");
  // The clock of the disk may be ahead.
  const later = new Date(Date.now() + 3_600_000);
  await utimes(lock, later, later);
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await readdir(folder.path);
    running--;
  };
  await Promise.all(
    Array.from({ length: 8 }, () => withFileLock(lock, work, signal, QUICK)),
  );
  assertEquals(most, 1);
  assertEquals(await readdir(folder.path), []);
});

Deno.test("a lock whose holder lives is waited for, but not for ever", async () => {
  await using folder = await scratch();
  const lock = join(folder.path, "lock");
  const end = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holder = withFileLock(
    lock,
    () => {
      held.resolve();
      return end.promise;
    },
    signal,
    QUICK,
  );
  await held.promise;
  const error = await assertRejects(
    () =>
      withFileLock(lock, () => Promise.resolve(), signal, {
        ...QUICK,
        staleLooks: 60_000,
        waitMs: 20,
      }),
    Error,
    `another process (${process.pid}) has held`,
  );
  assert(error.message.includes(lock), "names what to remove");
  const stop = new AbortController();
  const waiting = withFileLock(lock, () => Promise.resolve(), stop.signal);
  stop.abort(new Error("closed"));
  await assertRejects(() => waiting, Error, "closed");
  end.resolve();
  await holder;
  assertEquals(await readdir(folder.path), []);
});

/** Times of one who never takes a lock for left behind because it is not touched. */
const BY_OWNER: LockTimes = { ...QUICK, touchMs: 1_000, staleLooks: 1_000_000 };

const startHolder = (...args: readonly string[]): Child =>
  start(Deno.execPath(), [
    ...["run", "--no-check", "-A", "--quiet", "--config", "tests/deno.json"],
    "tests/support/fixtures/lock_holder.ts",
    ...args,
  ], { cwd: new URL("../../../", import.meta.url) });

/** Kills a process that holds a lock; returns what it leaves in the file. */
async function killHolder(lock: string): Promise<string> {
  await using holder = startHolder(lock);
  await holder.line(/held/);
  holder.signal("SIGKILL");
  await holder.status;
  return await readFile(lock, "utf8");
}

Deno.test("the lock of a process that was killed is taken at once, also where it was killed while it took that of another", async () => {
  await using folder = await scratch();
  const lock = join(folder.path, "lock");
  const left = await killHolder(lock);
  await withFileLock(lock, () => Promise.resolve(), signal, BY_OWNER);
  assertEquals(await readdir(folder.path), []);
  for (const name of ["lock", "lock.left", "lock.left.left"]) {
    await writeFile(join(folder.path, name), left);
  }
  await withFileLock(lock, () => Promise.resolve(), signal, BY_OWNER);
  assertEquals(await readdir(folder.path), []);
});

Deno.test("of many processes that start after one was killed, one at a time takes its lock", async () => {
  await using folder = await scratch();
  const lock = join(folder.path, "lock");
  const left = await killHolder(lock);
  const children = [startHolder(lock, left), startHolder(lock, left)];
  for (const child of children) {
    assert((await child.status).success, child.lines.join("\n"));
  }
  assertEquals(await readdir(folder.path), ["lock"]);
  assertEquals(await readFile(lock, "utf8"), left);
});

Deno.test("a process has ended where its number is free or another's; of those elsewhere nothing is known", async () => {
  const own = await thisProcess();
  assert(own !== undefined);
  assertEquals(await hasEnded(own), false);
  await using folder = await scratch();
  const left = JSON.parse(await killHolder(join(folder.path, "lock")));
  assertEquals(left.place, own.place);
  assertEquals(await hasEnded(left), true);
  assertEquals(await hasEnded({ ...left, place: "another container" }), false);
  // Where the system shows no start, a number that is in use is its owner.
  const later = { place: own.place, pid: own.pid };
  assertEquals(await hasEnded(later), false);
  const another = { ...later, start: "1" };
  assertEquals(await hasEnded(another), Deno.build.os === "linux");
});
