/**
 * Finds out which test files run a line, so that a mutant is tried with these alone. Each file runs once
 * as it is, with the coverage of Deno; the result is kept in `coverage/mutate/` until a module changes
 * that the file imports. A file that fails as it is notices nothing.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { run } from "../process.ts";
import type { Mutant } from "./mutants.ts";
import type { Tree, Trees } from "./trees.ts";

/** What a test file runs. */
export interface TestFile {
  readonly file: string;
  /** Of the modules that it imports, and of the packages. */
  readonly key: string;
  readonly passes: boolean;
  /** How long it took, with coverage. */
  readonly ms: number;
  /** The lines of each source that it runs. */
  readonly lines: Readonly<Record<string, readonly number[]>>;
}

/** Test files of a mutant at most: further ones run its line only by the way. */
const MAX_UNIT_FILES = 16;
const MAX_OTHER_FILES = 8;

/** A file that takes longer counts as one that fails. */
const LIMIT_MS = 300_000;

/** The path of a work tree's own record of a test file. */
const keptAt = (root: string, file: string) =>
  join(root, "coverage/mutate", `${file.replaceAll("/", "_")}.json`);

/**
 * Returns the test files that may notice a mutant: of those that run one of its lines the ones that run most
 * lines of its file that few others run, since those are about it. Unit tests first, and the quickest.
 */
export function testsOf(
  { path, line, before }: Mutant,
  tests: readonly TestFile[],
): TestFile[] {
  const counts = new Map<number, number>();
  const linesOf = ({ lines }: TestFile) => lines[path] ?? [];
  for (const at of tests.flatMap(linesOf)) {
    counts.set(at, (counts.get(at) ?? 0) + 1);
  }
  const weight = (test: TestFile) =>
    linesOf(test).reduce((sum, at) => sum + 1 / (counts.get(at) ?? 1), 0);
  const weights = new Map(tests.map((test) => [test, weight(test)]));
  const isHit = (at: number) => at >= line && at < line + before.length;
  const hits = tests
    .filter((test) => test.passes && linesOf(test).some(isHit))
    .sort((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0));
  const isUnit = ({ file }: TestFile) => file.startsWith("tests/unit/");
  const { unit = [], other = [] } = Object.groupBy(
    hits,
    (test) => isUnit(test) ? "unit" : "other",
  );
  const byTime = (a: TestFile, b: TestFile) => a.ms - b.ms;
  return [
    ...unit.slice(0, MAX_UNIT_FILES).sort(byTime),
    ...other.slice(0, MAX_OTHER_FILES).sort(byTime),
  ];
}

/**
 * Runs each test file that imports one of the sources, unless it is known what it runs.
 *
 * @param root the work tree, which keeps the result
 * @param files test files
 * @param sources paths of sources
 */
export async function coverTests(
  { root, trees, files, sources, signal, progress }: {
    readonly root: string;
    readonly trees: Trees;
    readonly files: readonly string[];
    readonly sources: ReadonlySet<string>;
    readonly signal: AbortSignal;
    readonly progress: (done: number, all: number) => void;
  },
): Promise<TestFile[]> {
  const imports = await importsOf(files, root);
  const lock = await digestOf(join(root, "deno.lock"));
  const digests = new Map<string, Promise<string>>();
  const keyOf = async (file: string) => {
    const modules = [...imports.get(file) ?? []].toSorted();
    const parts = modules.map((module) =>
      digests.getOrInsertComputed(module, () => digestOf(join(root, module)))
    );
    return digest([file, lock, ...await Promise.all(parts)].join("\n"));
  };
  const tests: TestFile[] = [];
  const unknown: { file: string; key: string }[] = [];
  for (const file of files) {
    if (imports.get(file)?.isDisjointFrom(sources) ?? true) continue;
    const key = await keyOf(file);
    const known = await Deno.readTextFile(keptAt(root, file)).then(
      (text): TestFile => JSON.parse(text),
      () => undefined,
    );
    if (known?.key === key) tests.push(known);
    else unknown.push({ file, key });
  }
  const all = tests.length + unknown.length;
  await Deno.mkdir(join(root, "coverage/mutate"), { recursive: true });
  await trees.share(unknown, async (tree, { file, key }) => {
    progress(tests.length, all);
    const test = { file, key, ...await cover(tree, file, signal) };
    tests.push(test);
    if (!test.passes) return;
    await Deno.writeTextFile(keptAt(root, file), JSON.stringify(test));
  });
  return tests;
}

