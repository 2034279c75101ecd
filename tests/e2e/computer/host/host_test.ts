import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectMcp } from "../../../../computer/host/mcp/connect.ts";
import type { ServerSettings } from "../../../../computer/mod.ts";
import { start } from "../../../support/child.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import type { Surroundings } from "../../../support/computer/environment_host.ts";
import {
  hostOf,
  ONCE,
  reached,
  startHost,
  textOf,
} from "../../../support/computer/host.ts";
import {
  everything,
  filesystem,
  fixture,
  memory,
} from "../../../support/computer/mcp_servers.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { startOffice } from "../../../support/office.ts";
import { written } from "../../../support/processes.ts";
import { scratch } from "../../../support/scratch.ts";

const stdio = (command: string, ...args: string[]): ServerSettings => ({
  type: "stdio",
  server_parameters: { command, args },
});

/** The fixture with further parameters of its process. */
const started = (only: string[], parameters: Record<string, unknown>) =>
  fixture({ only }, {
    server_parameters: {
      ...fixture({ only }).server_parameters,
      ...parameters,
    },
  });

Deno.test("McpHost runs the reference servers and calls their tools", async () => {
  await using folder = await scratch();
  await using host = await startHost({
    everything: everything(),
    files: filesystem(folder.path),
    memory: memory(join(folder.path, "memory.json")),
  });
  assertEquals(
    host.statuses.map(({ state }) => state),
    Array(3).fill("running"),
  );
  assertEquals(host.problems, []);
  const path = join(folder.path, "note.txt");
  await textOf(host, "files", "write_file", { path, content: "hello" });
  assertEquals(await Deno.readTextFile(path), "hello");
  assertStringIncludes(
    await textOf(host, "everything", "echo", { message: "hi" }),
    "hi",
  );
  const entities = [{
    name: "Ada",
    entityType: "person",
    observations: ["first"],
  }];
  await textOf(host, "memory", "create_entities", { entities });
  assertStringIncludes(await textOf(host, "memory", "read_graph"), "Ada");
});

Deno.test("McpHost offers ready servers: a broken, hanging or disabled one neither delays nor hides them", async () => {
  const failing: [string, ServerSettings, ...string[]][] = [
    [
      "broken",
      fixture({ start: "exit" }),
      "exited with code 7",
      "the database is not there",
    ],
    ["missing", stdio("no-such-program"), '"no-such-program"'],
    ["lost", started([], { cwd: "/no/such/directory" }), "/no/such/directory"],
    ["unset", stdio("${input:program}"), "${input:program}"],
    ["dies", fixture({ dies: true }), "The MCP server exited with code 3"],
    [
      "never_ends",
      stdio("cat", "/dev/zero"),
      '"cat" sent a message of more than 67108864',
    ],
    ["odd", started([], { encoding: "klingon" }), "klingon"],
  ];
  await using host = hostOf({
    hanging: fixture({ start: "hang" }),
    ...Object.fromEntries(failing),
    disabled: fixture({}, { disabled: true }),
    healthy: fixture({ only: ["echo"] }),
  }, { restart: ONCE });
  const all = host.start();
  await reached(host, "healthy", "running");
  assertEquals(host.tools().map(({ name }) => name), ["echo"]);
  assertEquals(host.server("hanging")?.status.state, "starting");
  for (const [name, , ...parts] of failing) {
    await reached(host, name, "failed");
    const { error = "" } = host.server(name)!.status;
    for (const part of parts) assertStringIncludes(error, part);
  }
  await host.startServer("disabled");
  assertEquals(host.server("disabled")?.status.state, "disabled");
  await host.stopServer("hanging");
  await all;
});

Deno.test("an MCP server that is not ready in time fails, and its last output is in the error", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "wrote");
  const waits = 'echo "where is it?" >&2; echo yes > "$0"; exec sleep 1000';
  await using host = await startHost({ a: stdio("sh", "-c", waits, file) }, {
    startTimeoutMs: 1,
    connect: async (config, signal) => {
      // The timeout is over before the program starts; the test lets it write first.
      const late = new AbortController();
      const attempt = connectMcp(config, late.signal);
      await written(file);
      while (!signal.aborted) await new Promise((next) => setTimeout(next, 1));
      late.abort(signal.reason);
      return await attempt;
    },
  });
  const { state, error } = host.server("a")!.status;
  assertEquals([state, error], [
    "failed",
    'it was not ready within 0.001 s (its environment is reduced: set the variables that it needs in its "env")\nwhere is it?',
  ]);
});

const nested = (levels: number): Record<string, unknown> =>
  levels === 0 ? {} : { inner: nested(levels - 1) };

Deno.test("entries of a tool list that are invalid, or too deep for any answer, are skipped or repaired, and problems", async () => {
  await using host = await startHost({
    a: fixture({
      only: ["echo"],
      extraTools: [
        { name: "no_schema", inputSchema: null },
        {
          name: "odd_output",
          inputSchema: { type: "object" },
          outputSchema: 5,
        },
        { description: "no name" },
        "not even an object",
        { name: "deep", inputSchema: nested(200) },
        { name: "deep_meta", inputSchema: {}, _meta: { a: nested(200) } },
      ],
    }),
  });
  assertEquals(host.tools().map(({ name }) => name), [
    "echo",
    "no_schema",
    "odd_output",
  ]);
  const { problems } = host.server("a")!.status;
  assertEquals(
    problems.filter((problem) => problem.includes("nested deeper")).length,
    2,
  );
  assertEquals(problems.length, 6);
});

