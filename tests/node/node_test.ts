/**
 * The npm tarballs as a user gets them: installed with npm in an empty folder, then used with the
 * oldest and the newest supported Node.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { delimiter, dirname, join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { start } from "../support/child.ts";
import { gone, written } from "../support/processes.ts";
import {
  assertRestored,
  ON_TERMINAL,
  startTerminal,
} from "../support/terminal/terminal.ts";
import { findNode, NODE_VERSIONS } from "../../tools/npm/node.ts";
import { BINS, CLI_NAME, MIN_NODE } from "../../tools/npm/commands_package.ts";
import { TYPESCRIPT } from "../../tools/npm/npm_package.ts";
import { run } from "../../tools/process.ts";
import { installSuite, runCommands, SUITE } from "./installed.ts";
import { readTap } from "./read_tap.ts";

let folder = "";
let tarballs = { sdk: "", cli: "" };

Deno.test.beforeAll(async () => {
  ({ folder, tarballs } = await installSuite(...TYPESCRIPT));
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

const SLOW = { timeout: 600_000 };
// Others show other definitions of a service, and have no process groups.
const LINUX = { ignore: Deno.build.os !== "linux" };

/** Registers a test for each version of Node. */
function test(
  name: string,
  fn: (node: string, version: number, t: Deno.TestContext) => Promise<void>,
  options: Partial<Deno.TestDefinition> = {},
): void {
  for (const version of NODE_VERSIONS) {
    Deno.test(
      `Node ${version} ${name}`,
      { ...SLOW, ...options },
      async (t) => fn(await findNode(version), version, t),
    );
  }
}

/** Starts a command of the tarball. */
const startBin = (node: string, name: string, ...args: string[]) =>
  start(node, [binOf(name), ...args], { cwd: folder });

const binOf = (name: string) => join(folder, "node_modules", ".bin", name);

test("passes the core of the end-to-end suite", async (node, _version, t) => {
  const args = ["--test", "--test-reporter=tap", ...SUITE];
  await using tests = start(node, args, { cwd: folder });
  await tests.status;
  const results = readTap(tests.lines);
  assert(results.length >= 10, tests.lines.join("\n"));
  for (const { name, ok, text } of results) {
    await t.step(name, () => assert(ok, text));
  }
});

test("is what the service of a command starts", async (node) => {
  for (
    const [name, ...rest] of [["smcp-server"], ["smcp", "server"]] as const
  ) {
    const args = [...rest, "service", "install", "--print", "--port=0"];
    await using shown = startBin(node, name, ...args);
    await shown.line(/^WantedBy=/);
    const [line] = await shown.line(/^ExecStart=.*/);
    const command = [...line.matchAll(/"([^"]*)"/g)]
      .map(([, word = ""]) => word);
    assertEquals(command.slice(1), [binOf(name), ...rest, "--port=0"]);
    await using server = start("env", ["-i", ...command], { cwd: folder });
    await server.line(/listening on http/);
  }
}, LINUX);

test("runs the three commands, from a Server to a tool call", (node) => {
  const path = Deno.env.get("PATH") ?? "";
  // The commands run the first `node` in PATH.
  const PATH = node === "node" ? path : `${dirname(node)}${delimiter}${path}`;
  return runCommands({
    folder,
    program: "node",
    runner: "npx",
    env: { PATH },
    words: (name) => [binOf(name)],
    version: /A2C-SMCP 0\.2\.0, Node \d+\.\d+/,
  });
});

test(
  "leaves no process of an MCP server when it is killed",
  async (node, version) => {
    const pids = join(folder, `pids-${version}`);
    const script =
      'setsid sleep 1000 & echo $! $$ > "$0.draft"; mv "$0.draft" "$0"; wait';
    const server_parameters = { command: "sh", args: ["-c", script, pids] };
    const servers = { silent: { type: "stdio", server_parameters } };
    const config = join(folder, "orphans.json");
    await Deno.writeTextFile(config, JSON.stringify({ servers }));
    const args = ["check", "--config", config];
    await using computer = startBin(node, "smcp-computer", ...args);
    const started = (await written(pids)).split(" ").map(Number);
    computer.signal("SIGKILL");
    await computer.status;
    for (const pid of started) await gone(pid);
  },
  LINUX,
);

