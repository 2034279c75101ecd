/** Processes and folders that end with this process, and the memory of a process. */
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";

const folders = new Set<string>();
const pids = new Set<number>();

/** Starts a process that is killed when this one ends. */
export function spawn(
  command: string,
  options: Deno.CommandOptions,
): Deno.ChildProcess {
  const child = new Deno.Command(command, options).spawn();
  const guarded = guard(child.pid);
  child.status.then(() => guarded[Symbol.dispose]());
  return child;
}

/** Kills a process when this one ends, until the end of the scope. */
export function guard(pid: number): Disposable {
  pids.add(pid);
  return { [Symbol.dispose]: () => void pids.delete(pid) };
}

/** Kills a process; does nothing after its end. */
export function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Creates a folder that is removed when this process ends. */
export function temporaryFolder(): string {
  const folder = Deno.makeTempDirSync({ prefix: "smcp-bench-" });
  folders.add(folder);
  return folder;
}

/** Makes signals exit this process regularly, so that it cleans up. */
export function leaveNothing(): void {
  process.on("exit", () => {
    for (const pid of pids) kill(pid);
    for (const folder of folders) Deno.removeSync(folder, { recursive: true });
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => process.exit(1));
  }
}

/** Waits. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

/** Resident memory of a process, in bytes. */
export interface Memory {
  readonly now: number;
  readonly peak: number;
}

/** Returns the memory of a process, and its peak since {@linkcode resetPeak}; Linux only. */
export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const bytesOf = (field: string) =>
    1024 *
    Number(new RegExp(`^${field}:\\s*(\\d+) kB$`, "m").exec(status)?.[1]);
  return { now: bytesOf("VmRSS"), peak: bytesOf("VmHWM") };
}

/** Resets the peak of a process's memory; Linux only. */
export const resetPeak = (pid: number): Promise<void> =>
  writeFile(`/proc/${pid}/clear_refs`, "5");

/** Returns the child processes of a process; Linux only. */
export async function childrenOf(pid: number): Promise<number[]> {
  const path = `/proc/${pid}/task/${pid}/children`;
  return (await readFile(path, "utf8")).split(" ").map(Number)
    .filter((child) => child > 0);
}
