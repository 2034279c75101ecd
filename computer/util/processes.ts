/**
 * Child processes: their group and guard, so that nothing of them is left, and the marks by which
 * leftovers of ended processes are found.
 *
 * @module
 */
import process from "node:process";
import { hostname } from "node:os";
import { join } from "node:path";
import { lstat, readdir, rm } from "node:fs/promises";
import { randomUUID } from "node:crypto";
import { type ChildProcess, spawn } from "node:child_process";
import { log } from "./log.ts";
import { reasonOf } from "./values.ts";

/** Environment variable that marks a child, and by inheritance everything that it starts. */
const MARK_VARIABLE = "A2C_SMCP_CHILD";

/** How long processes may take to end before they are signalled, and after SIGTERM. */
export const EXIT_GRACE_MS = 2_000;

/** One step of the script's waits. */
const STEP_MS = 50;

/**
 * Reads a group id from stdin and waits for the end of stdin; then ends that group and, on Linux,
 * every process with the mark, even in other groups: SIGTERM, and SIGKILL for what is left in a while.
 *
 * Without the word `end` before, this process has died: its children see the end of their input then,
 * and get the same while before SIGTERM. SIGKILL is repeated, since a process may fork meanwhile.
 *
 * Zombies are left out, since they may never be collected. Only SIGKILL is sent twice: many programs
 * take a second SIGTERM for an order to drop their clean-up.
 */
const SCRIPT = `
trap "" HUP INT TERM
mark=$1
steps=$2
read -r group
word=
while read -r line; do word=$line; done
member="\\) [^ZX] [0-9]+ \${group:-none} "
left() {
  if [ -r /proc/self/stat ]; then
    grep -lsE -e "$mark" -e "$member" /proc/[0-9]*/environ /proc/[0-9]*/stat | cut -d/ -f3 | sort -u
  elif [ -n "$group" ] && kill -s 0 -- "-$group"; then
    echo "-$group"
  fi
}
signal() {
  for one in $(left); do kill -s "$1" -- "$one"; done
}
ended() {
  step=0
  while [ -n "$(left)" ]; do
    [ $step -lt "$steps" ] || return 1
    if [ $step -lt 10 ]; then wait=1 nap=0.05; else wait=5 nap=0.25; fi
    sleep $nap || { sleep 1; wait=20; }
    step=$((step + wait))
  done
}
[ "$word" = end ] || ended
signal TERM
ended && exit
i=0
while [ $i -lt 50 ] && [ -n "$(left)" ]; do
  signal KILL
  i=$((i + 1))
  sleep 0.02 || sleep 1
done
`;

/**
 * Ends everything that one child started, even if this process is killed.
 *
 * The guard is a shell that reads from a pipe: the pipe is closed by {@linkcode end}, or by the
 * system when this process is gone, even by SIGKILL. Without a shell, or without permission to run
 * it, this process signals the child's group itself.
 */
export class ProcessGuard {
  /** Variables that the child must get in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #graceMs: number;
  readonly #watcher: ChildProcess | undefined;
  /** Resolves when the shell has exited. */
  readonly #exited = Promise.withResolvers<void>();
  #child: ChildProcess | undefined;
  #ended: Promise<void> | undefined;

