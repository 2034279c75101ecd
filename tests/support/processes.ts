import { readdir, readFile } from "node:fs/promises";

/**
 * Resolves once a process has ended.
 *
 * It looks again and again: these processes are children of a MCP server's or of a command's, and
 * neither Deno nor Node tells of the end of any but one's own. Who waits in vain is ended by the
 * `timeout` of its test.
 */
export async function gone(pid: number): Promise<void> {
  while (await isAlive(pid)) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * The line that a process writes to a file, once it is there.
 *
 * It looks again and again, as `gone` does.
 */
export async function written(file: string): Promise<string> {
  while (true) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (text.endsWith("\n")) return text.trimEnd();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Tells whether a process runs; one that only waits to be reaped does not. */
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

/** Processes that still run in one of these process groups, however they came there; Linux alone. */
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
