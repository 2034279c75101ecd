import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Child, start } from "../../tests/support/child.ts";
import { startMain } from "../../tests/support/command.ts";
import { DENO_ENV } from "../../tests/support/computer/mcp_servers.ts";
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
  /** Starts `smcp up`. */
  up(args: string[]): Child;
  /** Starts a program of one line. */
  program(code: string): Child;
}

/** A command, with its output when it is ready. */
interface Start {
  readonly command: string;
  /** The line of its output; what it captures is the URL of a Server, which then answers `/health`. */
  readonly ready: RegExp;
  /** Whether it ends by itself, so that its memory is the most of it. */
  readonly ends?: boolean;
  start(runtime: Runtime): Child;
}

/** Delay before the memory of a command is read, so that temporary memory of its start is freed. */
const SETTLE_MS = 500;

/** How often the memory of a command is read that ends by itself. */
const SAMPLE_MS = 5;

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** An MCP server with a tool that answers at once. */
const PICTURES = {
  type: "stdio",
  server_parameters: {
    command: Deno.execPath(),
    args: [
      ...["run", "-A", "--quiet"],
      pathOf("../../tests/support/fixtures/pictures.ts"),
    ],
    env: DENO_ENV,
  },
};

const DENO: Runtime = {
  name: `Deno ${Deno.version.deno}`,
  command: startMain,
  up: (args) =>
    start(Deno.execPath(), [
      ...["run", "-A", "--quiet", "--frozen"],
      ...["--config", pathOf("../../deno.json"), pathOf("../../mod.ts"), "up"],
      ...args,
    ]),
  program: (code) => start(Deno.execPath(), ["eval", code]),
};

/**
 * Measures start-up and memory of the commands, on Deno and on Node.
 *
 * @param quick measure once, and only on Deno, since building the tarball for Node takes long
 */
export async function measureCommands(
  { quick }: { quick: boolean },
): Promise<CommandCost[]> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-ends-" });
  try {
    const config = join(folder, "computer.json");
    await Deno.writeTextFile(config, JSON.stringify({ servers: {} }));
    const tools = join(folder, "tools.json");
    await Deno.writeTextFile(
      tools,
      JSON.stringify({ servers: { pictures: PICTURES } }),
    );
    await using server = startMain("server", ["--port=0", "--no-limits"]);
    const [url = ""] = await server.line(/http:\/\/127\.0\.0\.1:\d+/);
    await using computer = startMain("computer", [
      "run",
      ...[`--url=${url}`, "--office=calls", "--name=pc", "--yes"],
      `--config=${tools}`,
    ]);
    await computer.line(/pictures.*running/);
    const runtimes = quick ? [DENO] : [DENO, await nodeRuntime(folder)];
    const starts = startsOf(url, config);
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
  { start, ready, ends }: Start,
  runtime: Runtime,
): Promise<Omit<CommandCost, "command" | "runtime">> {
  const began = performance.now();
  await using child = start(runtime);
  const peak = ends ? peakOf(child.pid) : undefined;
  const [, url] = await child.line(ready);
  if (url !== undefined) {
    const health = await fetch(`${url}/health`);
    if (!health.ok) throw new Error(`${url}/health: ${await health.text()}`);
    await health.body?.cancel();
  }
  const time = performance.now() - began;
  if (!ends) await pause(SETTLE_MS);
  const memory = ends ? await peak : await memoryOf(child.pid);
  return { ready: time, ...(memory !== undefined && { memory }) };
}

/** Returns the most memory of a process until its end; `undefined` without `/proc`. */
async function peakOf(pid: number): Promise<number | undefined> {
  let peak: number | undefined;
  for (let now; (now = await memoryOf(pid)) !== undefined;) {
    peak = Math.max(peak ?? 0, now);
    await pause(SAMPLE_MS);
  }
  return peak;
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
    ready: /listening on (http:\/\/127\.0\.0\.1:\d+)/,
    start: (runtime) => runtime.command("server", ["--port=0"]),
  },
  {
    command: "up",
    ready: /--url (http:\/\/127\.0\.0\.1:\d+)/,
    start: (runtime) => runtime.up(["--port=0", `--config=${config}`]),
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
  {
    command: "agent call",
    ready: /^\[image\]/,
    ends: true,
    start: (runtime) =>
      runtime.command("agent", [
        ...["call", "pictures", "--params", '{"sizes":[3]}'],
        ...[`--url=${url}`, "--office=calls"],
      ]),
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
    up: (args) => start(node, [join(bin, "smcp.js"), "up", ...args]),
    program: (code) => start(node, ["--eval", code]),
  };
}