  /**
   * Starts the guarding shell.
   *
   * @param graceMs how long the child's processes may take to end after SIGTERM
   */
  constructor(graceMs: number = EXIT_GRACE_MS) {
    const id = randomUUID();
    this.#graceMs = graceMs;
    this.environment = HAS_GROUPS ? { [MARK_VARIABLE]: id } : {};
    this.#watcher = HAS_GROUPS && mayRunShell()
      ? startWatcher(`${MARK_VARIABLE}=${id}`, Math.ceil(graceMs / STEP_MS))
      : undefined;
    const { resolve } = this.#exited;
    if (!this.#watcher) resolve();
    this.#watcher?.once("error", () => resolve());
    this.#watcher?.once("exit", () => resolve());
    this.#watcher?.stdin?.on("error", () => {}); // the shell has exited
  }

  /**
   * Starts the child.
   *
   * @param spawn starts it as the leader of a process group, with {@linkcode environment} in its own
   * @throws what `spawn` throws; the guard ends then
   */
  start<C extends ChildProcess>(spawn: () => C): C {
    try {
      const child = spawn();
      this.#child = child;
      if (child.pid === undefined) return child;
      if (this.#watcher) this.#watcher.stdin?.write(`${child.pid}\n`);
      else killAtExit(child);
      return child;
    } catch (error) {
      void this.end();
      throw error;
    }
  }

  /** Ends whatever is left of the child; resolves when nothing is left. */
  end(): Promise<void> {
    return this.#ended ??= this.#end();
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#watcher?.stdin?.end("end\n");
    await this.#exited.promise;
    if (!child) return;
    if (this.#watcher) {
      // The shell was killed.
      if (isRunning(child)) signalGroup(child, "SIGKILL");
    } else {
      await endGroup(child, this.#graceMs);
      hasEnded(child);
    }
  }
}

function startWatcher(mark: string, steps: number): ChildProcess | undefined {
  try {
    return spawn("sh", ["-c", SCRIPT, "sh", mark, `${steps}`], {
      stdio: ["pipe", "ignore", "ignore"],
      env: { PATH: process.env.PATH },
      cwd: "/",
      detached: true, // survives a signal to this process's group
    });
  } catch {
    return undefined; // Deno throws where Node emits an error
  }
}

/** Checks the permission first: Deno would prompt for a missing one at the terminal. */
function mayRunShell(): boolean {
  const { permissions } = Object(Reflect.get(globalThis, "Deno"));
  const answer = permissions?.querySync?.({ name: "run", command: "sh" });
  return answer === undefined || answer.state === "granted";
}

/** Whether the platform has process groups. */
export const HAS_GROUPS: boolean = process.platform !== "win32";

/** Children whose end no shell watches. */
const unguarded = new Set<ChildProcess>();

/**
 * Kills the process group of `child` when this process exits, by `process.exit` or an error.
 *
 * A signal without a listener ends a process without an `exit` event; commands therefore listen for
 * signals before they start any child.
 */
function killAtExit(child: ChildProcess): void {
  if (unguarded.size === 0) process.on("exit", killAll);
  unguarded.add(child);
}

function hasEnded(child: ChildProcess): void {
  const isLast = unguarded.delete(child) && unguarded.size === 0;
  if (isLast) process.off("exit", killAll);
}

function killAll(): void {
  for (const child of unguarded) signalGroup(child, "SIGKILL");
}

/** Ends the process group of a child that no shell watches. */
async function endGroup(child: ChildProcess, graceMs: number): Promise<void> {
  signalGroup(child, "SIGTERM");
  for (let ms = 0; ms < graceMs && isGroupLeft(child); ms += STEP_MS) {
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  signalGroup(child, "SIGKILL");
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null;

function isGroupLeft(child: ChildProcess): boolean {
  if (child.pid === undefined) return false;
  if (!HAS_GROUPS) return isRunning(child);
  try {
    process.kill(-child.pid, 0);
    return true;
  } catch {
    return isRunning(child); // this process may not ask about groups, or the group is empty
  }
}

/**
 * Signals a child and everything that it started; the child must have been spawned `detached`.
 *
 * Processes that have already exited are ignored: the group may outlive its leader, or be empty.
 */
export function signalGroup(
  child: ChildProcess,
  signal: "SIGTERM" | "SIGKILL",
): void {
  if (child.pid === undefined) return;
  try {
    if (HAS_GROUPS) process.kill(-child.pid, signal);
    else child.kill(signal);
  } catch {
    // The group is empty, or Deno has permission to run only some programs: then it may signal only
    // processes that this one started itself.
    child.kill(signal);
  }
}

/** Age from which leftovers on a disk may be removed although their process cannot be queried. */
const STALE_MS = 24 * 3_600_000;
/** Clocks and start times are this exact. */
const CLOCK_SLACK_MS = 1_000;

/** Returns a part for names, to be followed by a dot, that identifies the process they belong to. */
export const ownerMark = (): string =>
  `${ownHost()}-${process.pid}-${Date.now()}`;

/**
 * Removes what processes that were killed left in a folder; never rejects.
 *
 * @param made matches the names of what is made there, each with an {@linkcode ownerMark}
 */
export async function removeLeftOvers(
  folder: string,
  made: RegExp,
): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!made.test(name)) continue;
    const path = join(folder, name);
    try {
      const { mtimeMs } = await lstat(path);
      if (!isLeftOver(name, mtimeMs)) continue;
      await rm(path, { recursive: true, force: true });
    } catch (error) {
      log.info("Cannot remove {path}: {reason}", {
        path,
        reason: reasonOf(error),
      });
    }
  }
}

/** Returns whether something with a mark belongs to a process that has ended. */
function isLeftOver(name: string, changedMs: number): boolean {
  const [, host, pid, createdMs] = MARK.exec(name) ?? [];
  if (host !== ownHost()) return Date.now() - changedMs > STALE_MS;
  if (Number(pid) !== process.pid) return !isAlive(Number(pid));
  // In containers the next process often has the same number.
  const startMs = Date.now() - process.uptime() * 1000;
  return Number(createdMs) < startMs - CLOCK_SLACK_MS;
}

const MARK = /([A-Za-z0-9_]+)-(\d+)-(\d+)\./;

/** The name of this machine, as it is in a mark. */
const ownHost = (): string => hostname().replaceAll(/[^A-Za-z0-9]/g, "_");

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Of another user, or one that this process may not query.
    return !(error instanceof Error && "code" in error &&
      error.code === "ESRCH");
  }
}
