/**
 * Changes one operator, condition, constant or call at a time, runs the tests, and prints what none
 * noticed.
 *
 * ```sh
 * deno task mutate
 * deno task mutate protocol server/office --mutants 50 --seed 7
 * deno task mutate protocol --only 1f0c22ab
 * ```
 *
 * The rooms are in `rooms.ts`, what is changed in `mutants.ts`, which tests run in `coverage.ts`, and where
 * in `trees.ts`.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command, InvalidArgumentError } from "commander";
import config from "../../deno.json" with { type: "json" };
import { coverTests, type TestFile, testsOf } from "./coverage.ts";
import { drawMutants, findMutants, type Mutant, mutate } from "./mutants.ts";
import {
  countShares,
  isLow,
  showMutant,
  showShares,
  type Tried,
} from "./report.ts";
import { type Room, ROOMS } from "./rooms.ts";
import { filesOf, type Outcome, type Tree, Trees } from "./trees.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The time limit of a run of tests: so many times as long as they took as they are, and its start. */
const SLOWER = 5;
const START_MS = 30_000;

/** For paths outside of all rooms. */
const ELSEWHERE: Room = { tests: ["tests/unit", "tests/e2e"], floor: 0 };

/** A path whose sources are mutated. */
interface Part {
  readonly room: string;
  readonly mutants: readonly Mutant[];
}

const roomOf = (path: string): string =>
  Object.keys(ROOMS).find((room) => `${path}/`.startsWith(`${room}/`)) ?? path;

const integer = (text: string): number => {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Expected a whole number from 1 on.");
};

/** Finds the mutants of a path. */
async function partOf(path: string): Promise<Part> {
  const files = (await filesOf(ROOT, path)).filter((file) =>
    file.endsWith(".ts") &&
    !config.exclude.some((folder) => file.startsWith(folder))
  );
  if (files.length === 0) throw new Error(`There are no sources in ${path}`);
  const mutants = await Promise.all(
    files.map(async (file) =>
      findMutants(file, await Deno.readTextFile(join(ROOT, file)))
    ),
  );
  return { room: roomOf(path), mutants: mutants.flat() };
}

/** Shows how far it is, in one line. */
function progress(text: string): void {
  if (Deno.stderr.isTerminal()) {
    Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
  }
}

/** Runs the tests of a mutant, and writes the source back. */
async function tryMutant(
  mutant: Mutant,
  tests: readonly TestFile[],
  tree: Tree,
  signal: AbortSignal,
): Promise<Outcome> {
  const source = await tree.read(mutant.path);
  await tree.write(mutant.path, mutate(source, mutant));
  try {
    return await runTests(tests, tree, signal);
  } finally {
    await tree.write(mutant.path, source);
  }
}

/** Runs tests until one fails; it must fail twice, since a busy machine makes some fail now and then. */
async function runTests(
  tests: readonly TestFile[],
  tree: Tree,
  signal: AbortSignal,
): Promise<Outcome> {
  const run = (some: readonly TestFile[]) => {
    const files = some.map(({ file }) => file);
    const limitMs = some.reduce((sum, { ms }) => sum + ms * SLOWER, START_MS);
    return tree.test({ files, limitMs, flags: ["--fail-fast"] }, signal);
  };
  const outcome = await run(tests);
  if (outcome.ended === "passes") return outcome;
  const [, last] = [...outcome.output.matchAll(STARTED)].at(-1) ?? [];
  const at = tests.findIndex(({ file }) => file === last);
  if (at < 0) return outcome;
  const again = await run(tests.slice(at, at + 1));
  const rest = tests.slice(at + 1);
  return again.ended !== "passes" || rest.length === 0
    ? again
    : await runTests(rest, tree, signal);
}

/** The line before the tests of a file. */
const STARTED = /^running \d+ tests? from \.\/(\S+)/gm;

/**
 * Tries mutants in copies of the work tree, those of the rooms in turn.
 *
 * @param found is called with the fate of each, and with the output of its tests
 */
