import process from "node:process";

const children = new Set<Deno.ChildProcess>();
const folders = new Set<string>();
const pids = new Set<number>();

/** Starts a process that is killed when this one ends, for whatever reason. */
export function spawn(
  command: string,
  options: Deno.CommandOptions,
): Deno.ChildProcess {
  const child = new Deno.Command(command, options).spawn();
  children.add(child);
  child.status.then(() => children.delete(child));
  return child;
}

/** Has a process that something else has started killed when this one ends; until the end of the scope. */
export function guard(pid: number): Disposable {
  pids.add(pid);
  return { [Symbol.dispose]: () => void pids.delete(pid) };
}

/** Kills a process. */
export function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // it has ended
  }
}

function killById(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // it has ended
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
    for (const child of children) kill(child);
    for (const pid of pids) killById(pid);
    for (const folder of folders) Deno.removeSync(folder, { recursive: true });
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => process.exit(1));
  }
}
