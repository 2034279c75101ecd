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

for (const version of NODE_VERSIONS) {
  Deno.test({
    name: `Node ${version} passes the core of the end-to-end suite`,
    timeout: 600_000,
  }, async (t) => {
    const node = await findNode(version);
    const args = ["--test", "--test-reporter=tap", ...SUITE];
    await using tests = start(node, args, { cwd: folder });
    await tests.status;
    const results = readTap(tests.lines);
    assert(results.length >= 10, tests.lines.join("\n"));
    for (const { name, ok, text } of results) {
      await t.step(name, () => assert(ok, text));
    }
  });

  Deno.test({
    name: `Node ${version} is what the service of a command starts`,
    ignore: Deno.build.os !== "linux", // others show other definitions
    timeout: 600_000,
  }, async () => {
    const node = await findNode(version);
    for (const words of [["smcp-server"], ["smcp", "server"]]) {
      const [name = "", ...rest] = words;
      const bin = join(folder, "node_modules", ".bin", name);
      const args = [...rest, "service", "install", "--print", "--port=0"];
      await using shown = start(node, [bin, ...args], { cwd: folder });
      await shown.line(/^WantedBy=/);
      const [line] = await shown.line(/^ExecStart=.*/);
      const command = [...line.matchAll(/"([^"]*)"/g)].map(([, word = ""]) =>
        word
      );
      assertEquals(command.slice(1), [bin, ...rest, "--port=0"]);
      await using server = start("env", ["-i", ...command], { cwd: folder });
      await server.line(/listening on http/);
    }
  });

  Deno.test({
    name:
      `Node ${version} runs the three commands, from a Server to a tool call`,
    timeout: 600_000,
  }, async () => {
    const node = await findNode(version);
    const path = Deno.env.get("PATH") ?? "";
    await runCommands({
      folder,
      program: "node",
      words: (name) => [join(folder, "node_modules", ".bin", name)],
      env: {
        // The commands run the first `node` in PATH.
        PATH: node === "node" ? path : `${dirname(node)}${delimiter}${path}`,
      },
      version: /A2C-SMCP 0\.2\.0, Node \d+\.\d+/,
      runner: "npx",
    });
  });

  Deno.test({
    name:
      `Node ${version} leaves no process of an MCP server when it is killed`,
    timeout: 600_000,
    ignore: Deno.build.os !== "linux",
  }, async () => {
    const node = await findNode(version);
    const pids = join(folder, `pids-${version}`);
    const script =
      'setsid sleep 1000 & echo $! $$ > "$0.draft"; mv "$0.draft" "$0"; wait';
    await Deno.writeTextFile(
      join(folder, "orphans.json"),
      JSON.stringify({
        servers: {
          silent: {
            type: "stdio",
            server_parameters: { command: "sh", args: ["-c", script, pids] },
          },
        },
      }),
    );
    await using computer = start(node, [
      join("node_modules", ".bin", "smcp-computer"),
      ...["check", "--config", "orphans.json"],
    ], { cwd: folder });
    const started = (await written(pids)).split(" ").map(Number);
    computer.signal("SIGKILL");
    await computer.status;
    for (const pid of started) await gone(pid);
  });

  Deno.test({
    name: `Node ${version} on a terminal: the shell and the live view`,
    ...ON_TERMINAL,
  }, async (t) => {
    const node = await findNode(version);
    const on = (...args: string[]) =>
      startTerminal(node, [
        join("node_modules", ".bin", "smcp-computer"),
        ...args,
      ], { cwd: folder });
    await using server = start(
      node,
      [join("node_modules", ".bin", "smcp-server"), "--port", "0"],
      { cwd: folder },
    );
    const [, url = ""] = await server.line(/(http:\/\/127\.0\.0\.1:\d+)/);
    const office = ["--url", url, "--office", "node"];
    await Deno.writeTextFile(join(folder, "none.json"), `{"servers": {}}`);

    await t.step(
      "lines are completed, pasted, kept; the window closed",
      async () => {
        await using shell = await on(
          ...[
            "shell",
            ...office,
            "--history",
            join(folder, `history-${version}`),
          ],
        );
        await shell.until(/joined office node as [^]*smcp>\s*$/);
        await shell.type("stat\t");
        await shell.until(/^smcp> status$/m);
        await shell.type("\rsocket leave\r");
        await shell.until(/no MCP servers[^]*left office node\s+smcp>\s*$/);
        await shell.hangUp();
        await gone(shell.pid);
        const history = await Deno.readTextFile(
          join(folder, `history-${version}`),
        );
        assertEquals(history, "status \nsocket leave\n");
      },
    );

    await t.step("Ctrl-C leaves the terminal as it was", async () => {
      await using view = await on("run", ...office, "--config", "none.json");
      await view.until(/^● connected .* office node/m);
      await view.type("\x03");
      assertEquals(await assertRestored(view), 0);
    });
  });
}

