import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { HAS_GROUPS } from "./process_group.ts";

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
    const ended = () => this.#ended.resolve();
    if (!this.#watcher) ended();
    this.#watcher?.once("error", ended);
    this.#watcher?.once("exit", ended);
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

/** The part of the `Deno` global that is used here. */
interface Runtime {
  readonly permissions?: {
    querySync?(what: { name: "run"; command: string }): { state: string };
  };
}

/** Checks the permission first: Deno would prompt for a missing one at the terminal. */
function mayRunShell(): boolean {
  const runtime = Reflect.get(globalThis, "Deno") as Runtime | undefined;
  const answer = runtime?.permissions?.querySync?.({
    name: "run",
    command: "sh",
  });
  return answer === undefined || answer.state === "granted";
}
