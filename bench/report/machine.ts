import { cpus, totalmem } from "node:os";
import config from "../../deno.json" with { type: "json" };
import { nodeVersion } from "../contestants/node.ts";
import { pythonVersion } from "../contestants/python.ts";
import { ROOT } from "../contestants/running.ts";
import { RUST_VERSION } from "../contestants/rust.ts";

/** The machine of the benchmark. */
export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
}

/** Whether figures of both can be compared. */
export const isSame = (one: Machine, other: Machine): boolean =>
  one.processor === other.processor && one.cores === other.cores;

/** Describes this machine. */
export function thisMachine(): Machine {
  const [first] = cpus();
  return {
    processor: first?.model ?? "unknown",
    cores: cpus().length,
    memoryBytes: totalmem(),
    system: `${Deno.build.os} ${Deno.osRelease()}`,
  };
}

/**
 * Returns the versions of the measured programs.
 *
 * @param absent names of contestants that were not measured
 */
export async function versionsOf(
  absent: ReadonlySet<string>,
): Promise<Record<string, string>> {
  const lock = JSON.parse(await Deno.readTextFile(`${ROOT}tests/deno.lock`));
  const locked = (name: string) => {
    const specifier = `npm:${name}@`;
    const found = Object.entries<string>(lock.specifiers)
      .find(([key]) => key.startsWith(specifier));
    return found?.[1] ?? "unknown";
  };
  const versions: Record<string, string> = {
    [config.name]: config.version,
    Deno: `${Deno.version.deno} (V8 ${Deno.version.v8})`,
    "socket.io": locked("socket.io"),
    ws: locked("ws"),
  };
  const optional: [string, string, () => string | Promise<string>][] = [
    ["ws-node", "Node", nodeVersion],
    ["python-0.1", "Python SDK 0.1", () => pythonVersion("0.1")],
    ["python-0.2", "Python SDK 0.2", () => pythonVersion("0.2")],
    ["rust", "Rust SDK", () => RUST_VERSION],
  ];
  for (const [contestant, name, version] of optional) {
    if (!absent.has(contestant)) versions[name] = await version();
  }
  return versions;
}
