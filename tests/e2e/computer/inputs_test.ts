import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { commandOutput } from "../../../computer/config/command_input.ts";
import { hideSecrets } from "../../../computer/util/secrets.ts";
import { resultMeta, SmcpComputer } from "../../../computer/mod.ts";
import { connectMcp } from "../../../computer/host/mcp/connect.ts";
import { mcpErrorCode } from "../../../computer/host/mcp/errors.ts";
import { parseMCPServerConfig } from "../../../protocol/mod.ts";
import { ONCE } from "../../support/computer/host.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { createFixture } from "../../support/fixtures/sdk_fixture.ts";
import { startOffice } from "../../support/office.ts";
import { gone } from "../../support/processes.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { hurryTimers } from "../../support/timers.ts";

const never = new AbortController().signal;
const shell = (line: string, signal = never) =>
  commandOutput({ command: line }, signal);

Deno.test("commandOutput() returns the trimmed output of a shell command or a program, or reports how it failed, with its stderr", async () => {
  const program = (program: string, ...args: string[]) =>
    commandOutput({ command: program, args }, never);
  assertEquals(await shell("printf ' one\\ntwo \\n\\n'"), "one\ntwo");
  assertEquals(await program("echo", "$HOME", "a b"), "$HOME a b");
  const failures: [run: () => Promise<string>, ...parts: string[]][] = [
    [
      () => shell("echo 'not logged in' >&2; exit 4"),
      "exited with code 4",
      "not logged in",
    ],
    [() => shell("kill -9 $$"), "killed by SIGKILL"],
    [() => shell("true"), "printed nothing"],
    [() => shell("head -c 2000000 /dev/zero"), "more than 1048576 bytes"],
    [() => program("no-such-one"), 'no program "no-such-one"'],
  ];
  for (const [run, ...parts] of failures) {
    const { message } = await assertRejects(run, Error);
    for (const part of parts) assertStringIncludes(message, part);
  }
});

Deno.test("commandOutput() leaves nothing running, after its end or an abort", async () => {
  const [pid, value] = (await shell("sleep 1000 & echo $!; echo value")).split(
    "\n",
  );
  assertEquals(value, "value");
  await gone(Number(pid));

  const folder = await Deno.makeTempDir();
  const pipe = `${folder}/pid`;
  await new Deno.Command("mkfifo", { args: [pipe] }).output();
  const stop = new AbortController();
  const given = shell(`echo $$ > ${pipe}; sleep 1000`, stop.signal);
  const text = await Deno.readTextFile(pipe); // waits for the writer
  stop.abort(new Error("stopped"));
  await assertRejects(() => given, Error, "stopped");
  await gone(Number(text));
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a server gets its inputs at its start; one with a missing value fails and names it, without effect on others", async () => {
  const input = (id: string, command?: string, args?: string[]) => ({
    id,
    description: "",
    ...(command === undefined
      ? { type: "promptString" as const }
      : { type: "command" as const, command, ...(args && { args }) }),
  });
  const inputs = [
    input("made", "echo of a shell"),
    input("run", "echo", ["of", "argv"]),
    input("given"),
    input("missing"),
    input("failing", "echo why >&2; exit 3"),
  ];
  const at = (command: string) =>
    fixture({}, { server_parameters: { command } });
  const env = {
    MADE: "${input:made}",
    RUN: "<${input:run}>",
    GIVEN: "${input:given}",
  };
  await using pc = await startComputer({
    good: fixture({ only: ["environment"] }, {
      server_parameters: { command: Deno.execPath(), env },
    }),
    poor: at("${input:missing}"),
    failing: at("${input:failing}"),
    wrong: at("${input:nowhere}"),
  }, {
    inputs,
    inputValues: { given: "by code" },
    restart: ONCE,
  });
  const { content } = await pc.office.agent.callTool("pc", "environment", {});
  const { MADE, RUN, GIVEN } = JSON.parse(content[0]?.text ?? "");
  assertEquals([MADE, RUN, GIVEN], ["of a shell", "<of argv>", "by code"]);
  const errors = pc.computer.status().servers.map((
    { state, error },
  ) => [state, error]);
  assertEquals(errors, [
    ["running", undefined],
    [
      "failed",
      'input "missing" has no value; give one with --input missing=VALUE or the environment variable SMCP_INPUT_MISSING',
    ],
    [
      "failed",
      'the command of input "failing" failed: it exited with code 3\nwhy',
    ],
    [
      "failed",
      'there is no input "nowhere"; define it under "inputs", or correct ${input:nowhere}',
    ],
  ]);

  pc.computer.inputs.setValue("missing", Deno.execPath());
  await pc.computer.startServer("poor");
  assertEquals(pc.computer.status().servers[1]?.state, "running");
});

