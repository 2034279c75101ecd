/**
 * A lock between all processes that use a file: a file beside it, which exists while a process holds it.
 *
 * It names its holder: that of a process which has ended is removed at once. Where that cannot be known, as on
 * another machine or in another container, the holder's touches show that it goes on: a lock that is not touched
 * any more was left behind, too.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import * as fs from "node:fs/promises";
import { sleep } from "./async.ts";
import {
  hasEnded,
  type LockOwner,
  readOwner,
  thisProcess,
} from "./lock_owner.ts";

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
 * @param signal stops waiting; default: only the end of the longest wait does
 * @throws what `work` throws; an error when the lock cannot be had in time
 */
export async function withFileLock<T>(
  path: string,
  work: () => Promise<T>,
  signal: AbortSignal = new AbortController().signal,
  times: LockTimes = TIMES,
): Promise<T> {
  const owner = await thisProcess();
  const text = JSON.stringify({ id: randomUUID(), ...owner });
  await take(path, text, signal, times);
  let touched = Promise.resolve();
  const timer = setInterval(() => {
    const now = new Date();
    touched = fs.utimes(path, now, now).catch(() => {});
  }, times.touchMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await touched;
    const holder = await fs.readFile(path, "utf8").catch(() => undefined);
    if (holder === text) await fs.rm(path, { force: true });
  }
}

async function take(
  path: string,
  text: string,
  signal: AbortSignal,
  times: LockTimes,
): Promise<void> {
  const { lookMs, staleLooks, waitMs } = times;
  const end = performance.now() + waitMs;
  let mark: string | undefined;
  let looks = 0;
  while (!await create(path, text)) {
    const seen = await look(path);
    if (performance.now() >= end) {
      const { pid } = seen?.owner ?? {};
      throw new Error(
        `another process${
          pid === undefined ? "" : ` (${pid})`
        } has held ${path} for ${waitMs / 1000} s; end it, or remove that file`,
      );
    }
    // By looks, not by a clock: that of the disk may differ, and after a pause of the whole machine
    // the holder has had no time either.
    looks = seen?.mark === mark ? looks + 1 : 0;
    mark = seen?.mark;
    const isLeft = seen !== undefined &&
      (looks >= staleLooks || seen.owner && await hasEnded(seen.owner));
    if (isLeft && await discard(path, seen, signal, times)) continue;
    await sleep(lookMs, signal);
  }
}

async function create(path: string, text: string): Promise<boolean> {
  try {
    await fs.writeFile(path, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (Object(error).code === "EEXIST") return false;
    throw error;
  }
}

/** A lock of another holder. */
interface SeenLock {
  /** Changes with each holder and each touch. */
  readonly mark: string;
  readonly owner: LockOwner | undefined;
}

/** Returns the lock that there is; undefined where there is none any more. */
async function look(path: string): Promise<SeenLock | undefined> {
  try {
    const text = await fs.readFile(path, "utf8");
    const { ino, mtimeMs } = await fs.stat(path);
    return { mark: `${ino} ${mtimeMs} ${text}`, owner: ownerOf(text) };
  } catch {
    return undefined; // on Windows also one that is being removed
  }
}

function ownerOf(text: string): LockOwner | undefined {
  try {
    return readOwner(JSON.parse(text));
  } catch {
    return undefined; // not written yet, or by an older version
  }
}

/**
 * Removes a lock that was left behind, unless it is another one by now; returns whether it is gone.
 *
 * One process at a time does so, under a lock of its own: otherwise one that has looked before could remove the
 * lock of the next holder.
 */
const discard = (
  path: string,
  { mark }: SeenLock,
  signal: AbortSignal,
  times: LockTimes,
): Promise<boolean> =>
  withFileLock(
    `${path}.left`,
    async () => {
      if ((await look(path))?.mark !== mark) return true;
      return await fs.rm(path, { force: true }).then(() => true, () => false);
    },
    signal,
    times,
  );
