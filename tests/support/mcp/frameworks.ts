import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toolsFolder } from "../../../tools/npm/node.ts";
import { run } from "../../../tools/process.ts";
import { isInstalled } from "../../docs/support/tools.ts";
import { venvWith } from "../../interop/support/venv.ts";

/** The folder of the examples with frameworks. */
export const FRAMEWORKS: string = fileURLToPath(
  new URL("../../../examples/mcp", import.meta.url),
);

/** Copies the examples into a folder, and installs the packages that they import there. */
export async function installFrameworks(folder: string): Promise<void> {
  await cp(FRAMEWORKS, folder, {
    recursive: true,
    filter: (path) => !path.endsWith("node_modules"),
  });
  await run(
    Deno.execPath(),
    ["install", "--frozen", "--quiet"],
    folder,
    INSTALL_TIMEOUT_MS,
  );
}

/** Time limit for an installation over a slow network. */
const INSTALL_TIMEOUT_MS = 1_800_000;

/**
 * Finds Python with the packages of the examples, which it installs once from PyPI.
 *
 * @returns the path of its interpreter; `undefined` where there is no Python
 */
export async function pythonFrameworks(): Promise<string | undefined> {
  if (!await isInstalled("python3")) return undefined;
  const folder = join(toolsFolder(), "mcp-python");
  return await venvWith(folder, join(FRAMEWORKS, "requirements.txt"));
}
