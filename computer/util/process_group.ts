import type { ChildProcess } from "node:child_process";
import process from "node:process";

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
