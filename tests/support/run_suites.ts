import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import workshop from "../deno.json" with { type: "json" };

const root = new URL("../../", import.meta.url);

/** Suites that run with another module in the place of `server/mod.ts`. */
export interface Suites {
  /** Folders and files. */
  readonly paths: readonly string[];
  /** Those in them that do not run. */
  readonly ignored: readonly string[];
  /** The path of the module. */
  readonly server: string;
  /** The path of the module that is loaded before each file. */
  readonly preload: string;
}

/**
 * Defines the tests that suites pass, but for the tests that are left out, which exist and fail.
 *
 * @param place of the server, for the names of tests
 * @param env further environment variables
 */
export function testSuites(
  place: string,
  suites: Suites,
  leftOut: Readonly<Record<string, readonly string[]>>,
  env: () => Promise<Readonly<Record<string, string>>> = () =>
    Promise.resolve({}),
): void {
  Deno.test(`the server's suites pass over ${place}, but for those left out`, async () => {
    const files = await filesOf(suites.paths, suites.ignored);
    const { code, output } = await runSuites(suites, files, await env());
    assertEquals(code, 0, output);
    const [, passed] = /\| (\d+) passed/.exec(output) ?? [];
    assert(Number(passed) > 2 * files.length, `only ${passed} tests ran`);
  });

  Deno.test(`each test that is left out exists, and fails over ${place}`, async () => {
    const files = await filesOf(suites.paths, suites.ignored);
    const variables = { ...await env(), SMCP_TEST_LEFT_OUT: "1" };
    const { code, output } = await runSuites(suites, files, variables);
    assertEquals(code, 0, output);
    const missing = Object.values(leftOut).flat()
      .filter((name) => !output.includes(`left out: ${name} ... ok`));
    assertEquals(missing, []);
  });
}

/** Runs files of suites; returns their exit code and output. */
async function runSuites(
  { server, preload }: Suites,
  files: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ code: number; output: string }> {
  const map = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(map, importMap(server));
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["test", "-A", "--no-check", "--no-lock", "--parallel"],
        ...[`--import-map=${map}`, `--preload=${preload}`],
        ...files,
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

/** Returns the test files in folders of the repository and in those in them; of a file itself. */
export async function filesOf(
  paths: readonly string[],
  ignored: readonly string[],
): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths.filter((path) => !ignored.includes(path))) {
    if (path.endsWith("_test.ts")) files.push(path);
    if (/\.[a-z]+$/.test(path)) continue;
    for await (const { name } of Deno.readDir(new URL(path, root))) {
      files.push(...await filesOf([`${path}/${name}`], ignored));
    }
  }
  return files.sort();
}

/** The package's imports, with another module in the place of `server/mod.ts`. */
function importMap(server: string): string {
  const hrefOf = (path: string) => new URL(path, root).href;
  const resolved = (target: string) =>
    target.startsWith("../") ? hrefOf(target.slice("../".length)) : target;
  // What deno.json implies, a map has to say.
  const imports = Object.fromEntries(
    Object.entries({ ...config.imports, ...workshop.imports }).flatMap((
      [name, target],
    ) => [
      [name, resolved(target)],
      [`${name}/`, `${resolved(target).replace(/^(npm|jsr):/, "$1:/")}/`],
    ]),
  );
  const replaced = { [hrefOf("server/mod.ts")]: hrefOf(server) };
  const scopes = Object.fromEntries(
    ["tests/e2e/", "tests/support/", "tests/wire/", "testing/"]
      .map((folder) => [hrefOf(folder), replaced]),
  );
  return JSON.stringify({ imports, scopes });
}
