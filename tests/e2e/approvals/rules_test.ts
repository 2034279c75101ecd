import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type {
  Confirm,
  ConfirmAnswer,
  ConfirmRequest,
  Rule,
} from "../../../computer/mod.ts";
import { parseComputerConfig } from "../../../computer/config/parse_config.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { runMain } from "../../support/command.ts";
import { startOffice } from "../../support/office.ts";

const files = (only: string[] = ["echo"], over: Record<string, unknown> = {}) =>
  fixture({ only }, over);

/** A person who answers each question in the next turn, as the test says. */
function person(...answers: ConfirmAnswer[]) {
  const asked: ConfirmRequest[] = [];
  const confirm: Confirm = (request) => {
    const answer = answers[asked.push(request) - 1] ?? "no";
    return Promise.resolve(answer);
  };
  return { asked, confirm };
}

Deno.test("rules allow, ask and deny calls of an Agent; a denied one is answered 4005 with the reason, and its tool stays listed", async () => {
  const { asked, confirm } = person("once", "once");
  await using pc = await startComputer({
    files: files(["echo", "pid"], {
      tool_meta: { echo: { alias: "say" }, pid: { auto_apply: true } },
    }),
  }, {
    confirm,
    rules: [
      { then: "deny", tool: "pid", reason: "ask me in person" },
      { then: "allow", tool: "say", when: { text: { in: ["a", "b"] } } },
      { then: "ask", agent: "planner", tool: "echo", reason: "new words" },
    ],
  });
  const denied = await pc.call("pid");
  assertEquals(denied.meta, { error_code: 4005 });
  assertStringIncludes(
    denied.text,
    'denied by the Computer\'s configuration (rules.0): "ask me in person"',
  );
  const tools = await pc.office.agent.getTools("pc");
  assertEquals(tools.map(({ name }) => name), ["say", "pid"]);
  assertEquals((await pc.call("say", { text: "a" })).text, "a");
  assertEquals(asked.length, 0);
  assertEquals((await pc.call("say", { text: "c" })).text, "c");
  assertEquals(asked[0]?.rule, {
    id: "rules.2",
    text: 'ask about tool "echo" for Agent "planner" – "new words"',
  });
  assertEquals((await pc.call("say", { text: "a", more: 1 })).text, "a");
  assertEquals(asked.length, 2, "an allow is closed");

  const config = parseComputerConfig({
    servers: {
      files: files(["echo", "pid"], {
        tool_meta: { echo: { alias: "say" }, pid: { auto_apply: true } },
      }),
    },
    rules: [{ then: "deny", tool: "echo" }],
  });
  await pc.computer.configure(config);
  assertEquals((await pc.call("say", { text: "a" })).meta, {
    error_code: 4005,
  });
  assertEquals((await pc.call("pid")).result.isError, undefined);
  assertEquals(pc.computer.rules.map(({ id }) => id), [
    "rules.0",
    "servers.files.tool_meta.pid.auto_apply",
    "default",
  ]);
});

Deno.test("rules change by configure() alone, also where a program changes its own list", async () => {
  const servers = { files: files(["echo"]) };
  const given: Rule[] = [{ then: "deny", tool: "echo" }];
  await using pc = await startComputer(servers, { rules: given });
  const isDenied = async () =>
    (await pc.call("echo", { text: "a" })).meta.error_code === 4005;
  const allow: Rule = { then: "allow", any: true };
  given.unshift(allow);
  Object.assign(given[1] ?? {}, allow);
  assertEquals([await isDenied(), pc.computer.rules[0]?.then], [true, "deny"]);

  const rules: Rule[] = [allow];
  const config = { ...parseComputerConfig({ servers }), rules };
  await pc.computer.configure(config);
  assertEquals(await isDenied(), false);
  rules.unshift({ then: "deny" });
  assertEquals([await isDenied(), pc.computer.rules[0]?.then], [
    false,
    "allow",
  ]);
  await pc.computer.configure(config);
  assertEquals([await isDenied(), pc.computer.rules[0]?.then], [true, "deny"]);
});

Deno.test("a yes for an hour is listed by the Computer, and holds until it is removed", async () => {
  const { asked, confirm } = person("hour", "once");
  await using pc = await startComputer({ files: files() }, { confirm });
  let changes = 0;
  pc.computer.on("permissionsChanged", () => changes++);
  for (let i = 0; i < 3; i++) await pc.call("echo", { text: "x" });
  assertEquals(asked.length, 1);
  const [permission] = pc.computer.permissions.list();
  assertEquals(permission?.covers, asked[0]?.options[1]?.covers);
  assertEquals([permission?.agent, permission?.usesLeft, changes], [
    "planner",
    17,
    3,
  ]);
  assert(pc.computer.permissions.remove(permission?.id ?? ""));
  await pc.call("echo", { text: "x" });
  assertEquals(asked.length, 2);
});

