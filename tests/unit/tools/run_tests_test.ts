import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../../deno.json" with { type: "json" };
import { groupTests } from "../../../tools/group_tests.ts";
import { scratch } from "../../support/scratch.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Runs test files with a module that is loaded before each of them. */
async function runTests(
  preload: string,
  files: Readonly<Record<string, string>>,
): Promise<string> {
  await using folder = await scratch();
  const texts = { "preload.ts": preload, ...files };
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(join(folder.path, name), text);
  }
  const options = ["-A", "--no-check", "--no-config", "--parallel"];
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["test", ...options, "--preload=preload.ts", ...Object.keys(files)],
    cwd: folder.path,
    env: { NO_COLOR: "1" },
    stderr: "null",
  }).output();
  return new TextDecoder().decode(stdout);
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

const many = (folder: string, count: number) =>
  Array.from(
    { length: count },
    (_, at) => `${folder}/${String(at).padStart(2, "0")}_test.ts`,
  );

Deno.test("groupTests() joins at most eight files of one area, and loses none", () => {
  const files = [
    ...many("tests/docs", 2),
    ...many("tests/e2e/computer", 3),
    ...many("tests/e2e/computer/host", 6),
    ...many("tests/unit/agent", 16),
  ];
  const groups = groupTests(files);
  const sizes = groups.map(({ name, files }) => [name, files.length]);
  assertEquals(sizes, [
    ...[["docs_1", 2], ["e2e_computer_1", 8], ["e2e_computer_2", 1]],
    ...[["unit_agent_1", 8], ["unit_agent_2", 8]],
  ]);
  assertEquals(groups.flatMap(({ files }) => files), files);
});

Deno.test("groupTests() puts unit tests last, and else keeps the order", () => {
  const files = ["docs", "unit/agent", "unit/shared", "wire"]
    .flatMap((folder) => many(`tests/${folder}`, 1));
  const names = groupTests(files).map(({ name }) => name).join(" ");
  assertEquals(names, "docs_1 wire_1 unit_agent_1 unit_shared_1");
  assertEquals(groupTests([]), []);
});
