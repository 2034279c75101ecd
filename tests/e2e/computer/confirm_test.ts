import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ConfirmRequest } from "../../../computer/mod.ts";
import { type CallToolResult, resultMeta } from "../../../protocol/mod.ts";
import { ONCE } from "../../support/computer/host.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { startOffice } from "../../support/office.ts";
import { runComputer } from "../../support/computer/run_computer.ts";

const files = (only: string[] = ["echo", "slow", "slow_began"]) =>
  fixture({ only }, {
    tool_meta: { echo: { alias: "say" }, slow_began: { auto_apply: true } },
  });

const textOf = ({ content }: CallToolResult) => content[0]?.text ?? "";

Deno.test({
  name:
    "a tool without auto_apply runs only with confirmation; without it, or after a no, the result is 4005",
  timeout: 120_000,
}, async () => {
  const asked: ConfirmRequest[] = [];
  let word: "once" | "no" = "no";
  await using pc = await startComputer({ files: files() }, {
    confirm: (request) => {
      asked.push(request);
      return word;
    },
  });
  const { agent } = pc.office;
  const refused = await agent.callTool("pc", "say", { text: "x" });
  assert(refused.isError);
  assertEquals(resultMeta(refused), {
    error_code: 4005,
    a2c_waited_for: "confirmation",
  });
  assertStringIncludes(textOf(refused), "refused");
  word = "once";
  assertEquals(textOf(await agent.callTool("pc", "say", { text: "x" })), "x");
  assertEquals(asked.at(-1), {
    agent: "planner",
    server: "files",
    tool: "echo",
    name: "say",
    params: { text: "x" },
  });
  assertEquals(asked.length, 2);
});

Deno.test({
  name: "an unknown tool is refused without a question",
  timeout: 120_000,
}, async () => {
  let asked = 0;
  await using pc = await startComputer({ files: files() }, {
    confirm: () => {
      asked++;
      return "once";
    },
  });
  const { agent } = pc.office;
  assertEquals(resultMeta(await agent.callTool("pc", "nope", {})), {
    error_code: 4001,
  });
  assertEquals(asked, 0);
});

Deno.test({
  name:
    "a call that is cancelled or times out withdraws its question, and never runs",
  timeout: 120_000,
}, async () => {
  const questions: AbortSignal[] = [];
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  await using pc = await startComputer({ files: files() }, {
    confirm: (_request, signal) => {
      questions.push(signal);
      resolve();
      // A "yes" that is too late.
      return new Promise((answer) =>
        signal.addEventListener("abort", () => answer("once"))
      );
    },
  });
  const { agent } = pc.office;
  const cancel = new AbortController();
  const cancelled = agent.callTool("pc", "slow", {}, { signal: cancel.signal });
  await asked;
  cancel.abort();
  await cancelled.catch(() => {});
  const late = await agent.callTool("pc", "slow", {}, { timeoutMs: 1_000 });
  assertEquals(resultMeta(late).error_code, 4004);
  const ended = new Promise<void>((done) => {
    const check = () => pc.computer.status().runningCalls === 0 && done();
    pc.computer.on("callEnded", check);
    check();
  });
  await ended;
  assertEquals(questions.map(({ aborted }) => aborted), [true, true]);
  const began = await agent.callTool("pc", "slow_began", {}, {
    timeoutMs: 1_000,
  });
  assertEquals(resultMeta(began).error_code, 4004, "the tool never ran");
});

Deno.test({
  name:
    "an always for a server does not apply to its replacement, which may be another program",
  timeout: 120_000,
}, async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const word = Promise.withResolvers<"once">();
  await using pc = await startComputer({ files: files(["pid"]) }, {
    confirm: () => {
      resolve();
      return word.promise;
    },
  });
  const { agent } = pc.office;
  const call = agent.callTool("pc", "pid", {}, { timeoutMs: 120_000 });
  await asked;
  await pc.computer.updateServer("files", files(["pid", "echo"]));
  word.resolve("once");
  const result = await call;
  assertEquals(resultMeta(result), { error_code: 4003 });
  assertStringIncludes(textOf(result), '"files" was replaced');
  assertEquals((await agent.callTool("pc", "pid", {})).isError, undefined);
});