test("on a terminal: the shell and the live view", async (node, version, t) => {
  const on = (...args: string[]) =>
    startTerminal(node, [binOf("smcp-computer"), ...args], { cwd: folder });
  await using server = startBin(node, "smcp-server", "--port", "0");
  const [, url = ""] = await server.line(/(http:\/\/127\.0\.0\.1:\d+)/);
  const office = ["--url", url, "--office", "node"];

  await t.step(
    "lines are completed, pasted, kept; the window closed",
    async () => {
      const history = join(folder, `history-${version}`);
      await using shell = await on("shell", ...office, "--history", history);
      await shell.until(/joined office node as [^]*smcp>\s*$/);
      await shell.type("stat\t");
      await shell.until(/^smcp> status$/m);
      await shell.type("\rsocket leave\r");
      await shell.until(/no MCP servers[^]*left office node\s+smcp>\s*$/);
      await shell.hangUp();
      await gone(shell.pid);
      assertEquals(await Deno.readTextFile(history), "status \nsocket leave\n");
    },
  );

  await t.step("Ctrl-C leaves the terminal as it was", async () => {
    const config = join(folder, "none.json");
    await Deno.writeTextFile(config, `{"servers": {}}`);
    await using view = await on("run", ...office, "--config", config);
    await view.until(/^● connected .* office node/m);
    await view.type("\x03");
    assertEquals(await assertRestored(view), 0);
  });
}, ON_TERMINAL);

Deno.test("one global install has every command", SLOW, async () => {
  const prefix = join(folder, "global");
  const options = ["--global", "--prefix", prefix, "--prefer-offline"];
  await run("npm", ["install", ...options, tarballs.cli], folder);
  const node = await findNode(NODE_VERSIONS[0]);
  for (const name of Object.keys(BINS)) {
    const shown = (flag: string) =>
      run(node, [join(prefix, "bin", name), flag], folder);
    assertMatch(await shown("--version"), RegExp(config.version));
    const help = RegExp(`^Here ${name} is: ${name}$`, "m");
    assertMatch(await shown("--help"), help);
  }
});

Deno.test(
  "TypeScript finds the types of every entrypoint, with the libraries named in the documentation and no fewer",
  SLOW,
  async () => {
    const rows: [file: string, types: string[], lib: string[], ok: boolean][] =
      [
        [
          "browser_consumer.ts",
          [],
          ["es2022", "dom", "esnext.disposable"],
          true,
        ],
        ["browser_consumer.ts", [], ["es2022", "dom"], false],
        ["consumer.ts", ["node"], ["es2022", "dom"], true],
        ["consumer.ts", ["node"], ["es2022"], false],
      ];
    for (const [file, types, lib, ok] of rows) {
      const compilerOptions = {
        noEmit: true,
        strict: true,
        target: "es2022",
        types,
        lib,
        module: "nodenext",
        moduleDetection: "force",
      };
      const project = join(folder, "tsconfig.libraries.json");
      const options = JSON.stringify({ compilerOptions, files: [file] });
      await Deno.writeTextFile(project, options);
      const compiled = run("node_modules/.bin/tsc", ["-p", project], folder);
      const succeeded = await compiled.then(() => true, () => false);
      assertEquals(succeeded, ok, `${file} with ${lib.join()}`);
    }
  },
);

Deno.test(
  "the tarballs' manifests name the commands and the required Node version",
  SLOW,
  async () => {
    for (const [name, bins] of [[config.name, {}], [CLI_NAME, BINS]] as const) {
      const path = join(folder, "node_modules", name, "package.json");
      const manifest = JSON.parse(await Deno.readTextFile(path));
      assertEquals(Object.keys(manifest.bin ?? {}), Object.keys(bins));
      assertEquals(manifest.engines, { node: `>=${MIN_NODE}` });
      assertEquals(manifest.version, config.version);
    }
  },
);
