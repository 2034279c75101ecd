import { join } from "node:path";
import { type Child, start } from "../../tests/support/child.ts";
import { startMain } from "../../tests/support/command.ts";
import { findNode, NODE_VERSIONS } from "../../tools/npm/node.ts";
import { CLI_NAME } from "../../tools/npm/commands_package.ts";
import { installPackages, npmPackages } from "../../tools/npm/npm_package.ts";
import { memoryOf } from "./process_usage.ts";
import type { CommandCost } from "./result.ts";
import { median } from "./statistics.ts";

/** How a runtime starts commands. */
interface Runtime {
  /** Its name and version. */
  readonly name: string;
  /** Starts a command of the package. */
  command(name: "agent" | "computer" | "server", args: string[]): Child;
  /** Starts a program of one line. */
  program(code: string): Child;
}

/** A command, with its output when it is ready. */
interface Start {
  readonly command: string;
  readonly ready: RegExp;
  start(runtime: Runtime): Child;
}

/** Delay before the memory of a command is read, so that temporary memory of its start is freed. */
const SETTLE_MS = 500;

const DENO: Runtime = {
  name: `Deno ${Deno.version.deno}`,
  command: startMain,
  program: (code) => start(Deno.execPath(), ["eval", code]),
};

/**
 * Measures start-up and memory of the three commands, on Deno and on Node.
 *
 * @param quick measure once, and only on Deno, since building the tarball for Node takes long
 */
export async function measureCommands(
  { quick }: { quick: boolean },
): Promise<CommandCost[]> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-ends-" });
  try {
    await Deno.writeTextFile(
      join(folder, "computer.json"),
      JSON.stringify({ servers: {} }),
    );
    await using server = startMain("server", ["--port=0", "--no-limits"]);
    const [url = ""] = await server.line(/http:\/\/127\.0\.0\.1:\d+/);
    const runtimes = quick ? [DENO] : [DENO, await nodeRuntime(folder)];
    const starts = startsOf(url, join(folder, "computer.json"));
    const samples = new Map<
      string,
      Omit<CommandCost, "command" | "runtime">[]
    >();
    for (let round = quick ? 0 : -1; round < (quick ? 1 : 9); round++) {
      for (const runtime of runtimes) {
        for (const command of starts) {
          const sample = await measure(command, runtime);
          if (round < 0) continue; // the first one fills the caches
          const key = `${command.command} ${runtime.name}`;
          samples.set(key, [...samples.get(key) ?? [], sample]);
        }
      }
    }
    return starts.flatMap(({ command }) =>
      runtimes.map(({ name }) => ({
        command,
        runtime: name,
        ...middle(samples.get(`${command} ${name}`) ?? []),
      }))
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function measure(
  { start, ready }: Start,
  runtime: Runtime,
): Promise<Omit<CommandCost, "command" | "runtime">> {
  const began = performance.now();
  await using child = start(runtime);
  await child.line(ready);
  const time = performance.now() - began;
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const memory = await memoryOf(child.pid);
  return { ready: time, ...(memory !== undefined && { memory }) };
}

function middle(
  samples: readonly Omit<CommandCost, "command" | "runtime">[],
): Omit<CommandCost, "command" | "runtime"> {
  const memory = samples.flatMap(({ memory }) => memory ?? []);
  return {
    ready: median(samples.map(({ ready }) => ready)),
    ...(memory.length > 0 && { memory: median(memory) }),
  };
}

/** Each command that needs an office joins a separate one. */
const startsOf = (url: string, config: string): Start[] => [
  {
    command: "nothing",
    ready: /^ready$/,
    start: (runtime) =>
      runtime.program(`console.log("ready"); setInterval(() => {}, 1e6);`),
  },
  {
    command: "server",
    ready: /listening on http/,
    start: (runtime) => runtime.command("server", ["--port=0"]),
  },
  {
    command: "computer",
    ready: /^joined office/,
    start: (runtime) =>
      runtime.command("computer", [
        "run",
        `--url=${url}`,
        "--office=computers",
        "--name=pc",
        `--config=${config}`,
      ]),
  },
  {
    command: "agent",
    ready: /^watching/,
    start: (runtime) =>
      runtime.command("agent", ["watch", `--url=${url}`, "--office=agents"]),
  },
];

/** The oldest supported Node, with the package installed from its tarball. */
async function nodeRuntime(folder: string): Promise<Runtime> {
  const node = await findNode(NODE_VERSIONS[0]);
  await installPackages(folder, (await npmPackages(folder)).cli);
  const bin = join(folder, "node_modules", CLI_NAME, "bin");
  return {
    name: `Node ${NODE_VERSIONS[0]}`,
    command: (name, args) =>
      start(node, [join(bin, `smcp-${name}.js`), ...args]),
    program: (code) => start(node, ["--eval", code]),
  };
}
