import { assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../../deno.json" with { type: "json" };

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Runs test files with a module that is loaded before each of them. */
async function runTests(
  preload: string,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-tests-" });
  try {
    const texts = { "preload.ts": preload, ...files };
    for (const [name, text] of Object.entries(texts)) {
      await Deno.writeTextFile(join(folder, name), text);
    }
    const options = ["-A", "--no-check", "--no-config", "--parallel"];
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["test", ...options, "--preload=preload.ts", ...Object.keys(files)],
      cwd: folder,
      env: { NO_COLOR: "1" },
      stderr: "null",
    }).output();
    return new TextDecoder().decode(stdout);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a test that hangs fails with its name and place, and costs no other test", async () => {
  const output = await runTests(
    `import { changeTests } from "${root}tests/support/change_tests.ts";
    const isLimited = ({ name }) => /^(waits|turns|takes) /.test(name);
    changeTests((definition) => ({ timeout: isLimited(definition) ? 300 : 60_000, ...definition }));`,
    {
      "hanging_test.ts": `
const forever = () => new Promise<void>(() => void setInterval(() => {}, 1000));
Deno.test("waits in vain", forever);
Deno.test({ name: "waits within a step", fn: async (t) => void await t.step("inner", forever) });
Deno.test("turns for ever", () => { for (;;); });
Deno.test("the next one", () => {});
`,
      "other_test.ts": `
Deno.test("takes a limit of its own", { timeout: 60_000 }, () =>
  new Promise((resolve) => setTimeout(resolve, 400)));
Deno.test(function named() {});
Deno.test({ name: "is ignored", ignore: true }, () => {});
`,
    },
  );
  for (const [name, place] of [["waits in vain", 3], ["turns for ever", 5]]) {
    assertStringIncludes(
      output,
      `${name} => ./hanging_test.ts:${place}:6\nerror: Test timed out after 300ms.`,
    );
  }
  assertStringIncludes(output, "waits within a step => ./hanging_test.ts:4:6");
  for (const name of ["the next one", "takes a limit of its own", "named"]) {
    assertStringIncludes(output, `${name} ... ok`);
  }
  assertMatch(output, /FAILED \| 3 passed .*\| 3 failed \| 1 ignored/);
});

Deno.test("the tests of deno task test have a limit", async () => {
  assertStringIncludes(config.tasks.test.command, " tools/run_tests.ts");
  const runner = await Deno.readTextFile(`${root}tools/run_tests.ts`);
  assertStringIncludes(runner, '"--preload=tests/preload.ts"');
});
