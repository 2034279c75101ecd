/**
 * The npm tarballs on Bun: the programs that Node runs, with Bun's own test runner, and the commands as
 * `bunx` starts them.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { delimiter, dirname, join } from "node:path";
import { BUN_VERSION, findBun } from "../../../tools/npm/bun.ts";
import { addPackages, TYPESCRIPT } from "../../../tools/npm/npm_package.ts";
import { run } from "../../../tools/process.ts";
import { installSuite, runCommands, SUITE } from "../../node/installed.ts";
import { start } from "../../support/child.ts";
import { blockOf } from "../../pages/support/scene.ts";
import { startOffice } from "../../support/office.ts";
import { gone, written } from "../../support/processes.ts";

/** The types of Bun, which a program with its `Bun.serve` is checked with. */
const BUN_TYPES = `@types/bun@1.4.5`;

/** A program of a user. */
const SERVED = `import { createSmcpServer } from "@a2c-smcp/sdk/server";
import { bun } from "@a2c-smcp/sdk/server/bun";
import { mcpGateway } from "@a2c-smcp/sdk/mcp";

const platform = bun();
const smcp = createSmcpServer({ adapter: platform, gateway: mcpGateway() });
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: smcp.fetch,
  websocket: platform.websocket,
});
const { status } = await fetch(new URL("/health", server.url));
await smcp.close();
await server.stop();
console.log(status === 200 ? "works" : status);
`;

const bun = await findBun();
let folder = "";

Deno.test.beforeAll(async () => {
  ({ folder } = await installSuite());
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** Defines a test of the tarballs, which may take a while. */
const testNpm = (
  name: string,
  fn: (t: Deno.TestContext) => Promise<void>,
  ignore = false,
) => Deno.test({ name, ignore, timeout: 600_000, fn });

/** A test in the report of `bun test`. */
const RESULT = /^\((pass|fail)\) (.*?)(?: \[[\d.]+m?s\])?$/;

for (const file of SUITE) {
  testNpm(`Bun passes the suite of Node: ${file}`, async (t) => {
    await using tests = start(bun, ["test", `./${file}`], { cwd: folder });
    await tests.status;
    const results = tests.lines.flatMap((line) => {
      const [, outcome, name = ""] = RESULT.exec(line) ?? [];
      return outcome === undefined ? [] : [{ name, outcome }];
    });
    const text = tests.lines.join("\n");
    assert(results.length > 0, text);
    for (const { name, outcome } of results) {
      await t.step(name, () => assertEquals(outcome, "pass", text));
    }
    assertEquals((await tests.status).code, 0, text);
  });
}

testNpm(
  "bunx runs the three commands, from a Server to a tool call",
  () =>
    runCommands({
      folder,
      program: bun,
      words: (name) => [bun, "x", "--bun", name],
      env: {
        PATH: `${dirname(bun)}${delimiter}${Deno.env.get("PATH") ?? ""}`,
      },
      version: RegExp(`A2C-SMCP 0\\.2\\.0, Bun ${BUN_VERSION}`),
      runner: "bunx --bun",
    }),
);

testNpm("bunx smcp up: a Server and a Computer in one process", async () => {
  const servers = {
    fixture: {
      type: "stdio",
      server_parameters: { command: bun, args: ["mcp_server.mjs"] },
    },
  };
  await Deno.writeTextFile(
    join(folder, "up.json"),
    JSON.stringify({ servers }),
  );
  const command = (...words: string[]) =>
    start(bun, ["x", "--bun", "smcp", ...words], { cwd: folder });
  await using up = command("up", "--port=0", "--config=up.json", "--yes");
  const [, url = ""] = await up.line(/(http:\/\/127\.0\.0\.1:\d+)/);
  await up.line(/fixture: running/);
  await using call = command(
    ...["agent", "call", "add", "--url", url, "--office", "home"],
    ...["--params", `{"a": 2, "b": 3}`],
  );
  assertEquals((await call.status).code, 0, call.lines.join("\n"));
  assertMatch(call.lines.join("\n"), /^5$/m);
  assertEquals((await up.stop()).code, 0, up.lines.join("\n"));
});

testNpm("the page's program for Bun serves", async () => {
  const has = "bun run main.ts";
  const { code } = await blockOf({ page: "docs/edge.md", has });
  const file = join(folder, "page.ts");
  await Deno.writeTextFile(file, code.replace("port: 8787", "port: 0"));
  await using served = start(bun, ["run", file], { cwd: folder });
  const [url] = await served.line(/http:\/\/localhost:\d+/);
  const answer = await fetch(`${url}/ready`);
  assertEquals(await answer.json(), { status: "ready" });
});

testNpm("Bun is what the service of a command starts", async () => {
  for (const words of [["smcp-server"], ["smcp", "server"]]) {
    const [name = "", ...rest] = words;
    const bin = join(folder, "node_modules", ".bin", name);
    const args = [...rest, "service", "install", "--print", "--port=0"];
    await using shown = start(bun, ["--bun", bin, ...args], { cwd: folder });
    await shown.line(/^WantedBy=/);
    const [line] = await shown.line(/^ExecStart=.*/);
    const command = [...line.matchAll(/"([^"]*)"/g)].map(([, word = ""]) =>
      word
    );
    assertEquals(command.slice(2), [...rest, "--port=0"]);
    await using server = start("env", ["-i", ...command], { cwd: folder });
    await server.line(/listening on http/);
  }
}, Deno.build.os !== "linux"); // others show other definitions

testNpm(
  "Bun leaves no process of an MCP server when it is killed",
  async () => {
    const pids = join(folder, "pids");
    const script =
      'setsid sleep 1000 & echo $! $$ > "$0.draft"; mv "$0.draft" "$0"; wait';
    const silent = {
      type: "stdio",
      server_parameters: { command: "sh", args: ["-c", script, pids] },
    };
    await Deno.writeTextFile(
      join(folder, "orphans.json"),
      JSON.stringify({ servers: { silent } }),
    );
    await using computer = start(bun, [
      ...["--bun", join("node_modules", ".bin", "smcp-computer")],
      ...["check", "--config", "orphans.json"],
    ], { cwd: folder });
    const started = (await written(pids)).split(" ").map(Number);
    computer.signal("SIGKILL");
    await computer.status;
    for (const pid of started) await gone(pid);
  },
  Deno.build.os !== "linux",
);

testNpm(
  "Bun runs an Agent, and a program with Bun.serve that TypeScript takes",
  async () => {
    await using office = await startOffice({
      computers: {
        pc: () =>
          Promise.resolve({ content: [{ type: "text", text: "hello" }] }),
      },
    });
    await office.agent.leave();
    const alone = new URL("../../node/alone/agent.mjs", import.meta.url);
    await Deno.copyFile(alone, join(folder, "agent.mjs"));
    assertEquals(
      await run(bun, ["agent.mjs", office.url, "north"], folder),
      "works\n",
    );
    await Deno.writeTextFile(join(folder, "served.ts"), SERVED);
    assertEquals(await run(bun, ["served.ts"], folder), "works\n");
    await addPackages(folder, ...TYPESCRIPT, BUN_TYPES);
    const options = ["--noEmit", "--strict", "--skipLibCheck"];
    await run("node_modules/.bin/tsc", [
      ...options,
      ...["--target", "es2023", "--module", "nodenext", "served.ts"],
    ], folder);
  },
);
