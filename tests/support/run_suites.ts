import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };

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

/** Runs suites; returns their exit code and output. */
export async function runSuites(
  { paths, ignored, server, preload }: Suites,
  env: Readonly<Record<string, string>>,
): Promise<{ code: number; output: string }> {
  const map = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(map, importMap(server));
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        "-A",
        "--no-check",
        "--no-lock",
        "--parallel",
        `--import-map=${map}`,
        `--preload=${preload}`,
        ...await filesOf(paths, ignored),
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
  for (const path of paths) {
    if (ignored.includes(path)) continue;
    if (path.endsWith(".ts")) {
      if (path.endsWith("_test.ts")) files.push(path);
      continue;
    }
    for await (const { name } of Deno.readDir(new URL(path, root))) {
      files.push(...await filesOf([`${path}/${name}`], ignored));
    }
  }
  return files.sort();
}

/** The package's imports, with another module in the place of `server/mod.ts`. */
function importMap(server: string): string {
  const imports: Record<string, string> = {};
  for (const [name, target] of Object.entries(config.imports)) {
    imports[name] = target;
    // What deno.json implies, a map has to say.
    imports[`${name}/`] = `${target.replace(/^(npm|jsr):/, "$1:/")}/`;
  }
  const replaced = {
    [new URL("server/mod.ts", root).href]: new URL(server, root).href,
  };
  const scopes = Object.fromEntries(
    ["tests/e2e/", "tests/support/", "tests/wire/", "testing/"].map((
      folder,
    ) => [new URL(folder, root).href, replaced]),
  );
  return JSON.stringify({ imports, scopes });
}
