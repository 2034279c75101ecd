import { join } from "node:path";
import { run } from "../process.ts";

/** Time limit for an installation over a slow network. */
const INSTALL_TIMEOUT_MS = 1_800_000;

/** The tested versions: the oldest supported one, and the newest even one. */
export const NODE_VERSIONS = [22, 24] as const;

/** The releases to install for versions that this machine lacks. */
const RELEASES: Readonly<Record<number, string>> = {
  22: "22.23.3",
  24: "24.21.0",
};

/**
 * Finds Node of a major version: the installed one, or one that is installed once from npm into the
 * user's cache folder.
 *
 * @returns the path of its program
 */
export async function findNode(major: number): Promise<string> {
  if (await majorOf("node") === major) return "node";
  const release = RELEASES[major];
  const folder = join(toolsFolder(), `node-${release}`);
  const node = join(folder, "node_modules", "node", "bin", "node");
  if (await majorOf(node) === major) return node;
  console.log(`Installing Node ${release} from npm into ${folder}, once`);
  await Deno.mkdir(folder, { recursive: true });
  await run(
    "npm",
    ["install", "--prefix", folder, `node@${release}`],
    folder,
    INSTALL_TIMEOUT_MS,
  );
  return node;
}

/** Returns the major version of a Node program; 0 if there is none. */
async function majorOf(node: string): Promise<number> {
  try {
    const version = await run(node, ["--version"], ".");
    return Number(/^v(\d+)/.exec(version)?.[1] ?? 0);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

/** The folder for what is installed once for all tests, in the user's cache folder. */
export function toolsFolder(): string {
  const home = Deno.env.get("HOME") ?? Deno.env.get("USERPROFILE") ?? ".";
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? join(home, ".cache");
  return join(cache, "a2c-smcp-sdk");
}
