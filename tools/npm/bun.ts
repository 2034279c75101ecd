import { join } from "node:path";
import { run } from "../process.ts";
import { toolsFolder } from "./node.ts";

/** The tested version. */
export const BUN_VERSION = "1.4.5";

/**
 * Finds the tested version of Bun: the installed one, or one that is installed once from npm into the
 * user's cache folder. npm chooses the package of this machine, whose program needs no script to work.
 *
 * @returns the path of its program
 */
export async function findBun(): Promise<string> {
  if (await isTested("bun")) return "bun";
  const folder = join(toolsFolder(), `bun-${BUN_VERSION}`);
  const found = await installedIn(folder);
  if (found !== undefined) return found;
  console.log(`Installing Bun ${BUN_VERSION} from npm into ${folder}, once`);
  await Deno.mkdir(folder, { recursive: true });
  const options = ["--prefix", folder, "--ignore-scripts"];
  await run("npm", ["install", ...options, `bun@${BUN_VERSION}`], folder);
  const installed = await installedIn(folder);
  if (installed !== undefined) return installed;
  throw new Error(
    `Cannot run Bun ${BUN_VERSION}: npm has none for this machine`,
  );
}

/** Returns the program that npm installed in a folder. */
async function installedIn(folder: string): Promise<string | undefined> {
  const packages = join(folder, "node_modules", "@oven");
  try {
    for await (const { name } of Deno.readDir(packages)) {
      for (const program of ["bun", "bun.exe"]) {
        const path = join(packages, name, "bin", program);
        if (await isTested(path)) return path;
      }
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return undefined;
}

async function isTested(program: string): Promise<boolean> {
  try {
    return (await run(program, ["--version"], ".")).trim() === BUN_VERSION;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
