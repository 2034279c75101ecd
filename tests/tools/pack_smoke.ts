/**
 * Proves that the package works on Node as a user gets it: packs it, installs the tarball
 * with npm in an empty folder, imports every entrypoint and makes a tool call.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { findNode } from "./node.ts";
import { run } from "./process.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const fixtures = fileURLToPath(new URL("./node/", import.meta.url));

const node = await findNode();
const folder = await Deno.makeTempDir({ prefix: "pack-smoke-" });
try {
  const tarball = join(folder, "sdk.tgz");
  await run("deno", ["pack", "--allow-dirty", "--output", tarball], root);
  await Deno.writeTextFile(
    join(folder, "package.json"),
    JSON.stringify({ private: true, type: "module" }),
  );
  await run(
    "npm",
    ["install", "--no-audit", "--no-fund", "--prefer-offline", tarball],
    folder,
  );
  for await (const { name } of Deno.readDir(fixtures)) {
    await Deno.copyFile(join(fixtures, name), join(folder, name));
  }
  const entrypoints = Object.keys(config.exports).map((path) =>
    join(config.name, path)
  );
  const imported = await run(node, ["imports.mjs", ...entrypoints], folder);
  const called = await run(node, ["tool_call.mjs"], folder);
  console.log(`${imported}${called}`.trimEnd());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exitCode = 1;
} finally {
  await Deno.remove(folder, { recursive: true });
}
