import { readdir, readFile, readlink } from "node:fs/promises";

/**
 * Resolves when a process has ended.
 *
 * Polls, since these processes are children of an MCP server or a command, and neither Deno nor Node
 * reports the end of any but direct children. The `timeout` of the test ends a wait without success.
 */
export async function gone(pid: number): Promise<void> {
  while (await isAlive(pid)) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Resolves when a process was stopped by a signal: one that waits for a processor stops later. */
export async function stopped(pid: number): Promise<void> {
  if (Deno.build.os !== "linux") return;
  while (!/\) T /.test(await readFile(`/proc/${pid}/stat`, "utf8"))) {
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
 * Resolves with the port on which a process listens; Linux only.
 *
 * Polls, like `gone`, for a process that can print it nowhere.
 */
export async function listeningPort(pid: number): Promise<number> {
  while (true) {
    const ports = await listeningPorts();
    const files = await readdir(`/proc/${pid}/fd`);
    for (const file of files) {
      const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => "");
      const port = ports.get(target);
      if (port !== undefined) return port;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The ports of this machine's listening IPv4 sockets, by how `/proc/PID/fd` names them. */
async function listeningPorts(): Promise<ReadonlyMap<string, number>> {
  const LISTEN = "0A";
  const [, ...lines] = (await readFile("/proc/net/tcp", "utf8")).trim()
    .split("\n");
  return new Map(lines.flatMap((line) => {
    const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
    const [, port = ""] = local.split(":");
    return state === LISTEN ? [[`socket:[${inode}]`, parseInt(port, 16)]] : [];
  }));
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

/** Returns the running processes with this variable in their environment, which children inherit; Linux only. */
export async function withVariable(
  name: string,
  value: string,
): Promise<number[]> {
  if (Deno.build.os !== "linux") return [];
  const found: number[] = [];
  for (const pid of (await readdir("/proc")).map(Number)) {
    if (!Number.isInteger(pid)) continue;
    const variables = await readFile(`/proc/${pid}/environ`, "utf8")
      .catch(() => "");
    if (variables.split("\0").includes(`${name}=${value}`)) found.push(pid);
  }
  return found;
}
