/**
 * Child processes: their group and guard, so that nothing of them is left, the end of their output,
 * and the marks by which leftovers of ended processes are found.
 *
 * @module
 */
import process from "node:process";
import { hostname } from "node:os";
import { randomUUID } from "node:crypto";
import { type ChildProcess, spawn } from "node:child_process";
import { hideSecrets } from "./secrets.ts";

/** Environment variable that marks a child, and by inheritance everything that it starts. */
const MARK_VARIABLE = "A2C_SMCP_CHILD";

/**
 * Reads a group id from stdin and waits for the end of stdin; then kills that group and, on Linux,
 * every process with the mark, even in other groups. It repeats, since a process may fork meanwhile.
 */
const SCRIPT = `
trap "" HUP INT TERM
read -r group
while read -r _; do :; done
[ -n "$group" ] && kill -KILL -- "-$group"
i=0
while [ $i -lt 50 ]; do
  found=$(grep -lsF -e "$1" /proc/[0-9]*/environ)
  [ -z "$found" ] && break
  for file in $found; do
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}"
  done
  i=$((i + 1))
  sleep 0.02 || sleep 1
done
`;

/**
 * Ends everything that one child started, even if this process is killed.
 *
 * The guard is a shell that reads from a pipe: the pipe is closed by {@linkcode end}, or by the
 * system when this process is gone, even by SIGKILL. Without a shell, or without permission to run
 * it, there is no guard.
 */
export class ProcessGuard {
  /** Variables that the child must get in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #watcher: ChildProcess | undefined;
  readonly #ended = Promise.withResolvers<void>();

  /** Starts the guarding shell. */
  constructor() {
    const id = randomUUID();
    this.environment = HAS_GROUPS ? { [MARK_VARIABLE]: id } : {};
    this.#watcher = HAS_GROUPS && mayRunShell()
      ? startWatcher(`${MARK_VARIABLE}=${id}`)
      : undefined;
    const { resolve } = this.#ended;
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
      if (child.pid !== undefined) {
        this.#watcher?.stdin?.write(`${child.pid}\n`);
      }
      return child;
    } catch (error) {
      void this.end();
      throw error;
    }
  }

  /** Kills whatever is left of the child; resolves when nothing is left. */
  end(): Promise<void> {
    this.#watcher?.stdin?.end();
    return this.#ended.promise;
  }
}

function startWatcher(mark: string): ChildProcess | undefined {
  try {
    return spawn("sh", ["-c", SCRIPT, "sh", mark], {
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

const living = new Set<ChildProcess>();

/**
 * Kills the process group of `child` when this process exits, by `process.exit` or an error.
 *
 * A signal without a listener ends a process without an `exit` event; commands therefore listen for
 * signals before they start any child.
 *
 * @returns removes the guard; call it once the group is gone
 */
export function guardGroup(child: ChildProcess): () => void {
  if (living.size === 0) process.on("exit", killAll);
  living.add(child);
  return () => {
    living.delete(child);
    if (living.size === 0) process.off("exit", killAll);
  };
}

function killAll(): void {
  for (const child of living) signalGroup(child, "SIGKILL");
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

const SHOWN_CHARACTERS = 4_000;
const SHOWN_LINES = 10;
/** More than is shown, so that a secret at the cut is still recognised before the text is cut. */
const KEPT_CHARACTERS = 4 * SHOWN_CHARACTERS;

/** Keeps the end of a text that comes in chunks, for messages. */
export class TextTail {
  readonly #decoder = new TextDecoder();
  #text = "";

  /** Adds a chunk; only the last few thousand characters are kept. */
  push(chunk: Uint8Array): void {
    const text = this.#text + this.#decoder.decode(chunk, { stream: true });
    this.#text = text.slice(-KEPT_CHARACTERS);
  }

  /** Returns the last lines without secrets; cut between words, since half a secret is not recognised. */
  toString(): string {
    const text = hideSecrets(this.#text);
    const shown = text.length > SHOWN_CHARACTERS
      ? text.slice(-SHOWN_CHARACTERS).replace(/^\S*/, "")
      : text;
    return shown.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
  }
}

/** Whose leftovers on a disk may be removed although nobody can ask its process: those this old. */
const STALE_MS = 24 * 3_600_000;
/** Clocks and start times are this exact. */
const CLOCK_SLACK_MS = 1_000;

/** Returns a part for names, to be followed by a dot, that tells later which process they belong to. */
export const ownerMark = (): string =>
  `${ownHost()}-${process.pid}-${Date.now()}`;

/**
 * Returns whether a file or folder belongs to a process that has ended.
 *
 * @param name contains an {@linkcode ownerMark}
 * @param changedMs when it was last changed
 */
export function isLeftOver(name: string, changedMs: number): boolean {
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
    // Of somebody else, or one that this process may not ask about.
    return !(error instanceof Error && "code" in error &&
      error.code === "ESRCH");
  }
}
