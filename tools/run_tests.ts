/**
 * Runs the test files of folders, several of them in one realm: those of a folder load much the same
 * modules, and loading them anew for each of 400 files took a quarter of the processor's time.
 *
 * `deno run -A tools/run_tests.ts [FOLDER or FILE]...`; without arguments what `deno task test` runs.
 *
 * @module
 */
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { groupTests } from "./group_tests.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

/** The folders of tests with a task of their own. */
const OTHER_SUITES = [
  "browser",
  "clients",
  "cluster",
  "compile",
  "edge",
  "fetch",
  "interop",
  "load",
  "mcp",
  "node",
  "pages",
  "real",
];

/** Realms at a time: more than processors, since tests wait for processes most of the time. */
const JOBS = "6";

const isOther = (file: string) =>
  OTHER_SUITES.some((name) => file.startsWith(join("tests", name, "/")));

const files = Deno.args.length > 0
  ? (await Promise.all(Deno.args.map(testsIn))).flat().sort()
  : (await testsIn("tests")).filter((file) => !isOther(file)).sort();
const folder = await Deno.makeTempDir({ prefix: "smcp-tests-" });
try {
  const groups = await Promise.all(groupTests(files).map(writeGroup));
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["test", "-A", "--quiet", "--config=tests/deno.json", "--frozen"],
      ...["--no-check", "--parallel"],
      ...["--preload=tests/preload.ts", ...groups],
    ],
    cwd: root,
    env: { DENO_JOBS: Deno.env.get("DENO_JOBS") ?? JOBS },
  }).spawn().status;
  Deno.exitCode = code;
} finally {
  await Deno.remove(folder, { recursive: true });
}

/** The test files in a folder, or a file itself: paths from the root. */
async function testsIn(path: string): Promise<string[]> {
  const { isFile } = await Deno.stat(join(root, path));
  if (isFile) return [relative(root, join(root, path))];
  const found = await Array.fromAsync(Deno.readDir(join(root, path)));
  const inner = found.map(({ name, isDirectory }) =>
    isDirectory
      ? testsIn(join(path, name))
      : name.endsWith("_test.ts")
      ? [join(path, name)]
      : []
  );
  return (await Promise.all(inner)).flat();
}

/** Writes the module that imports a group; returns its path. */
async function writeGroup(
  { name, files }: { name: string; files: readonly string[] },
): Promise<string> {
  const path = join(folder, `${name}.ts`);
  const imports = files.map((file) =>
    `import ${JSON.stringify(pathToFileURL(join(root, file)).href)};\n`
  );
  await Deno.writeTextFile(path, imports.join(""));
  return path;
}
