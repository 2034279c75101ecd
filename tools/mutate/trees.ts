/**
 * Copies of the work tree, in which mutants are written and tests run: the work tree itself is only read.
 * All copies, and what tests leave in the folder for temporary files, are removed in the end.
 *
 * @module
 */
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { run } from "../process.ts";

/** How a run of tests ended: `hangs` when it was killed after its time limit. */
export interface Outcome {
  readonly ended: "passes" | "fails" | "hangs";
  readonly ms: number;
  readonly output: string;
}

/** Tests to run, in this order. */
export interface TestRun {
  readonly files: readonly string[];
  readonly limitMs: number;
  /** Flags of `deno test`. */
  readonly flags: readonly string[];
}

/** A copy. */
export interface Tree {
  readonly path: string;
  read(file: string): Promise<string>;
  write(file: string, text: string): Promise<void>;
  /** Runs tests; rejects with the reason of the signal when that ends them. */
  test(run: TestRun, signal: AbortSignal): Promise<Outcome>;
}

/** One copy for each processor. */
export class Trees implements AsyncDisposable {
  readonly all: readonly Tree[];
  readonly #folder: string;

  private constructor(folder: string, all: readonly Tree[]) {
    this.#folder = folder;
    this.all = all;
  }

  /** Copies the files of a work tree that Git does not ignore. */
  static async of(root: string): Promise<Trees> {
    const folder = await Deno.makeTempDir({ prefix: "smcp-mutate-" });
    const paths = Array.from(
      { length: availableParallelism() },
      (_, at) => join(folder, `${at + 1}`),
    );
    const files = await filesOf(root);
    const trees = paths.map((path) => treeAt(path, join(folder, "tmp")));
    const made = new Trees(folder, trees);
    try {
      await Deno.mkdir(join(folder, "tmp"));
      for (const path of paths) {
        for (const file of files) {
          await copy(join(root, file), join(path, file));
        }
      }
      return made;
    } catch (error) {
      await made[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Gives each item to the next copy that is free. */
  async share<T>(
    items: readonly T[],
    use: (tree: Tree, item: T) => Promise<void>,
  ): Promise<void> {
    const rest = items.values();
    const ends = await Promise.allSettled(this.all.map(async (tree) => {
      for (const item of rest) await use(tree, item);
    }));
    const failed = ends.find(({ status }) => status === "rejected");
    if (failed?.status === "rejected") throw failed.reason;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** The files of a work tree, or of parts of it, that Git does not ignore: paths from its root. */
export async function filesOf(
  root: string,
  ...parts: readonly string[]
): Promise<string[]> {
  const flags = ["--cached", "--others", "--exclude-standard", "--deduplicate"];
  const listed = await run("git", ["ls-files", ...flags, "--", ...parts], root);
  const files = listed.split("\n").filter((file) => file !== "");
  const isThere = await Promise.all(
    files.map((file) => Deno.stat(join(root, file)).catch(() => undefined)),
  );
  return files.filter((_, at) => isThere[at]?.isFile);
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(dirname(to), { recursive: true });
  await Deno.copyFile(from, to);
}

const treeAt = (path: string, temporary: string): Tree => ({
  path,
  read: (file) => Deno.readTextFile(join(path, file)),
  write: (file, text) => Deno.writeTextFile(join(path, file), text),
  test: ({ files, limitMs, flags }, signal) =>
    untilEnded(
      new Deno.Command(Deno.execPath(), {
        args: [
          ...["test", "-A", "--quiet", "--config=tests/deno.json", "--frozen"],
          ...["--no-check", "--no-prompt"],
          ...["--preload=tests/preload.ts", ...flags, ...files],
        ],
        cwd: path,
        env: { NO_COLOR: "1", TMPDIR: temporary },
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
        detached: true, // a group of its own, with the processes that tests start
      }),
      limitMs,
      signal,
    ),
});

async function untilEnded(
  command: Deno.Command,
  limitMs: number,
  signal: AbortSignal,
): Promise<Outcome> {
  signal.throwIfAborted();
  const started = performance.now();
  const child = command.spawn();
  const limit = AbortSignal.timeout(limitMs);
  const kill = () => killGroup(child.pid);
  limit.addEventListener("abort", kill);
  signal.addEventListener("abort", kill);
  try {
    const { success, stdout, stderr } = await child.output();
    signal.throwIfAborted();
    return {
      ended: limit.aborted ? "hangs" : success ? "passes" : "fails",
      ms: performance.now() - started,
      output: [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes))
        .join(""),
    };
  } finally {
    limit.removeEventListener("abort", kill);
    signal.removeEventListener("abort", kill);
    kill(); // what tests have left
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch {
    // It has ended.
  }
}