Deno.test("a late yes to a call that timed out lets it run when it is repeated unchanged", async () => {
  const asked: ConfirmRequest[] = [];
  const late = Promise.withResolvers<void>();
  await using pc = await startComputer({ files: files() }, {
    confirm: (request, signal) =>
      new Promise(() => {
        asked.push(request);
        signal.addEventListener("abort", () => {
          assertEquals(signal.reason, "timeout");
          request.late({ answer: "once", by: 'on "Pixel"' });
          late.resolve();
        });
      }),
  });
  const first = await pc.call("echo", { text: "x" }, {
    timeoutMs: 1_000,
    confirmationTimeoutMs: 1_000,
  });
  assertEquals(first.meta.error_code, 4004);
  await late.promise;
  assertEquals((await pc.call("echo", { text: "x" })).text, "x");
  assertEquals(asked.length, 1);
});

Deno.test("a tool that its MCP server changes while its call is confirmed does not run", async () => {
  const asked = Promise.withResolvers<(answer: ConfirmAnswer) => void>();
  await using pc = await startComputer({ files: files(["grow", "echo"]) }, {
    confirm: () => new Promise((answer) => asked.resolve(answer)),
  });
  const call = pc.call("echo", { text: "x" });
  const answer = await asked.promise;
  await pc.computer.removeServer("files");
  answer("once");
  const { meta, text } = await call;
  assertEquals(meta, { error_code: 4003 });
  assertStringIncludes(text, "replaced or removed");
});

Deno.test("--yes answers what a rule asks, and neither what it denies nor what it asks every time", async () => {
  await using office = await startOffice();
  await using config = await configFile({
    servers: { files: files(["echo", "pid", "environment"]) },
    rules: [
      { then: "deny", tool: "environment", reason: "no" },
      { then: "ask", tool: "pid", every: true },
      { then: "ask", tool: "echo" },
    ],
  });
  await using child = runComputer(office, config.file, { flags: ["--yes"] });
  await Promise.all([
    child.line(/^joined/),
    child.line(/^MCP server files: running/),
  ]);
  const call = async (tool: string) => {
    const { content, _meta } = await office.agent.callTool("pc", tool, {
      text: "x",
    });
    return [_meta?.error_code, content[0]?.text ?? ""] as const;
  };
  for (let i = 0; i < 4; i++) {
    const [code, text] = await call("pid");
    assertEquals(code, 4005);
    assertStringIncludes(text, "which --yes does not answer");
  }
  const [code, text] = await call("environment");
  assertEquals(code, 4005);
  assertStringIncludes(text, "(rules.0)");
  assertEquals(await call("echo"), [undefined, "x"]);
});

Deno.test("smcp-computer check --call says which rule decides on a call, and why the ones before it do not", async () => {
  await using config = await configFile({
    servers: {
      files: files(["echo", "pid"], {
        tool_meta: { echo: { alias: "say" } },
        forbidden_tools: ["pid"],
      }),
    },
    rules: [
      { then: "deny", agent: "other" },
      { then: "allow", tool: "say", when: { text: { equals: "a" } } },
      { then: "ask", tool: "echo", every: true },
    ],
  });
  const check = (...flags: string[]) =>
    runMain("computer", ["check", "--config", config.file, ...flags]);
  const asked = await check(
    "--call",
    "say",
    "--params",
    '{"text": "a", "more": 1}',
    "--agent",
    "planner",
  );
  assertEquals(asked.code, 0, asked.stderr);
  assertEquals(asked.stdout.trim().split("\n"), [
    'a person is asked: tool "echo" of MCP server "files", called by "planner"',
    'decided by rules.2: ask every time about tool "echo"',
    "a yes is for this call alone",
    'not by rules.0: its agent is "other"',
    'not by rules.1: it does not name the argument "more"',
  ]);
  const json = await check(
    "--call",
    "say",
    "--params",
    '{"text": "a"}',
    "--json",
  );
  assertEquals(JSON.parse(json.stdout), {
    tool: "echo",
    server: "files",
    agent: "agent",
    then: "allow",
    rule: {
      id: "rules.1",
      text: 'allow tool "say" where "text" is "a" and no other argument',
    },
    every: false,
    isAllowedOnceOnly: false,
    passed: [{ id: "rules.0", why: 'its agent is "other"' }],
  });
  for (
    const [flags, code, text] of [
      [["--call", "nope"], 1, 'There is no tool "nope"'],
      [["--call", "pid"], 1, "is forbidden by the Computer's configuration"],
      [["--call", "say", "--params", "[1]"], 2, "expected a JSON object"],
      [["--agent", "a"], 2, "name its tool with --call"],
    ] as const
  ) {
    const failed = await check(...flags);
    assertEquals([failed.code, failed.stdout], [code, ""]);
    assertStringIncludes(failed.stderr, text);
  }
});
