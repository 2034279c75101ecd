import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { scratch } from "../../support/scratch.ts";
import { nextRequest } from "../../support/server/operator_client.ts";
import { startServerCommand } from "../../support/server/server_command.ts";
import { joinRaw, rawPair } from "../../support/wire/raw_client.ts";

const REQUEST = {
  agent: "agent",
  req_id: "1",
  computer: "computer",
  tool_name: "t",
  params: {},
  timeout: 60,
};
const timeout = 120_000;

Deno.test({
  name: "SIGTERM drains: pending calls finish, new ones are refused, exit 0",
  timeout,
}, async () => {
  await using command = await startServerCommand(["--port", "0"]);
  await using pair = await rawPair(command.url);
  const { agent, computer } = pair;
  const called = nextRequest(computer);
  computer.handle("client:get_tools", (_, ack) => ack({ tools: [] }));
  const call = agent.ask("client:tool_call", REQUEST);
  const { ack } = await called;
  command.kill("SIGTERM");
  // The signal takes effect at some moment after it was sent.
  let refused: unknown;
  while (refused === undefined) {
    refused = Object(await agent.ask("client:get_tools", REQUEST)).reason;
  }
  assertEquals(refused, "server shutting down");
  ack({ content: [] });
  assertEquals(await call, { content: [] });
  assertEquals(await command.exited, 0);
});

Deno.test({
  name: "SIGINT drains too, and a second signal exits immediately",
  timeout,
}, async () => {
  await using idle = await startServerCommand(["--port", "0"]);
  idle.kill("SIGINT");
  assertEquals(await idle.exited, 0);

  await using busy = await startServerCommand(["--port", "0"]);
  await using pair = await rawPair(busy.url);
  void pair.agent.ask("client:get_tools", REQUEST); // never answered
  await pair.computer.next("client:get_tools");
  busy.kill("SIGINT");
  await busy.logged("draining");
  busy.kill("SIGINT");
  assertEquals(await busy.exited, 130);
});

Deno.test({
  name:
    "the command prints its address, and answers there; flags can be set in the environment, and the command line takes precedence",
  timeout,
}, async () => {
  await using command = await startServerCommand(["--host", "127.0.0.1"], {
    SMCP_PORT: "0",
    SMCP_HOST: "localhost",
    SMCP_MAX_MESSAGE_BYTES: "4096",
    SMCP_NO_LIMITS: "1",
  });
  assertMatch(command.line, /^A2C-SMCP 0\.2\.0 .*http:\/\/127\.0\.0\.1:\d+/);
  const health = await (await fetch(`${command.url}/health`)).json();
  assertEquals([health.status, health.protocol_version], ["ok", "0.2.0"]);
  const opened = await fetch(
    `${command.url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`,
  );
  assertMatch(await opened.text(), /"maxPayload":4096/);
});

Deno.test({
  name: "the command prints the versions that it serves, as /health lists them",
  timeout,
}, async () => {
  for (const protocol of ["all", "0.2,0.4"]) {
    await using command = await startServerCommand(
      ["--port", "0", "--protocol", protocol],
    );
    const health = await (await fetch(`${command.url}/health`)).json();
    const versions = health.protocol_versions.join(", ");
    assertStringIncludes(command.line, `A2C-SMCP ${versions} server`);
  }
});

