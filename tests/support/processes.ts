import { readFile } from "node:fs/promises";

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