async function tryAll(
  parts: readonly Part[],
  signal: AbortSignal,
  found: (tried: Tried, output: string) => void,
): Promise<void> {
  const all = parts.flatMap(({ room, mutants }) =>
    mutants.map((mutant, turn) => ({ room, mutant, turn }))
  ).sort((a, b) => a.turn - b.turn);
  const tests = new Map<string, ReadonlySet<string>>();
  for (const { room } of parts) {
    const { tests: folders } = ROOMS[room] ?? ELSEWHERE;
    const files = await filesOf(ROOT, ...folders);
    tests.set(room, new Set(files.filter((file) => file.endsWith("_test.ts"))));
  }
  await using trees = await Trees.of(ROOT);
  const covered = await coverTests({
    root: ROOT,
    trees,
    files: [...new Set([...tests.values()].flatMap((files) => [...files]))],
    sources: new Set(all.map(({ mutant }) => mutant.path)),
    signal,
    progress: (done, files) =>
      progress(`which tests run which functions: ${done}/${files} files`),
  });
  progress("");
  for (const { file, passes } of covered) {
    if (!passes) console.log(`${file} fails as it is, and notices nothing\n`);
  }
  let done = 0;
  let survived = 0;
  await trees.share(all, async (tree, { room, mutant }) => {
    progress(`mutants: ${done}/${all.length}, ${survived} not noticed`);
    const those = testsOf(
      mutant,
      covered.filter(({ file }) => tests.get(room)?.has(file)),
    );
    const { ended, output } = those.length === 0
      ? { ended: "not run", output: "" } as const
      : await tryMutant(mutant, those, tree, signal);
    const fate = ended === "passes"
      ? "not noticed"
      : ended === "not run"
      ? ended
      : "noticed";
    done++;
    if (fate !== "noticed") survived++;
    progress("");
    found({ room, mutant, fate }, output);
  });
}

/** The flags. */
interface Flags {
  readonly mutants: number;
  readonly seed: number;
  readonly minutes: number;
  readonly list?: true;
  readonly only?: string;
}

async function main(paths: string[], flags: Flags): Promise<void> {
  const found = await Promise.all(
    (paths.length > 0 ? paths : Object.keys(ROOMS)).map(partOf),
  );
  const each = Math.ceil(flags.mutants / found.length);
  const parts = found.map((part) => ({
    ...part,
    mutants: flags.only === undefined
      ? drawMutants(part.mutants, flags.seed, each)
      : part.mutants.filter(({ id }) => id === flags.only),
  }));
  const drawn = parts.flatMap(({ room, mutants }) =>
    mutants.map((mutant) => ({ room, mutant }))
  );
  if (drawn.length === 0) throw new Error("There is no such mutant");
  if (flags.list) {
    for (const { room, mutant } of drawn) console.log(showMutant(mutant, room));
    return;
  }
  const stop = new AbortController();
  Deno.addSignalListener("SIGINT", () => stop.abort());
  Deno.addSignalListener("SIGTERM", () => stop.abort());
  const limit = AbortSignal.timeout(flags.minutes * 60_000);
  const signal = AbortSignal.any([stop.signal, limit]);
  const tried: Tried[] = [];
  try {
    await tryAll(parts, signal, (one, output) => {
      tried.push(one);
      if (flags.only !== undefined) console.log(output);
      if (one.fate !== "noticed" || flags.only !== undefined) {
        console.log(showMutant(one.mutant, one.room, one.fate));
      }
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  const done = new Set(tried.map(({ mutant }) => mutant));
  for (const one of drawn) {
    if (!done.has(one.mutant)) tried.push({ ...one, fate: "not reached" });
  }
  const shares = countShares(tried, floorsOf(parts));
  console.log(showShares(shares));
  if (stop.signal.aborted) Deno.exitCode = 130;
  else if (shares.some(isLow)) Deno.exitCode = 1;
}

const floorsOf = (parts: readonly Part[]): Record<string, number> =>
  Object.fromEntries(
    parts.map(({ room }) => [room, (ROOMS[room] ?? ELSEWHERE).floor]),
  );

await new Command("mutate")
  .description(
    "Changes one operator, condition, constant or call at a time in copies of the work tree, runs the tests of the function, and prints what none noticed. Exits with 1 where a room is below its floor (tools/mutate/rooms.ts).",
  )
  .argument(
    "[path...]",
    `rooms, or other folders and files; without: ${
      Object.keys(ROOMS).join(", ")
    }`,
  )
  .option("--mutants <number>", "an equal part for each path", integer, 300)
  .option("--seed <number>", "another one draws others", integer, 1)
  .option(
    "--minutes <number>",
    "time limit; mutants that were not reached do not count",
    integer,
    40,
  )
  .option("--list", "print the mutants that would be tried")
  .option("--only <id>", "try this one, and print the output of its tests")
  .action(main)
  .parseAsync(Deno.args, { from: "user" })
  .catch((error: unknown) => {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    Deno.exitCode = 2;
  });
