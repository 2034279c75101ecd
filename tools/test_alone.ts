/**
 * Runs test tasks, each alone: in a new clone of the last commit, with empty caches of Deno, npm, pip and
 * the tools of this repository. So none of them passes by what another one has fetched. Debian's packages
 * are those of this machine.
 *
 * ```sh
 * deno run -A tools/test_alone.ts test:edge test:bun
 * ```
 *
 * Without arguments it runs all those of .ci/run, which takes hours; with `--turn NUMBER` one of them, and
 * with the next number the next one.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import config from "../deno.json" with { type: "json" };
import { run } from "./process.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

/** Where programs keep what they download, by their variables. */
const CACHES = {
  DENO_DIR: "deno",
  npm_config_cache: "npm",
  PIP_CACHE_DIR: "pip",
  XDG_CACHE_HOME: "other",
};

const tasks = await chosenTasks(Deno.args);
const unknown = tasks.filter((task) =>
  !/^test(:|$)/.test(task) || !Object.hasOwn(config.tasks, task)
);
if (unknown.length > 0) {
  console.error(
    `error: no test task: ${unknown.join(", ")}; deno task lists them`,
  );
  Deno.exit(2);
}
const failed: string[] = [];
for (const task of tasks) {
  console.log(`== deno task ${task}, alone ==`);
  if (!await passesAlone(task)) failed.push(task);
}
console.log(
  failed.length === 0
    ? `${tasks.join(", ")}: each passes alone`
    : `error: alone, these fail: ${failed.join(", ")}`,
);
Deno.exitCode = failed.length === 0 ? 0 : 1;

async function chosenTasks(args: readonly string[]): Promise<string[]> {
  const [flag, turn] = args;
  if (flag === undefined) return await tasksOfCi();
  if (flag !== "--turn") return [...args];
  if (args.length !== 2 || !/^\d+$/.test(turn ?? "")) {
    console.error("error: --turn needs one number, such as that of the week");
    Deno.exit(2);
  }
  const all = await tasksOfCi();
  return all.slice(Number(turn) % all.length).slice(0, 1);
}

async function tasksOfCi(): Promise<string[]> {
  const script = await Deno.readTextFile(join(root, ".ci/run"));
  const found = script.matchAll(/^ *run_tests .*\bdeno task (\S+)$/gm);
  return [...found].map(([, task = ""]) => task);
}

async function passesAlone(task: string): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-alone-" });
  try {
    const clone = join(folder, "clone");
    await run("git", ["clone", "--quiet", root, clone], folder);
    const caches = Object.entries(CACHES).map(([name, path]) => [
      name,
      join(folder, path),
    ]);
    const { success } = await new Deno.Command(Deno.execPath(), {
      args: ["task", task],
      cwd: clone,
      env: Object.fromEntries(caches),
      stdin: "null",
    }).spawn().status;
    return success;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
