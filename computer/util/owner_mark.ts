import { hostname } from "node:os";
import process from "node:process";

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