/** Runs a test file with coverage. */
async function cover(
  tree: Tree,
  file: string,
  signal: AbortSignal,
): Promise<Pick<TestFile, "passes" | "ms" | "lines">> {
  const folder = await Deno.makeTempDir({ dir: tree.path });
  const flags = [`--coverage=${folder}`, "--coverage-raw-data-only"];
  try {
    const { ended, ms } = await tree.test(
      { files: [file], limitMs: LIMIT_MS, flags },
      signal,
    );
    if (ended !== "passes") return { passes: false, ms, lines: {} };
    const base = `^${pathToFileURL(tree.path)}/`;
    const ours = [`--include=${base}`, `--exclude=${base}tests/`];
    const args = ["coverage", "--lcov", ...ours, folder];
    const lines = linesOf(await run("deno", args, tree.path), tree.path);
    return { passes: true, ms, lines };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Reads the lines that ran from a report in the format of lcov. Deno counts a line of which a part did not run
 * as 0; that the line was reached shows in the branch (`BRDA`) that begins there.
 */
function linesOf(lcov: string, root: string): Record<string, number[]> {
  const lines: Record<string, Set<number>> = {};
  let of = new Set<number>();
  for (const [, field, value = ""] of lcov.matchAll(/^(SF|DA|BRDA):(.*)$/gm)) {
    if (field === "SF") lines[value.slice(root.length + 1)] = of = new Set();
    else if (field === "BRDA" || !value.endsWith(",0")) of.add(parseInt(value));
  }
  return Object.fromEntries(
    Object.entries(lines).map(([path, ran]) => [path, [...ran]]),
  );
}

/** Returns the modules of the work tree that each file imports, directly or not. */
async function importsOf(
  files: readonly string[],
  root: string,
): Promise<Map<string, Set<string>>> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-imports-" });
  const entry = join(folder, "entry.ts");
  const base = pathToFileURL(`${root}/`).href;
  const text = files.map((file) => `import ${JSON.stringify(base + file)};\n`);
  try {
    await Deno.writeTextFile(entry, text.join(""));
    const config = fileURLToPath(`${base}deno.json`);
    const args = ["info", "--json", "--no-lock", `--config=${config}`, entry];
    const graph: Graph = JSON.parse(await run("deno", args, root));
    const next = new Map(
      graph.modules.map(({ specifier, dependencies = [] }) =>
        [
          specifier,
          dependencies.flatMap(({ code, type }) => [code, type])
            .flatMap((found) => found?.specifier ?? []),
        ] as const
      ),
    );
    return new Map(files.map((file) => {
      const found = new Set<string>([base + file]);
      for (const module of found) {
        for (const other of next.get(module) ?? []) {
          if (other.startsWith(base)) found.add(other);
        }
      }
      const paths = [...found].map((module) => module.slice(base.length));
      return [file, new Set(paths)];
    }));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The part of `deno info --json` that is read. */
interface Graph {
  readonly modules: readonly {
    readonly specifier: string;
    readonly dependencies?: readonly {
      readonly code?: { readonly specifier?: string };
      readonly type?: { readonly specifier?: string };
    }[];
  }[];
}

const digest = (text: string | Uint8Array) =>
  createHash("sha256").update(text).digest("hex");

const digestOf = async (path: string) => digest(await Deno.readFile(path));
