import { join } from "node:path";
import { run } from "./process.ts";

/** What the SDK needs (design: Node >= 22). */
const MAJOR = 22;

/**
 * Finds a Node that is new enough: the installed one, or one that is installed from npm once
 * into the user's cache folder.
 */
export async function findNode(): Promise<string> {
  if (await majorOf("node") >= MAJOR) return "node";
  const folder = join(cacheFolder(), "a2c-smcp-sdk", `node-${MAJOR}`);
  const node = join(folder, "node_modules", "node", "bin", "node");
  if (await majorOf(node) >= MAJOR) return node;
  console.log(`Installing Node ${MAJOR} from npm into ${folder}, once`);
  await Deno.mkdir(folder, { recursive: true });
  await run("npm", ["install", "--prefix", folder, `node@${MAJOR}`], folder);
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
