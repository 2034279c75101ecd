import type { ChildProcess } from "node:child_process";
import process from "node:process";

/** Whether a child can lead a process group of its own. */
export const HAS_GROUPS: boolean = process.platform !== "win32";

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
    // Nobody is left in the group.
  }
}