Deno.test({
  name:
    "smcp-computer run refuses calls without a terminal, and runs all of them with --yes",
  timeout: 120_000,
}, async () => {
  await using office = await startOffice();
  await using config = await configFile({ servers: { files: files() } });
  await using careful = runComputer(office, config.file, { name: "careful" });
  await using bold = runComputer(office, config.file, {
    name: "bold",
    flags: ["--yes"],
  });
  await Promise.all([careful, bold].flatMap((child) => [
    child.line(/^joined/),
    child.line(/^MCP server files: running/),
  ]));
  const call = (name: string) =>
    office.agent.callTool(name, "say", { text: "x" });
  const refused = await call("careful");
  assertEquals(resultMeta(refused), { error_code: 4005 });
  assertStringIncludes(textOf(refused), "--yes");
  assertEquals(textOf(await call("bold")), "x");
});

Deno.test({
  name: "a VRL program gets each result, and its output is in meta",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({
    files: fixture({ only: ["echo", "fail", "big"] }, {
      tool_meta: { echo: { alias: "say" } },
      vrl:
        '. = {"tool": .tool_name, "said": .parameters.text, "bad": .isError, "text": .content[0].text}',
    }),
    aborting: fixture({ only: ["meta"] }, { vrl: 'abort "no"' }),
  });
  const { agent } = pc.office;
  const call = async (tool: string, params: Record<string, unknown> = {}) => {
    const result = await agent.callTool("pc", tool, params);
    assertEquals(result.meta, result._meta);
    return result;
  };
  const transformed = (result: CallToolResult) =>
    JSON.parse(String(resultMeta(result).a2c_vrl_transformed));
  assertEquals(transformed(await call("say", { text: "x" })), {
    tool: "echo",
    said: "x",
    bad: false,
    text: "x",
  });
  const failed = await call("fail");
  assert(failed.isError);
  assertEquals(transformed(failed).bad, true);
  const untouched = await call("meta");
  assertEquals(resultMeta(untouched), { origin: "fixture" });
  assertEquals(textOf(untouched), "with metadata");
});

Deno.test({
  name: "the size of a result is checked after its VRL program ran",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer(
    {
      files: fixture({ only: ["big"] }, { vrl: ".again = .content[0].text" }),
      plain: fixture({ only: ["big"] }, {
        tool_meta: { big: { alias: "plain" } },
      }),
    },
    {},
    { server: { maxMessageBytes: 100_000 } },
  );
  const { agent } = pc.office;
  const params = { bytes: 60_000 };
  assertEquals(
    (await agent.callTool("pc", "plain", params)).isError,
    undefined,
  );
  const big = await agent.callTool("pc", "big", params);
  assertEquals(resultMeta(big), { error_code: 4003 });
  assertStringIncludes(textOf(big), "100000");
});

Deno.test({
  name:
    "a VRL program that does not compile rejects only its server, with the compiler's message",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({
    bad: fixture({}, { vrl: ".a = " }),
    good: fixture({ only: ["echo"] }),
  }, { restart: ONCE });
  const [bad, good] = pc.computer.status().servers;
  assertEquals(bad?.state, "failed");
  assertStringIncludes(bad?.error ?? "", "unexpected end of program");
  assertEquals(good?.state, "running");
  const added = await pc.computer.addServer("late", fixture({}, { vrl: "(" }))
    .catch(String);
  assertStringIncludes(
    String(added),
    "servers.late.vrl: Cannot compile the VRL program",
  );
  assertEquals(pc.computer.status().servers.length, 2);
});