Deno.test("an input is filled into the names, tags, guards and programs of a server's tools; the configuration that Agents see keeps the placeholder (protocol §4)", async (t) => {
  const settings = {
    tool_prefix: "${input:team}_",
    forbidden_tools: ["${input:forbidden}"],
    tool_meta: {
      echo: { alias: "${input:team}-echo", tags: ["${input:team}", "text"] },
    },
    default_tool_meta: { auto_apply: true, tags: ["of ${input:team}"] },
    vrl: '.team = "${input:team}"',
  };
  const only = ["echo", "environment", "fail"];
  await using pc = await startComputer({
    child: fixture({ only }, settings),
    inner: {
      ...settings,
      type: "in-process",
      server: createFixture({ only }),
      tool_prefix: "inner_${input:team}_",
      tool_meta: { echo: { alias: "${input:team}.inner" } },
    },
  }, {
    inputs: [
      { type: "promptString", id: "team", description: "" },
      { type: "promptString", id: "forbidden", description: "" },
    ],
    inputValues: { team: "billing", forbidden: "fail" },
  });
  const { computer, office: { agent } } = pc;
  const names = async () =>
    (await agent.getTools("pc")).map(({ name }) => name);
  await t.step("in a child process and in the Computer's", async () => {
    assertEquals(await names(), [
      "billing-echo",
      "billing_environment",
      "billing.inner",
      "inner_billing_environment",
    ]);
    const tags = (await agent.getTools("pc")).map(({ meta }) =>
      JSON.parse(`${meta?.a2c_tool_meta}`).tags
    );
    const byDefault = ["of billing"];
    assertEquals(tags, [["billing", "text"], byDefault, byDefault, byDefault]);
  });
  await t.step("and calls find, refuse and transform by them", async () => {
    const args = { text: "hi" };
    const result = await agent.callTool("pc", "billing-echo", args);
    assertEquals(result.content, [{ type: "text", text: "hi" }]);
    assertStringIncludes(
      JSON.stringify(resultMeta(result)),
      String.raw`\"team\":\"billing\"`,
    );
    const refused = await agent.callTool("pc", "billing_fail", {});
    assertStringIncludes(JSON.stringify(refused), "is forbidden");
  });
  await t.step("what is offered so is shown in lines and errors", () => {
    assertEquals(hideSecrets("billing-echo"), "billing-echo");
  });
  await t.step("the configuration has the placeholder", async () => {
    const { servers } = await agent.getConfig("pc");
    assertEquals(servers.child?.tool_meta, settings.tool_meta);
    assertEquals(servers.child?.tool_prefix, settings.tool_prefix);
  });
  await t.step("another value holds from the next start", async () => {
    computer.inputs.setValue("team", "sales");
    await computer.stopServer("child");
    await computer.startServer("child");
    assertEquals((await names()).slice(0, 2), [
      "sales-echo",
      "sales_environment",
    ]);
  });
});

Deno.test("waiting for the user's answer does not count against the start timeout", async () => {
  const START_MS = 123_456;
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<unknown>();
  const server = fixture({ only: ["echo"] }, {
    server_parameters: { command: "${input:program}" },
  });
  await using office = await startOffice();
  const computer = office.use(
    new SmcpComputer({
      url: office.url,
      name: "pc",
      servers: { asking: server, late: fixture({ start: "hang" }) },
      startTimeoutMs: START_MS,
      restart: ONCE,
      inputs: [{ type: "promptString", id: "program", description: "" }],
      askInput: () => {
        asked.resolve();
        return answer.promise;
      },
    }),
  );
  const late = Promise.withResolvers<void>();
  computer.on("serverState", ({ name, state }) => {
    if (name === "late" && state === "failed") late.resolve();
  });
  {
    using _ = hurryTimers(START_MS);
    await computer.connect();
    await Promise.all([asked.promise, late.promise]);
  }
  assertEquals(computer.status().servers[0]?.state, "starting");
  answer.resolve(Deno.execPath());
  await computer.serversSettled();
  assertEquals(computer.status().servers[0]?.state, "running");
});

/** An MCP server that starts a session, and answers everything else with an error. */
const REFUSING = `
const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream());
let text = "";
for await (const chunk of lines) {
  const all = (text + chunk).split("\\n");
  text = all.pop();
  for (const { method, params, id } of all.map(JSON.parse)) {
    if (id === undefined) continue;
    const answer = method === "initialize"
      ? {
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {}, resources: {}, prompts: {} },
          serverInfo: { name: "refusing", version: "1" },
        },
      }
      : {
        error: { code: -5, message: "bad token s3cr3t, or is it l1teral?" },
      };
    console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  }
}`;