// More mistakes: tests/e2e/commands/mistakes_test.ts
Deno.test({
  name:
    "a port of metrics that is in use, and a bad value in the environment, are one clear line and an exit code",
  timeout,
}, async () => {
  await using command = await startServerCommand(["--port", "0"]);
  const { port } = new URL(command.url);
  const secret = "a secret of 32 bytes, or of more";
  const rows: [string[], Record<string, string>, number, RegExp][] = [
    [
      [`--metrics-port=${port}`],
      {},
      1,
      RegExp(
        `^error: cannot listen on 127.0.0.1 port ${port}: the port is in use; choose another with --metrics-port, or 0 for any\n$`,
      ),
    ],
    [[], { SMCP_METRICS_PORT: "x" }, 2, /^error: [^\n]+METRICS_PORT[^\n]+\n$/],
    [
      [],
      { SMCP_JWT_SECRET: secret, SMCP_JWT_AUDIENCE: "" },
      2,
      /^error: no value for --jwt-audience: [^\n]+\n$/,
    ],
  ];
  for (const [args, env, code, says] of rows) {
    await using bad = await startServerCommand(["--port=0", ...args], env);
    assertEquals(await bad.exited, code, bad.log);
    assertMatch(bad.log, says);
  }
});

Deno.test({ name: "--help and --version exit 0", timeout }, async () => {
  await using help = await startServerCommand(["--help"]);
  assertEquals(await help.exited, 0);
  assertMatch(help.line, /^Usage:/);
  await using version = await startServerCommand(["--version"]);
  assertEquals(await version.exited, 0);
  assertMatch(version.line, /^@a2c-smcp\/sdk \S+, A2C-SMCP 0\.2\.0, Deno \S+$/);
});

Deno.test({
  name:
    "the command writes one line per event, as JSON or for people, whatever names are in it, and never a payload (protocol §3, §10)",
  timeout,
}, async () => {
  for (const format of ["json", "pretty"] as const) {
    await using command = await startServerCommand([
      ...["--port=0", `--log-format=${format}`],
    ]);
    const name = `a"b {x} \u2028 €`;
    const at = { url: command.url, auth: { token: "hunter2" } };
    await using agent = await joinRaw(at, "agent", name, "north");
    const forged = "x\r\n[ERR] forged\u001b[2J";
    for (const event of ["client:nope", forged]) {
      await agent.ask(event, { password: "hunter2" });
    }
    await agent.ask("client:tool_call", { agent: "hunter2" });
    await command.logged("forged");
    const lines = command.log.trimEnd().split("\n");
    const [joined = "", unknown = "", odd = ""] = lines;
    assertEquals([lines.length, /hunter2/.test(command.log)], [3, false]);
    if (format === "json") {
      const [line, , last] = lines.map((line) => JSON.parse(line));
      assertMatch(line.time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      assertEquals(
        [line.level, line.logger, line.message, line.name, last.name],
        ["info", "a2c-smcp.audit", "joined", name, forged],
      );
    } else {
      assertMatch(
        joined,
        /^\S+Z INFO audit: joined .*name="a\\"b \{x\} ⟨U\+2028⟩ €"/,
      );
      assertMatch(unknown, /Unknown event "client:nope" socket="[^"]+"$/);
      assertMatch(odd, /Unknown event "x\\r\\n\[ERR\] forged\\u001b/);
    }
  }
});

Deno.test({
  name:
    "--log-level omits lower levels; --log-file receives the log instead of stderr, is appended to, and is reopened at SIGHUP",
  timeout,
}, async () => {
  await using folder = await scratch();
  const file = join(folder.path, "smcp.log");
  await writeFile(file, "before\n");
  {
    await using command = await startServerCommand(
      ["--port=0", `--log-file=${file}`, "--log-level=warning"],
      {},
      [`--allow-write=${folder.path}`],
    );
    await using agent = await joinRaw(command.url, "agent", "ada", "north");
    await agent.join("computer", "first", "north");
    await rename(file, `${file}.1`); // like a tool that rotates logs
    command.kill("SIGHUP");
    while (!await stat(file).catch(() => undefined)) {
      await agent.ask("client:get_tools", {});
    }
    await agent.join("computer", "second", "north");
    assertEquals(command.log, "");
  }
  const old = await readFile(`${file}.1`, "utf8");
  const now = await readFile(file, "utf8");
  assertMatch(old, /^before\n\{.*"join_refused".*"first".*\}\n/);
  assertEquals(/"joined"/.test(old + now), false);
  assertStringIncludes(now, '"second"');
});
