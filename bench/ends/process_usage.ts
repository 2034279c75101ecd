import { readdir, readFile } from "node:fs/promises";

/** CPU time that a process has used so far, all its threads, in µs; undefined where `/proc` does not tell. */
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

/** MiB of a process in memory; undefined where `/proc` does not tell. */
export async function memoryOf(pid: number): Promise<number | undefined> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const [, kib] = /^VmRSS:\s*(\d+) kB$/m.exec(status) ?? [];
    return kib === undefined ? undefined : Number(kib) / 1024;
  } catch {
    return undefined;
  }
}

/** The processes that a process has started. */
export async function childrenOf(pid: number): Promise<number[]> {
  try {
    const path = `/proc/${pid}/task/${pid}/children`;
    return (await readFile(path, "utf8")).trim().split(" ").map(Number)
      .filter((child) => child > 0);
  } catch {
    return [];
  }
}