Deno.test("no error of an MCP server repeats a value that it was given", async () => {
  const server = (script: string) =>
    connectMcp(
      parseMCPServerConfig({
        name: "a",
        type: "stdio",
        server_parameters: {
          command: Deno.execPath(),
          args: ["eval", script],
          env: { API_TOKEN: "l1teral" },
        },
      }),
      never,
      { secrets: () => ["s3cr3t"] },
    );
  const connection = await server(REFUSING);
  const hidden = "bad token <redacted>, or is it <redacted>?";
  const calls = [
    () => connection.callTool("t", {}, {}),
    () => connection.listTools(),
    () => connection.listResources(undefined),
    () => connection.readResource("u"),
    () => connection.listPrompts(),
    () => connection.getPrompt("p", {}),
    () => connection.subscribe("u"),
    () => connection.unsubscribe("u"),
  ];
  for (const call of calls) {
    const error = await assertRejects(call, Error);
    assertEquals(error.message, `MCP error -5: ${hidden}`);
    assertEquals(mcpErrorCode(error), -5);
  }
  await connection.close();
  const dies =
    'console.error("bad token s3cr3t, or is it l1teral?"); Deno.exit(7);';
  const { message } = await assertRejects(() => server(dies), Error);
  assertStringIncludes(message, hidden);
});

Deno.test("no value of an input, and no literal secret, is in any line or ack of a run", async () => {
  const secrets = {
    typed: "t0p-typed-secret",
    made: "t0p-made-secret",
    variable: "t0p-variable-secret",
    literal: "t0p-literal-secret",
    header: "t0p-header-secret",
    query: "t0p-query-secret",
    fallback: "t0p-default-secret",
  };
  await using office = await startOffice();
  const prints = "echo refused: $A_TOKEN $B_TOKEN $C_TOKEN $D_KEY >&2; exit 9";
  const env = {
    A_TOKEN: "${input:typed}",
    B_TOKEN: "${input:made}",
    C_TOKEN: "${input:variable}",
    D_KEY: secrets.literal,
  };
  const input = (id: string, type: string, more: object = {}) => ({
    id,
    type,
    description: id,
    ...more,
  });
  await using config = await configFile({
    inputs: [
      input("typed", "promptString", {
        password: true,
        default: secrets.fallback,
      }),
      input("made", "command", { command: "printf t0p; echo -made-secret" }),
      input("variable", "promptString"),
      input("broken", "command", { command: "exit 1" }),
    ],
    servers: {
      good: fixture({}, {
        default_tool_meta: { auto_apply: true },
        server_parameters: { command: Deno.execPath(), env },
      }),
      loud: {
        type: "stdio",
        server_parameters: { command: "sh", args: ["-c", prints], env },
      },
      poor: fixture({}, {
        server_parameters: {
          command: "x",
          env: { ...env, X: "${input:broken}" },
        },
      }),
      web: {
        type: "http",
        server_parameters: {
          url: `http://127.0.0.1:1/mcp?key=${secrets.query}&t=\${input:typed}`,
          headers: { authorization: `Bearer ${secrets.header}` },
          timeout: "PT1S",
        },
      },
    },
  });
  await using computer = runComputer(office, config.file, {
    flags: ["--input", `typed=${secrets.typed}`],
    env: { SMCP_INPUT_VARIABLE: secrets.variable },
  });
  await Promise.all([
    computer.line(/^MCP server good: running/),
    computer.line(/^MCP server loud: failed/),
    computer.line(/^refused: <redacted> <redacted> <redacted> <redacted>$/),
    computer.line(/^MCP server poor: failed/),
    computer.line(/^MCP server web: failed/),
    computer.line(/^joined/),
  ]);
  const { agent } = office;
  const call = (tool: string, params = {}) =>
    agent.callTool("pc", tool, params);
  const acks = [
    await agent.getConfig("pc"),
    await agent.getTools("pc"),
    await call("echo", { text: "hello" }),
    await call("throw"),
    await call("no_such_tool"),
    await call("crash"),
    ...await Promise.all(
      ["good", "loud", "poor", "web", "none"].map((server) =>
        agent.getResources("pc", server).catch(String)
      ),
    ),
  ];
  computer.signal("SIGTERM");
  await computer.status;
  const said = [...computer.lines, ...acks.map((ack) => JSON.stringify(ack))];
  assert(
    said.join("\n").includes("${input:typed}"),
    "the placeholders are shown",
  );
  for (const [name, secret] of Object.entries(secrets)) {
    assertEquals(said.filter((line) => line.includes(secret)), [], name);
  }
});
