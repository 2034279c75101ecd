/**
 * Finds out which test files run a function, so that a mutant is tried with these alone. Each file runs once
 * as it is, with the coverage of Deno, whose counts of lines are too coarse for this; the result is kept in
 * `coverage/mutate/` until a module changes that the file imports. A file that fails as it is notices nothing.
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
  /** The sources that it loads: whether it runs the functions with names that begin in a line. */
  readonly sources: Readonly<Record<string, Readonly<Record<number, boolean>>>>;
}

/** Test files of a mutant at most: further ones run its function only by the way. */
const MAX_UNIT_FILES = 32;
const MAX_OTHER_FILES = 8;

/** A file that takes longer counts as one that fails. */
const LIMIT_MS = 300_000;

/** The path of a work tree's own record of a test file. */
const keptAt = (root: string, file: string) =>
  join(root, "coverage/mutate", `${file.replaceAll("/", "_")}.json`);

/**
 * Returns the test files that may notice a mutant: of those that run the function around it the ones that run
 * functions of its file that few others run, and load little else. Unit tests first, and the quickest.
 */
export function testsOf(
  { path, functions }: Mutant,
  tests: readonly TestFile[],
): TestFile[] {
  const loading = tests.filter(({ passes, sources }) =>
    passes && sources[path]
  );
  const counts = new Map<string, number>();
  const runBy = ({ sources }: TestFile) =>
    Object.entries(sources[path] ?? {}).filter(([, ran]) => ran)
      .map(([line]) => line);
  for (const line of loading.flatMap(runBy)) {
    counts.set(line, (counts.get(line) ?? 0) + 1);
  }
  const around = functions.find((line) =>
    loading.some(({ sources }) => sources[path]?.[line] !== undefined)
  );
  const weightOf = (test: TestFile) =>
    runBy(test).reduce(
      (sum, line) => sum + 1 / (counts.get(line) ?? 1),
      1 / Object.keys(test.sources).length,
    );
  const hits = loading
    .filter(({ sources }) => around === undefined || sources[path]?.[around])
    .map((test) => ({ test, weight: weightOf(test) }))
    .sort((a, b) => b.weight - a.weight).map(({ test }) => test);
  const { unit = [], other = [] } = Object.groupBy(
    hits,
    ({ file }) => file.startsWith("tests/unit/") ? "unit" : "other",
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
  const lock = await digestOf(join(root, "tests/deno.lock"));
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
): Promise<Pick<TestFile, "passes" | "ms" | "sources">> {
  const folder = await Deno.makeTempDir({ dir: tree.path });
  const flags = [`--coverage=${folder}`, "--coverage-raw-data-only"];
  try {
    const { ended, ms } = await tree.test(
      { files: [file], limitMs: LIMIT_MS, flags },
      signal,
    );
    if (ended !== "passes") return { passes: false, ms, sources: {} };
    const base = `^${pathToFileURL(tree.path)}/`;
    const ours = [`--include=${base}`, `--exclude=${base}tests/`];
    const args = ["coverage", "--lcov", ...ours, folder];
    const sources = readCoverage(await run("deno", args, tree.path), tree.path);
    return { passes: true, ms, sources };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Reads which functions ran from a report in the format of lcov: a file's lines `FN`, then its `FNDA`. */
function readCoverage(lcov: string, root: string): TestFile["sources"] {
  const sources: Record<string, Record<number, boolean>> = {};
  for (const report of lcov.split("end_of_record")) {
    const fieldsOf = (name: string) =>
      [...report.matchAll(new RegExp(`^${name}:([^,\\n]*)`, "gm"))]
        .map(([, value = ""]) => value);
    const [path] = fieldsOf("SF");
    if (path === undefined) continue;
    const counts = fieldsOf("FNDA");
    const functions: Record<number, boolean> = {};
    for (const [at, line] of fieldsOf("FN").entries()) {
      functions[Number(line)] ||= counts[at] !== "0";
    }
    sources[path.slice(root.length + 1)] = functions;
  }
  return sources;
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
    const config = fileURLToPath(`${base}tests/deno.json`);
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
