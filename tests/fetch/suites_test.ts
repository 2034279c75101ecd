/**
 * The server's end-to-end suites, over the entry for `fetch` instead of `listen()`: an import map puts
 * `listening_server.ts` in the place of `server/mod.ts`.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { LEFT_OUT } from "./left_out.ts";
import { suiteFiles } from "./suites.ts";

const root = new URL("../../", import.meta.url);

/** The package's imports, with this entry in the place of the other one. */
function importMap(): string {
  const imports: Record<string, string> = {};
  for (const [name, target] of Object.entries(config.imports)) {
    imports[name] = target;
    // What deno.json implies, a map has to say.
    imports[`${name}/`] = `${target.replace(/^(npm|jsr):/, "$1:/")}/`;
  }
  const replaced = {
    [new URL("server/mod.ts", root).href]:
      new URL("tests/fetch/listening_server.ts", root).href,
  };
  const scopes = Object.fromEntries(
    ["tests/e2e/", "tests/support/", "tests/wire/", "testing/"].map((
      folder,
    ) => [new URL(folder, root).href, replaced]),
  );
  return JSON.stringify({ imports, scopes });
}

/** Runs the suites; returns their exit code and output. */
async function run(
  env: Readonly<Record<string, string>>,
): Promise<{ code: number; output: string }> {
  const map = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(map, importMap());
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        "-A",
        "--no-check",
        "--no-lock",
        "--parallel",
        `--import-map=${map}`,
        "--preload=tests/fetch/preload.ts",
        ...await suiteFiles(),
      ],
      cwd: fileURLToPath(root),
      env: { ...env, NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder();
    return { code, output: text.decode(stdout) + text.decode(stderr) };
  } finally {
    await Deno.remove(map);
  }
}

Deno.test("the server's suites pass over fetch, but for those left out", async () => {
  const { code, output } = await run({});
  assertEquals(code, 0, output);
  const [, passed] = /\| (\d+) passed/.exec(output) ?? [];
  assert(Number(passed) > 300, `only ${passed} tests ran`);
});

Deno.test("each test that is left out exists, and fails over fetch", async () => {
  const { code, output } = await run({ SMCP_TEST_LEFT_OUT: "1" });
  assertEquals(code, 0, output);
  const missing = Object.values(LEFT_OUT).flat()
    .filter((name) => !output.includes(`left out: ${name} ... ok`));
  assertEquals(missing, []);
});
