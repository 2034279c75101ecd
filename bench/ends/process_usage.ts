import { readdir, readFile } from "node:fs/promises";

/** Returns the CPU time of a process and all its threads so far, in µs; `undefined` without `/proc`. */
export async function cpuOf(pid: number): Promise<number | undefined> {
  try {
    const threads = await readdir(`/proc/${pid}/task`);
    const times = await Promise.all(
      threads.map((thread) =>
        readFile(`/proc/${pid}/task/${thread}/schedstat`, "utf8")
      ),
    );
    return times.reduce((sum, text) => sum + parseInt(text, 10), 0) / 1000;
  } catch {
    return undefined;
  }
}

/** Returns the resident memory of a process in MiB; `undefined` without `/proc`. */
export async function memoryOf(pid: number): Promise<number | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const [, kib] = /^VmRSS:\s*(\d+) kB$/m.exec(status) ?? [];
    return kib === undefined ? undefined : Number(kib) / 1024;
  } catch {
    return undefined;
  }
}

/** Returns the child processes of a process. */
export async function childrenOf(pid: number): Promise<number[]> {
  try {
    const path = `/proc/${pid}/task/${pid}/children`;
    return (await readFile(path, "utf8")).trim().split(" ").map(Number)
      .filter((child) => child > 0);
  } catch {
    return [];
  }
}
