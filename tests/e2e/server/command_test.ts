import { assertEquals, assertMatch } from "@std/assert";
import { GET_TOOLS_EVENT, TOOL_CALL_EVENT } from "../../../protocol/mod.ts";
import { connectRaw, rawPair } from "../../support/wire/raw_client.ts";
import { startServerCommand } from "../../support/server/server_command.ts";

Deno.test({
  name: "the command prints one line with its address, and answers there",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand(["--port", "0"]);
  assertMatch(command.line, /http:\/\/127\.0\.0\.1:\d+/);
  const health = await (await fetch(`${command.url}/health`)).json();
  assertEquals([health.status, health.protocol_version], ["ok", "0.2.0"]);
});

Deno.test({
  name: "SIGTERM drains: pending calls finish, new ones are refused, exit 0",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand(["--port", "0"]);
  await using pair = await rawPair(command.url);
  const { agent, computer } = pair;
  const request = {
    agent: "agent",
    req_id: "1",
    computer: "computer",
    tool_name: "t",
    params: {},
    timeout: 60,
  };
  const ack = Promise.withResolvers<(...args: unknown[]) => void>();
  computer.handle(TOOL_CALL_EVENT, (_payload, answer) => ack.resolve(answer));
  computer.handle(GET_TOOLS_EVENT, (_payload, answer) => answer({ tools: [] }));
  const call = agent.ask(TOOL_CALL_EVENT, request);
  const answer = await ack.promise;
  command.kill("SIGTERM");
  // The signal takes effect at some moment after it was sent.
  let refused: unknown;
  while (refused === undefined) {
    const { reason } = await agent.ask(GET_TOOLS_EVENT, request) as {
      reason?: unknown;
    };
    refused = reason;
  }
  assertEquals(refused, "server shutting down");
  answer({ content: [] });
  assertEquals(await call, { content: [] });
  assertEquals(await command.exited, 0);
});

Deno.test({
  name: "SIGINT drains too, and a second signal exits immediately",
  timeout: 120_000,
}, async () => {
  await using idle = await startServerCommand(["--port", "0"]);
  idle.kill("SIGINT");
  assertEquals(await idle.exited, 0);

  await using busy = await startServerCommand(["--port", "0"]);
  await using pair = await rawPair(busy.url);
  const request = { agent: "agent", req_id: "1", computer: "computer" };
  const call = pair.agent.ask(GET_TOOLS_EVENT, request);
  await pair.computer.next(GET_TOOLS_EVENT);
  void call; // never answered
  busy.kill("SIGINT");
  await busy.logged("draining");
  busy.kill("SIGINT");
  assertEquals(await busy.exited, 130);
});

Deno.test({
  name:
    "flags can be set in the environment, and the command line takes precedence",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand([], {
    SMCP_PORT: "0",
    SMCP_HOST: "localhost",
    SMCP_MAX_MESSAGE_BYTES: "4096",
    SMCP_NO_LIMITS: "1",
  });
  assertMatch(command.line, /http:\/\/localhost:\d+/);
  const opened = await fetch(
    `${command.url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`,
  );
  assertMatch(await opened.text(), /"maxPayload":4096/);
  await using other = await startServerCommand(
    ["--host", "127.0.0.1", "--port=0", "--no-limits"],
    { SMCP_HOST: "localhost", SMCP_PORT: "1" },
  );
  assertMatch(other.line, /http:\/\/127\.0\.0\.1:\d+/);
});

Deno.test({
  name:
    "a port in use is one clear line and exit 1; a bad flag or value one and exit 2",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand(["--port", "0"]);
  const { port } = new URL(command.url);
  await using second = await startServerCommand(["--port", port]);
  assertEquals(await second.exited, 1);
  assertEquals(
    second.log,
    `error: cannot listen on 127.0.0.1 port ${port}: the port is in use; choose another with --port, or 0 for any\n`,
  );
  assertEquals(second.line, "");
  await using third = await startServerCommand([
    "--port=0",
    `--metrics-port=${port}`,
  ]);
  assertEquals([await third.exited, third.log], [
    1,
    `error: cannot listen on 127.0.0.1 port ${port}: the port is in use; choose another with --metrics-port, or 0 for any\n`,
  ]);
  for (const args of [["--port", "x"], ["--bogus"]]) {
    await using bad = await startServerCommand(args);
    assertEquals([await bad.exited, bad.line], [2, ""]);
    assertMatch(bad.log, /^error: [^\n]+\n$/);
  }
  await using env = await startServerCommand([], { SMCP_PORT: "x" });
  assertEquals(await env.exited, 2);
  assertMatch(env.log, /^error: [^\n]+SMCP_PORT[^\n]+\n$/);
  await using anybody = await startServerCommand(["--port=0"], {
    SMCP_JWT_SECRET: "a secret of 32 bytes, or of more",
    SMCP_JWT_AUDIENCE: "",
  });
  assertEquals([await anybody.exited, anybody.line], [2, ""]);
  assertMatch(anybody.log, /^error: no value for --jwt-audience: [^\n]+\n$/);
});

Deno.test(
  { name: "--help and --version exit 0", timeout: 120_000 },
  async () => {
    await using help = await startServerCommand(["--help"]);
    assertEquals(await help.exited, 0);
    assertMatch(help.line, /^Usage:/);
    await using version = await startServerCommand(["--version"]);
    assertEquals(await version.exited, 0);
    assertMatch(
      version.line,
      /^@a2c-smcp\/sdk \S+, A2C-SMCP 0\.2\.0, Deno \S+$/,
    );
  },
);

Deno.test({
  name:
    "an unknown event of any name is one line in the log; payloads are never logged (spec §3)",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand([
    "--port=0",
    "--log-format=pretty",
  ]);
  await using client = await connectRaw(command.url, {
    auth: { token: "hunter2" },
  });
  for (const event of ["client:nope", "x\n[ERR] forged\u001b[31m"]) {
    await client.ask(event, { password: "hunter2" });
  }
  await client.ask("client:tool_call", { agent: "hunter2" });
  await command.logged("forged");
  const lines = command.log.trimEnd().split("\n");
  assertEquals(lines.length, 2);
  assertMatch(lines[0] ?? "", /Unknown event "client:nope" socket="[^"]+"$/);
  assertMatch(lines[1] ?? "", /Unknown event "x\\n\[ERR\] forged\\u001b/);
  assertEquals(command.log.includes("hunter2"), false);
});