Deno.test({
  name: "one global install has every command",
  timeout: 600_000,
}, async () => {
  const prefix = join(folder, "global");
  const options = ["--global", "--prefix", prefix, "--prefer-offline"];
  await run("npm", ["install", ...options, tarballs.cli], folder);
  const node = await findNode(NODE_VERSIONS[0]);
  for (const name of Object.keys(BINS)) {
    const version = await run(node, [
      join(prefix, "bin", name),
      "--version",
    ], folder);
    assertMatch(version, RegExp(config.version));
    const help = await run(node, [join(prefix, "bin", name), "--help"], folder);
    assertMatch(help, RegExp(`^Here ${name} is: ${name}$`, "m"));
  }
});

Deno.test({
  name: "TypeScript finds the types of every entrypoint in the tarball",
  timeout: 600_000,
}, async () => {
  await run("node_modules/.bin/tsc", [
    "--noEmit",
    "--strict",
    "--target",
    "es2023",
    "--module",
    "nodenext",
    "consumer.ts",
  ], folder);
});

/** The documented requirements of the declarations, and why less is not enough. */
const LIBRARIES: [file: string, types: string[], lib: string[], ok: boolean][] =
  [
    ["browser_consumer.ts", [], ["es2022", "dom", "esnext.disposable"], true],
    ["browser_consumer.ts", [], ["es2022", "dom"], false],
    ["consumer.ts", ["node"], ["es2022", "dom"], true],
    ["consumer.ts", ["node"], ["es2022"], false],
  ];

Deno.test({
  name:
    "the declarations in the tarball need only the libraries named in the documentation",
  timeout: 600_000,
}, async () => {
  for (const [file, types, lib, ok] of LIBRARIES) {
    const project = join(folder, "tsconfig.libraries.json");
    const compilerOptions = {
      noEmit: true,
      strict: true,
      target: "es2022",
      module: "nodenext",
      moduleDetection: "force",
      types,
      lib,
    };
    await Deno.writeTextFile(
      project,
      JSON.stringify({ compilerOptions, files: [file] }),
    );
    const compiled = run("node_modules/.bin/tsc", ["-p", project], folder);
    const succeeded = await compiled.then(() => true, () => false);
    assertEquals(succeeded, ok, `${file} with ${lib.join()}`);
  }
});

Deno.test({
  name:
    "the tarballs' manifests name the commands and the required Node version",
  timeout: 600_000,
}, async () => {
  for (const [name, bins] of [[config.name, {}], [CLI_NAME, BINS]] as const) {
    const path = join(folder, "node_modules", name, "package.json");
    const manifest = JSON.parse(await Deno.readTextFile(path));
    assertEquals(Object.keys(manifest.bin ?? {}), Object.keys(bins));
    assertEquals(manifest.engines, { node: `>=${MIN_NODE}` });
    assertEquals(manifest.version, config.version);
  }
});
