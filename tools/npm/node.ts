import { join } from "node:path";
import { run } from "../process.ts";

/** A slow network has this time, in milliseconds. */
const PATIENCE = 1_800_000;

/** The versions that the SDK is tested with: the oldest that it runs on, and the newest even one. */
export const NODE_VERSIONS = [22, 24] as const;

/** What is installed of a version that this machine has not. */
const RELEASES: Readonly<Record<number, string>> = {
  22: "22.23.3",
  24: "24.21.0",
};

/**
 * Finds a Node of a major version: the installed one, or one that is installed from npm once
 * into the user's cache folder.
 *
 * @returns what to run
 */
export async function findNode(major: number): Promise<string> {
  if (await majorOf("node") === major) return "node";
  const release = RELEASES[major];
  const folder = join(cacheFolder(), "a2c-smcp-sdk", `node-${release}`);
  const node = join(folder, "node_modules", "node", "bin", "node");
  if (await majorOf(node) === major) return node;
  console.log(`Installing Node ${release} from npm into ${folder}, once`);
  await Deno.mkdir(folder, { recursive: true });
  await run(
    "npm",
    ["install", "--prefix", folder, `node@${release}`],
    folder,
    PATIENCE,
  );
  return node;
}

/** The major version of a Node; 0 when there is none. */
async function majorOf(node: string): Promise<number> {
  try {
    const version = await run(node, ["--version"], ".");
    return Number(/^v(\d+)/.exec(version)?.[1] ?? 0);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

function cacheFolder(): string {
  const home = Deno.env.get("HOME") ?? Deno.env.get("USERPROFILE") ?? ".";
  return Deno.env.get("XDG_CACHE_HOME") ?? join(home, ".cache");
}
