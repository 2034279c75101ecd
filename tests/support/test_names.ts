import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const TESTS = fileURLToPath(new URL("..", import.meta.url));

/** `attack("name"`, `Deno.test("name"`, `Deno.test({ name: "name"`, `consoleTest("name"`, `onTerminal("name"`, `testBounded("name"` and `t.step("name"`, across lines. */
const TEST_NAME =
  /(?:\battack|\bDeno\.test|\bconsoleTest|\bonTerminal|\btest[A-Z]\w*|\.step)\(\s*(?:\{\s*name:\s*)?(["'`])((?:(?!\1)[^\\]|\\[^])*)\1/g;

/** The names of the tests in a source file; a name that is computed is none. */
export const testNamesIn = (source: string): string[] =>
  [...source.matchAll(TEST_NAME)]
    .map(([, , name = ""]) => name.replace(/\\([^])/g, "$1"));

/** The names of all tests below `tests/`, read from their sources. */
export async function allTestNames(): Promise<string[]> {
  const files = await readdir(TESTS, { recursive: true });
  const sources = await Promise.all(
    files.filter((file) => /(_test|attacks)\.ts$/.test(file))
      .map((file) => readFile(join(TESTS, file), "utf8")),
  );
  return sources.flatMap(testNamesIn);
}
