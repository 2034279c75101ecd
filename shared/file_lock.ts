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
import { hostname } from "node:os";
import process from "node:process";
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
  const owner = await thisProcess();
  const text = JSON.stringify({ id: randomUUID(), ...owner });
  await take(path, text, signal, times);
  let touched = Promise.resolve();
  const timer = setInterval(() => {
    const now = new Date();
    touched = fs.utimes(path, now, now).catch(() => {});
  }, times.touchMs);
  const isHeld = async () =>
    await fs.readFile(path, "utf8").catch(() => undefined) === text;
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

// ------------------------------------------------------------------ who holds it

/**
 * A process: its number and its start, at the place where the number means something: a machine since its boot,
 * and on Linux the container, too. Of another place nothing is known.
 */
interface LockOwner {
  /** Where its number is its own. */
  readonly place: string;
  readonly pid: number;
  /** When it started, in the units of the system; absent where it cannot be asked for. */
  readonly start?: string;
}

/** Returns this process; undefined where it cannot be known, such as without permissions. */
export const thisProcess = (): Promise<LockOwner | undefined> =>
  found ??= findThisProcess();

let found: Promise<LockOwner | undefined> | undefined;

async function findThisProcess(): Promise<LockOwner | undefined> {
  if (!mayAsk()) return undefined;
  const { pid, platform } = process;
  try {
    if (platform !== "linux") {
      return { place: `${platform} ${hostname()}`, pid };
    }
    const boot = await fs.readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const spaces = ["pid", "time"].map((kind) =>
      fs.readlink(`/proc/self/ns/${kind}`)
    );
    const place = [boot.trim(), ...await Promise.all(spaces)].join(" ");
    const { start } = await procStat(pid);
    return { place, pid, start };
  } catch {
    return undefined;
  }
}

/** Returns whether a process has ended for certain. */
export async function hasEnded(owner: LockOwner): Promise<boolean> {
  const here = await thisProcess();
  if (owner.place !== here?.place) return false;
  try {
    process.kill(owner.pid, 0); // is no signal
  } catch (error) {
    if (Object(error).code === "ESRCH") return true;
  }
  if (owner.start === undefined) return false;
  try {
    const { state, start } = await procStat(owner.pid);
    // Another process has its number, or nothing has collected it yet.
    return start !== owner.start || state === "Z" || state === "X";
  } catch {
    return false; // hidden, or it ends right now
  }
}

/** Reads the state and the start of a process from Linux. */
async function procStat(
  pid: number,
): Promise<{ state: string; start: string }> {
  const text = await fs.readFile(`/proc/${pid}/stat`, "utf8");
  // The name of the program may have spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  const start = fields[19];
  if (!state || !start) throw new Error(`/proc/${pid}/stat has another form`);
  return { state, start };
}

/** Returns whether processes can be asked about without a prompt of Deno. */
function mayAsk(): boolean {
  const { permissions } = Object(Reflect.get(globalThis, "Deno"));
  return permissions === undefined ||
    [{ name: "run" }, { name: "sys", kind: "hostname" }].every((permission) =>
      permissions.querySync(permission).state === "granted"
    );
}

/** Reads a process from what {@linkcode thisProcess} returned as JSON; undefined for anything else. */
function readOwner(data: unknown): LockOwner | undefined {
  const { place, pid, start } = Object(data);
  if (typeof place !== "string" || !Number.isSafeInteger(pid) || pid <= 0) {
    return undefined;
  }
  return { place, pid, ...(typeof start === "string" && { start }) };
}
