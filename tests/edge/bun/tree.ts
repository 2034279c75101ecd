import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../../../deno.json" with { type: "json" };
import workshop from "../../deno.json" with { type: "json" };
import { findBun } from "../../../tools/npm/bun.ts";
import { run } from "../../../tools/process.ts";
import { readTap, type TapResult } from "../../node/read_tap.ts";
import { start } from "../../support/child.ts";
import type { LeftOut } from "./in_bun/register.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** What no test needs, or what a copy has of its own. */
const LEFT = [".git", "node_modules", "coverage", "dist"];

/** How a module starts in Bun as if `Deno` were there. */
const OPTIONS = [
  ...["--define", "Deno:denoInBun"],
  ...["--preload", "./tests/edge/bun/in_bun/namespace.ts"],
];

/** What replaces the server's module in tests over `fetch`. */
const LISTENING_SERVER = "tests/fetch/listening_server.ts";

/** What deno.json resolves, and Bun would not. */
const PATHS = {
  ...Object.fromEntries(
    Object.entries(workshop.imports)
      .filter(([, target]) => target.startsWith("../"))
      .map(([name, target]) => [name, [target.slice(1)]]),
  ),
  "@std/assert": ["./links/std-assert/mod.ts"],
  "npm:deno-std@1.4.0/*": ["./node_modules/deno-std/*"],
  "npm:std-semver@1.0.8": ["./node_modules/std-semver"],
};

/** A copy of this repository in which Bun runs its modules. */
export interface Tree extends AsyncDisposable {
  /**
   * Runs a test file in Bun.
   *
   * @returns its tests; the names of those left out are marked
   */
  run(file: string, leftOut: LeftOut): Promise<TapResult[]>;
}

/** The adapter that `createFetchServer()` uses there. */
const ADAPTER =
  `export { bun as deno, type BunServer as FetchInfo } from "./bun.ts";\n`;

/** The folders whose modules get another `createSmcpServer()` in a copy for `fetch`. */
const OVER_FETCH = ["testing", "tests/e2e", "tests/support", "tests/wire"];

/**
 * Copies this repository, with the packages of tests/deno.lock in `node_modules`.
 *
 * A test that starts `deno run` with a module of the copy starts Bun in its place.
 *
 * @param isOverFetch whether `Bun.serve` listens where a suite has a server listen
 */
export async function copyTree(isOverFetch: boolean): Promise<Tree> {
  const bun = await findBun();
  const folder = await Deno.makeTempDir({ prefix: "smcp-bun-" });
  await copy(root, folder);
  await installPackages(folder);
  const paths = {
    ...PATHS,
    ...(isOverFetch && { "@a2c-smcp/server": [`./${LISTENING_SERVER}`] }),
  };
  await Deno.writeTextFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: { baseUrl: ".", paths } }),
  );
  await Deno.writeTextFile(join(folder, "server/fetch/deno.ts"), ADAPTER);
  if (isOverFetch) {
    for (const name of OVER_FETCH) await redirect(join(folder, name), folder);
  }
  const deno = join(folder, "deno");
  await Deno.writeTextFile(deno, denoScript(bun, folder), { mode: 0o755 });
  return {
    async run(file, leftOut) {
      await using child = start(bun, [
        ...OPTIONS,
        "tests/edge/bun/in_bun/run_suite.ts",
        file,
        JSON.stringify(leftOut),
        ...(isOverFetch ? ["fetch"] : []),
      ], { cwd: folder, env: { SMCP_DENO: deno } });
      await child.status;
      const isWhole = child.lines.some((line) => /^1\.\.\d+$/.test(line));
      if (isWhole) return readTap(child.lines);
      throw new Error(`${file} broke off:\n${child.lines.join("\n")}`);
    },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

/**
 * Installs what source and tests import, into one folder for both: two copies of a package would be two
 * modules. So the copy's configuration becomes that of the tests.
 */
async function installPackages(folder: string): Promise<void> {
  const { name, version, exports, links } = config;
  const packages = Object.entries(workshop.imports)
    .filter(([, target]) => !target.startsWith("../"));
  const merged = {
    name,
    version,
    exports,
    links,
    imports: { ...config.imports, ...Object.fromEntries(packages) },
  };
  await Deno.writeTextFile(join(folder, "deno.json"), JSON.stringify(merged));
  await Deno.copyFile(
    join(folder, "tests/deno.lock"),
    join(folder, "deno.lock"),
  );
  await run("deno", [
    ...["install", "--quiet", "--node-modules-dir=auto"],
  ], folder);
}

/** A shell script with the name of Deno, which starts the modules of a folder with Bun. */
const denoScript = (bun: string, folder: string): string =>
  `#!/bin/sh
module_of() {
  shift
  for word; do
    case $word in -*) ;; *) echo "$word"; return ;; esac
  done
}
module=$(module_of "$@")
case $1:$(realpath -- "$module" 2>/dev/null) in
run:${folder}/*.ts)
  while [ "$1" != "$module" ]; do shift; done
  shift
  exec ${bun} ${OPTIONS.join(" ").replace("./", `${folder}/`)} "$module" "$@"
  ;;
esac
exec ${Deno.execPath()} "$@"
`;

/** Makes the modules of a folder and those in it import the server of tests/fetch. */
async function redirect(folder: string, tree: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) await redirect(path, tree);
    if (!name.endsWith(".ts")) continue;
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(
      path,
      text.replaceAll(
        /"(\.\.\/)+server\/mod\.ts"/g,
        JSON.stringify(join(tree, LISTENING_SERVER)),
      ),
    );
  }
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (LEFT.includes(name) || name.endsWith(".png")) continue;
    const source = join(from, name);
    const target = join(to, name);
    if (isDirectory) await copy(source, target);
    else if (isFile) await Deno.copyFile(source, target);
  }
}
