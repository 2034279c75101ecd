import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import process from "node:process";
import { HAS_GROUPS } from "./process_group.ts";

/** Marks the environment of a child, and so of everything that it starts. */
const MARK = "A2C_SMCP_CHILD";

/**
 * Waits until its input ends, then ends the group that it was told of and, on Linux, whatever
 * carries the mark, wherever it went meanwhile: again and again, for it may fork.
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
 * Ends everything that one child started, whatever becomes of this process.
 *
 * It is a shell that holds the other end of a pipe: the pipe is closed when the child has ended,
 * and by the system when this process is gone, be it by SIGKILL. Where there is no shell, or it
 * may not be run, nothing is guarded.
 */
export class ProcessGuard {
  /** What the child needs in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #watcher: ChildProcess | undefined;
  readonly #ended = Promise.withResolvers<void>();

  /** Begins to watch. */
  constructor() {
    const id = randomUUID();
    this.environment = HAS_GROUPS ? { [MARK]: id } : {};
    this.#watcher = HAS_GROUPS && mayRunShell()
      ? startWatcher(`${MARK}=${id}`)
      : undefined;
    const ended = () => this.#ended.resolve();
    if (!this.#watcher) ended();
    this.#watcher?.once("error", ended);
    this.#watcher?.once("exit", ended);
    this.#watcher?.stdin?.on("error", () => {}); // it has ended
  }

  /**
   * Starts the child: the leader of a process group, with {@linkcode environment} in its own.
   *
   * @throws what `spawn` throws; nothing is watched then
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

  /** Ends all that is left of the child; resolves when nothing is. */
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
      detached: true, // what ends this process's group leaves it alone
    });
  } catch {
    return undefined; // Deno throws what Node emits
  }
}

/** What there is of the global of Deno. */
interface Runtime {
  readonly permissions?: {
    querySync?(what: { name: "run"; command: string }): { state: string };
  };
}

/** Deno would ask whoever sits at the terminal for a permission that it was not given. */
function mayRunShell(): boolean {
  const runtime = Reflect.get(globalThis, "Deno") as Runtime | undefined;
  const answer = runtime?.permissions?.querySync?.({
    name: "run",
    command: "sh",
  });
  return answer === undefined || answer.state === "granted";
}
