/**
 * Which process holds a lock, and whether it has ended: one that was killed leaves its lock behind.
 *
 * A process is known by its number and its start, at the place where that number means something: a machine
 * since its boot, and on Linux the container, too. Of another place nothing is known.
 *
 * @module
 */
import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import process from "node:process";

/** A process. */
export interface LockOwner {
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
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    const spaces = ["pid", "time"].map((kind) =>
      readlink(`/proc/self/ns/${kind}`)
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
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
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
export function readOwner(data: unknown): LockOwner | undefined {
  const { place, pid, start } = Object(data);
  if (typeof place !== "string" || !Number.isSafeInteger(pid) || pid <= 0) {
    return undefined;
  }
  return { place, pid, ...(typeof start === "string" && { start }) };
}
