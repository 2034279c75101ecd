/**
 * Runs the end-to-end suites of an office over MCP with a quick door that answers nothing: all they expect
 * holds for the way through the app, too. Only what is about the quick door itself is left out.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const root = fileURLToPath(new URL("../", import.meta.url));
const tests = join(root, "tests");
const SUITES = "tests/e2e/mcp";
const LEFT_OUT = `${SUITES}/answers/quick_door_test.ts`;

const config = JSON.parse(
  await Deno.readTextFile(join(tests, "deno.json")),
);
config.imports["../server/doors/quick_door.ts"] =
  "./support/mcp/no_quick_door.ts";
// Beside the other, since its paths are relative to it.
const path = await Deno.makeTempFile({ dir: tests, suffix: ".deno.json" });
try {
  await Deno.writeTextFile(path, JSON.stringify(config));
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "-A",
      "--quiet",
      "--no-check",
      "--frozen",
      "--parallel",
      `--config=${path}`,
      `--lock=${join(tests, "deno.lock")}`,
      `--ignore=${LEFT_OUT}`,
      SUITES,
    ],
    cwd: root,
    env: { DENO_JOBS: "2" },
  }).spawn().status;
  Deno.exitCode = code;
} finally {
  await Deno.remove(path);
}