const ENVIRONMENT_HOST = fileURLToPath(
  new URL("../../../support/computer/environment_host.ts", import.meta.url),
);

Deno.test("a stdio server gets the MCP SDK's default environment, variables for authorities and proxies, its own env and its cwd, nothing else", async () => {
  await using folder = await scratch();
  const cwd = await Deno.realPath(folder.path);
  const only = ["environment", "directory"];
  const { env } = fixture().server_parameters;
  const servers = {
    plain: fixture({ only }),
    own: started(only, {
      env: { ...env, PIP_CERT: "/own.pem", GIVEN: "yes" },
      cwd,
    }),
    alone: started(only, { inherit_env: false }),
  };
  const args = ["run", "-A", "--quiet", ENVIRONMENT_HOST];
  await using host = start(
    Deno.execPath(),
    [...args, JSON.stringify(servers)],
    {
      env: {
        PIP_CERT: "/etc/ssl/own.pem",
        no_proxy: "inside.example",
        SMCP_TEST_SECRET: "s3cret",
      },
    },
  );
  assertEquals((await host.status).code, 0, host.errors.join("\n"));
  const seen: Record<string, Surroundings> = JSON.parse(host.out.join("\n"));
  const own = Object.entries(seen).map(([name, { environment: all }]) => {
    assertEquals(all.PATH, Deno.env.get("PATH"));
    return [name, all.PIP_CERT, all.no_proxy, all.GIVEN, all.SMCP_TEST_SECRET];
  });
  assertEquals(own, [
    ["plain", "/etc/ssl/own.pem", "inside.example", undefined, undefined],
    ["own", "/own.pem", "inside.example", "yes", undefined],
    ["alone", ...Array(4).fill(undefined)],
  ]);
  assertEquals(seen.own?.directory, cwd);
});

Deno.test("the credentials of a proxy are in no output of a run and in no configuration that an Agent sees", async () => {
  const prints = "echo cannot reach $http_proxy and $HTTPS_PROXY >&2; exit 9";
  await using config = await configFile({
    servers: {
      loud: {
        type: "stdio",
        server_parameters: {
          command: "sh",
          args: ["-c", prints],
          env: { HTTPS_PROXY: "http://me:own-secret@127.0.0.1:1" },
          inherit_env: true,
        },
      },
    },
  });
  await using office = await startOffice();
  await using computer = runComputer(office, config.file, {
    env: { http_proxy: "http://me:inherited-secret@127.0.0.1:1" },
  });
  await Promise.all([
    computer.line(/^MCP server loud: failed/),
    computer.line(/^cannot reach http:\/\/<redacted>@127\.0\.0\.1:1 and /),
    computer.line(/^joined/),
  ]);
  const shown = JSON.stringify(await office.agent.getConfig("pc"));
  assertStringIncludes(shown, '"HTTPS_PROXY":"<redacted>"');
  assertStringIncludes(shown, '"inherit_env":true');
  await computer.stop();
  const said = [...computer.lines, shown].join("\n");
  assertEquals(/own-secret|inherited-secret/.exec(said), null);
});

Deno.test("encoding and encoding_error_handler of a stdio server take effect", async () => {
  const only = ["raw", "echo"];
  await using host = await startHost({
    latin1: started(only, { encoding: "latin1" }),
    strict: started(only, { encoding_error_handler: "strict" }),
    replace: started(only, { encoding_error_handler: "replace" }),
  });
  const raw = (server: string) =>
    textOf(host, server, "raw", { text: "aäb", encoding: "latin1" });
  assertEquals([await raw("latin1"), await raw("replace")], [
    "aäb",
    "a\ufffdb",
  ]);
  await assertRejects(() => raw("strict"), Error, "encoding_error_handler");
  assertEquals(await textOf(host, "strict", "echo", { text: "fine" }), "fine");
});

Deno.test("the same MCP server twice is called under its prefixes", async () => {
  const only = ["echo", "pid"];
  await using pc = await startComputer({
    left: fixture({ only }, { tool_prefix: "auto" }),
    right: fixture({ only }, {
      tool_prefix: "r-",
      tool_meta: { pid: { alias: "whoami", auto_apply: true } },
    }),
  });
  const { agent } = pc.office;
  const names = (await agent.getTools("pc")).map(({ name }) => name);
  assertEquals(names, ["left_echo", "left_pid", "r-echo", "whoami"]);
  const [left, leftPid, right, rightPid] = await Promise.all(
    names.map(async (name) => (await pc.call(name, { text: "hi" })).text),
  );
  assertEquals([left, right], ["hi", "hi"]);
  assert(leftPid !== rightPid);
  assertEquals((await agent.getConfig("pc")).servers.left?.tool_prefix, "auto");
  assertEquals(pc.computer.status().problems, []);
});
