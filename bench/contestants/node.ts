/** This package's Server on Node and Bun, from the npm tarballs. */
import { join } from "node:path";
import { findBun } from "../../tools/npm/bun.ts";
import { findNode } from "../../tools/npm/node.ts";
import { installPackages, npmPackages } from "../../tools/npm/npm_package.ts";
import { here, type Recipe } from "./start.ts";

const NODE = 22;

/** The server's command, in the folder where the tarballs are installed. */
const MAIN = "node_modules/@a2c-smcp/cli/lib/server/main.js";

const RUNTIMES = { node: () => findNode(NODE), bun: findBun };

/**
 * Runs the server's command of the npm tarball, or a script of this folder that imports the library.
 *
 * @param program arguments of the command, or the name of the script
 */
export async function npmServer(
  folder: string,
  name: string,
  runtime: keyof typeof RUNTIMES,
  program: readonly string[] | string,
): Promise<Recipe> {
  const cwd = await once(join(folder, "npm-package"), async (user) => {
    const { sdk, cli } = await npmPackages(folder);
    await installPackages(user, sdk, cli);
  });
  if (typeof program === "string") {
    await Deno.copyFile(here(program), join(cwd, program));
  }
  const args = typeof program === "string" ? [program] : [MAIN, ...program];
  return { name, command: await RUNTIMES[runtime](), args, cwd };
}

/** Makes and fills a folder, unless it exists. */
export async function once(
  folder: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const isThere = await Deno.stat(folder).then(() => true, () => false);
  if (isThere) return folder;
  await Deno.mkdir(folder);
  await fill(folder);
  return folder;
}
