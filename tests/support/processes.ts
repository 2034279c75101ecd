import { readdir, readFile } from "node:fs/promises";

/**
 * Resolves when a process has ended.
 *
 * Polls, since these processes are children of an MCP server or a command, and neither Deno nor Node
 * reports the end of any but direct children. The `timeout` of the test ends a wait without success.
 * `timeout` of its test.
 */
export async function gone(pid: number): Promise<void> {
  while (await isAlive(pid)) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Resolves with the line that a process writes to a file.
 *
 * Polls, like `gone`.
 */
export async function written(file: string): Promise<string> {
  while (true) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (text.endsWith("\n")) return text.trimEnd();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Returns whether a process is running; a zombie is not. */
export async function isAlive(pid: number): Promise<boolean> {
  try {
    Deno.kill(pid, "SIGCONT");
  } catch {
    return false;
  }
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    return !/\) Z /.test(stat);
  } catch {
    return Deno.build.os !== "linux";
  }
}

/**
 * Resolves when a process has a handler for SIGTERM; Linux only.
 *
 * Polls, like `gone`.
 */
export async function catchesSigterm(pid: number): Promise<void> {
  const SIGTERM = 1n << 14n;
  while (true) {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const [, caught = "0"] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(status) ?? [];
    if ((BigInt(`0x${caught}`) & SIGTERM) !== 0n) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Returns the running processes of these process groups; Linux only. */
export async function leftInGroups(
  groups: readonly number[],
): Promise<number[]> {
  if (Deno.build.os !== "linux") return [];
  const left: number[] = [];
  for (const pid of (await readdir("/proc")).map(Number)) {
    if (!Number.isInteger(pid)) continue;
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state !== "Z" && groups.includes(Number(group))) left.push(pid);
  }
  return left;
}
