import { join } from "node:path";
import { findBun } from "../../tools/npm/bun.ts";
import { findNode } from "../../tools/npm/node.ts";
import { installPackages, npmPackages } from "../../tools/npm/npm_package.ts";
import { run } from "../../tools/process.ts";
import { here, type Recipe } from "./running.ts";

const NODE = 22;
/** The packages that the scripts of this folder import, in the same versions as with Deno. */
const PACKAGES = ["socket.io@^4.8.4", "ws@^8.21.3"];

/** Runs a script of this folder with Node, which strips its types. */
export async function nodeScript(
  folder: string,
  name: string,
  file: string,
  raw: boolean,
): Promise<Recipe> {
  const scripts = join(folder, "node-scripts");
  if (await isMissing(scripts)) {
    await Deno.mkdir(scripts);
    await Deno.writeTextFile(
      join(scripts, "package.json"),
      JSON.stringify({ private: true, type: "module" }),
    );
    const options = ["--no-audit", "--no-fund", "--prefer-offline"];
    await run("npm", ["install", ...options, ...PACKAGES], scripts);
  }
  for (const script of [file, "groups.ts"]) {
    await Deno.copyFile(here(script), join(scripts, script));
  }
  const command = await findNode(NODE);
  return { name, raw, command, args: [file], cwd: scripts };
}

/**
 * Runs the server of the npm tarball with Node.
 *
 * @param args arguments of the server's command
 */
export async function nodePackage(
  folder: string,
  name: string,
  args: readonly string[],
): Promise<Recipe> {
  const cwd = await packageFolder(folder);
  return { name, command: await findNode(NODE), args: [MAIN, ...args], cwd };
}

/** The same with Bun. */
export async function bunPackage(
  folder: string,
  name: string,
  args: readonly string[],
): Promise<Recipe> {
  const cwd = await packageFolder(folder);
  return { name, command: await findBun(), args: [MAIN, ...args], cwd };
}

/** Runs a script of this folder that imports the npm tarball with Bun. */
export async function bunScript(
  folder: string,
  name: string,
  file: string,
): Promise<Recipe> {
  const cwd = await packageFolder(folder);
  await Deno.copyFile(here(file), join(cwd, file));
  return { name, command: await findBun(), args: [file], cwd };
}

/** The server's command, in the folder where the tarballs are installed. */
const MAIN = "node_modules/@a2c-smcp/cli/lib/server/main.js";

/** Installs the npm tarballs, once. */
async function packageFolder(folder: string): Promise<string> {
  const user = join(folder, "npm-package");
  if (await isMissing(user)) {
    await Deno.mkdir(user);
    const { sdk, cli } = await npmPackages(folder);
    await installPackages(user, sdk, cli);
  }
  return user;
}

/** Returns the version of Node. */
export async function nodeVersion(): Promise<string> {
  return (await run(await findNode(NODE), ["--version"], ".")).trim();
}

/** Returns whether there is nothing at a path. */
export async function isMissing(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return false;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return true;
    throw error;
  }
}
