/**
 * The suites that also run over the entry for `fetch`.
 *
 * @module
 */

const root = new URL("../../", import.meta.url);

/** Those that start a server in their own process. */
const SUITES = [
  "tests/e2e/spec",
  "tests/e2e/server",
  "tests/wire",
];

/** Suites of the command and of the operator API, which this entry has not, and those of the entry itself. */
const IGNORED = [
  "tests/e2e/server/command_test.ts",
  "tests/e2e/server/fetch",
  "tests/e2e/server/hostile/bounded_server_test.ts",
  "tests/e2e/server/hostile/log_reader_test.ts",
  "tests/e2e/server/hostile/memory_test.ts",
  "tests/e2e/server/hostile/packets_test.ts",
  "tests/e2e/server/hostile/payloads_test.ts",
  "tests/e2e/server/operator",
];

/** Returns the files of these suites. */
export const suiteFiles = (): Promise<string[]> => filesOf(SUITES, IGNORED);

/** Returns the test files in folders of the repository and in those in them. */
export async function filesOf(
  folders: readonly string[],
  ignored: readonly string[],
): Promise<string[]> {
  const files: string[] = [];
  for (const folder of folders) {
    for await (const { name, isFile } of Deno.readDir(new URL(folder, root))) {
      const path = `${folder}/${name}`;
      if (ignored.includes(path)) continue;
      if (!isFile) files.push(...await filesOf([path], ignored));
      else if (name.endsWith("_test.ts")) files.push(path);
    }
  }
  return files.sort();
}
