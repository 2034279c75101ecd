import { readdir, readFile } from "node:fs/promises";

/** Resolves once a process has ended; a test that waits in vain fails by Deno's own deadline. */
export async function gone(pid: number): Promise<void> {
  while (await isAlive(pid)) {
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
