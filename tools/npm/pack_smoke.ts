/**
 * Proves that the npm tarballs work on the oldest Node: installs them with npm in an empty folder,
 * imports every entrypoint, asks every command for its version and makes a tool call.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { findNode, NODE_VERSIONS } from "./node.ts";
import { BINS, CLI_NAME } from "./commands_package.ts";
import { installPackages, npmPackages } from "./npm_package.ts";
import { run } from "../process.ts";

const fixtures = fileURLToPath(new URL("./fixtures/", import.meta.url));

const node = await findNode(NODE_VERSIONS[0]);
const folder = await Deno.makeTempDir({ prefix: "pack-smoke-" });
try {
  const { sdk, cli } = await npmPackages(folder);
  await installPackages(folder, sdk, cli);
  for await (const { name } of Deno.readDir(fixtures)) {
    await Deno.copyFile(join(fixtures, name), join(folder, name));
  }
  const entrypoints = Object.keys(config.exports)
    .filter((path) => !path.endsWith("/main")) // a command would start
    .map((path) => join(config.name, path));
  const imported = await run(node, ["imports.mjs", ...entrypoints], folder);
  for (const name of Object.keys(BINS)) {
    const path = join("node_modules", CLI_NAME, "bin", `${name}.js`);
    await run(node, [path, "--version"], folder);
  }
  const called = await run(node, ["tool_call.mjs"], folder);
  console.log(`${imported}${called}`.trimEnd());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exitCode = 1;
} finally {
  await Deno.remove(folder, { recursive: true });
}
