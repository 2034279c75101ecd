import type { ChildProcess } from "node:child_process";
import process from "node:process";

/** Whether a child can lead a process group of its own. */
export const HAS_GROUPS: boolean = process.platform !== "win32";

const living = new Set<ChildProcess>();

/**
 * Sees to it that a group does not outlive this process, be it that `process.exit` or an error
 * ends it. A signal that nobody listens to does so unseen: commands listen before they start any.
 *
 * @returns what to call once the group is gone
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
 * Those that are gone already are no error: the group may outlive its leader, or be empty.
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
    // Nobody is left in the group; or Deno allows to run some programs only, and then to end no
    // more than what this process started itself.
    child.kill(signal);
  }
}
