/**
 * A lock between all processes that use a file: a file beside it, which exists while a process holds it.
 *
 * The holder touches it again and again. One that is not touched any more was left behind by a
 * process that ended, and is removed by the next that waits.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import * as fs from "node:fs/promises";
import { sleep } from "./async.ts";

/** When a lock is touched, looked at, and given up. */
export interface LockTimes {
  /** The time between two touches of its holder. */
  readonly touchMs: number;
  /** The time between two looks of one who waits. */
  readonly lookMs: number;
  /** The looks without a touch after which it counts as left behind. */
  readonly staleLooks: number;
  /** The longest wait. */
  readonly waitMs: number;
}

const TIMES: LockTimes = {
  touchMs: 1_000,
  lookMs: 25,
  staleLooks: 200, // about 5 s
  waitMs: 60_000,
};

/**
 * Runs work while nothing else holds the lock, in this process or another one.
 *
 * @param path of the lock, in a directory that exists
 * @param work gets what looks whether the lock is held still: a process that was stopped for long may have
 * lost it
 * @param signal stops waiting; default: only the end of the longest wait does
 * @throws what `work` throws; an error when the lock cannot be had in time
 */
export async function withFileLock<T>(
  path: string,
  work: (isHeld: () => Promise<boolean>) => Promise<T>,
  signal: AbortSignal = new AbortController().signal,
  times: LockTimes = TIMES,
): Promise<T> {
  const id = randomUUID();
  await take(path, id, signal, times);
  let touched = Promise.resolve();
  const timer = setInterval(() => {
    const now = new Date();
    touched = fs.utimes(path, now, now).catch(() => {});
  }, times.touchMs);
  const isHeld = async () =>
    await fs.readFile(path, "utf8").catch(() => undefined) === id;
  try {
    return await work(isHeld);
  } finally {
    clearInterval(timer);
    await touched;
    if (await isHeld()) await fs.rm(path, { force: true });
  }
}

async function take(
  path: string,
  id: string,
  signal: AbortSignal,
  { lookMs, staleLooks, waitMs }: LockTimes,
): Promise<void> {
  const end = performance.now() + waitMs;
  let mark: string | undefined;
  let looks = 0;
  while (!await create(path, id)) {
    if (performance.now() >= end) {
      throw new Error(
        `another process has held ${path} for ${
          waitMs / 1000
        } s; end it, or remove that file`,
      );
    }
    // By looks, not by a clock: that of the disk may differ, and after a pause of the whole machine
    // the holder has had no time either.
    const seen = await markOf(path);
    looks = seen === mark ? looks + 1 : 0;
    mark = seen;
    if (seen !== undefined && looks >= staleLooks) await discard(path, seen);
    else await sleep(lookMs, signal);
  }
}

async function create(path: string, id: string): Promise<boolean> {
  try {
    await fs.writeFile(path, id, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (Object(error).code === "EEXIST") return false;
    throw error;
  }
}

/** Returns what changes with each holder and each touch; undefined where there is no lock. */
async function markOf(path: string): Promise<string | undefined> {
  const found = await fs.stat(path).catch(() => undefined);
  return found && `${found.ino} ${found.mtimeMs}`;
}

/** Removes a lock that was left behind, unless it is another one by now. */
async function discard(path: string, mark: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await fs.rename(path, aside);
    // Another process was faster: this is the lock of the next holder.
    if (await markOf(aside) !== mark) await fs.link(aside, path);
  } catch {
    // Gone, or there is a new one: the next look shows which.
  } finally {
    await fs.rm(aside, { force: true });
  }
}
