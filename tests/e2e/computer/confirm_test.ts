import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ConfirmRequest } from "../../../computer/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { ONCE } from "../../support/computer/host.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { startOffice } from "../../support/office.ts";

const files = (only: string[] = ["echo", "slow", "slow_began"]) =>
  fixture({ only }, {
    tool_meta: { echo: { alias: "say" }, slow_began: { auto_apply: true } },
  });

Deno.test("a tool without auto_apply runs only with confirmation; without it, or after a no, the result is 4005; an unknown one is refused without a question", async () => {
  const asked: ConfirmRequest[] = [];
  let word: "once" | "no" = "no";
  await using pc = await startComputer({ files: files() }, {
    confirm: (request) => {
      asked.push(request);
      return word;
    },
  });
  const { text, meta, result } = await pc.call("say", { text: "x" });
  assert(result.isError);
  assertEquals(meta, { error_code: 4005, a2c_waited_for: "confirmation" });
  assertStringIncludes(text, "refused");
  word = "once";
  assertEquals((await pc.call("say", { text: "x" })).text, "x");
  const { agent, server, tool, name, params, leftMs = 0 } = asked.at(-1) ?? {};
  assertEquals(
    { agent, server, tool, name, params },
    {
      agent: "planner",
      server: "files",
      tool: "echo",
      name: "say",
      params: { text: "x" },
    },
  );
  assert(leftMs > 0);
  assertEquals((await pc.call("nope")).meta, { error_code: 4001 });
  assertEquals(asked.length, 2);
});

Deno.test("a call that is cancelled or times out withdraws its question, and never runs", async () => {
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
  const cancel = new AbortController();
  const cancelled = pc.call("slow", {}, { signal: cancel.signal });
  await asked;
  cancel.abort();
  await cancelled.catch(() => {});
  const { meta } = await pc.call("slow", {}, {
    timeoutMs: 60_000,
    confirmationTimeoutMs: 1_000,
  });
  assertEquals(meta.error_code, 4004);
  await new Promise<void>((done) => {
    const check = () => pc.computer.status().runningCalls === 0 && done();
    pc.computer.on("callEnded", check);
    check();
  });
  assertEquals(questions.map(({ aborted }) => aborted), [true, true]);
  const began = await pc.call("slow_began", {}, { timeoutMs: 1_000 });
  assertEquals(began.meta.error_code, 4004, "the tool never ran");
});

Deno.test("an always for a server does not apply to its replacement, which may be another program", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const word = Promise.withResolvers<"once">();
  await using pc = await startComputer({ files: files(["pid"]) }, {
    confirm: () => {
      resolve();
      return word.promise;
    },
  });
  const call = pc.call("pid", {}, { timeoutMs: 120_000 });
  await asked;
  await pc.computer.updateServer("files", files(["pid", "echo"]));
  word.resolve("once");
  const { meta, text } = await call;
  assertEquals(meta, { error_code: 4003 });
  assertStringIncludes(text, '"files" was replaced');
  assertEquals((await pc.call("pid")).result.isError, undefined);
});

Deno.test("smcp-computer run refuses calls without a terminal, and runs all of them with --yes", async () => {
  await using office = await startOffice();
  await using config = await configFile({
    servers: { files: files(["echo"]) },
  });
  await using careful = runComputer(office, config.file, { name: "careful" });
  await using bold = runComputer(office, config.file, {
    name: "bold",
    flags: ["--yes"],
  });
  await Promise.all([careful, bold].flatMap((child) => [
    child.line(/^joined/),
    child.line(/^MCP server files: running/),
  ]));
  const call = async (name: string) => {
    const { content, _meta } = await office.agent.callTool(name, "say", {
      text: "x",
    });
    return [content[0]?.text ?? "", _meta] as const;
  };
  const [text, meta] = await call("careful");
  assertEquals(meta, { error_code: 4005 }); // it did not wait for anybody
  assertStringIncludes(text, "--yes");
  assertEquals(await call("bold"), ["x", undefined]);
});

Deno.test("a VRL program gets each result, and its output is in meta; the size is checked after it ran", async () => {
  await using pc = await startComputer(
    {
      files: fixture({ only: ["echo", "fail", "big"] }, {
        tool_meta: { echo: { alias: "say" } },
        vrl:
          '. = {"tool": .tool_name, "said": .parameters.text, "bad": .isError, "text": .content[0].text}',
      }),
      aborting: fixture({ only: ["meta"] }, { vrl: 'abort "no"' }),
      without: fixture({ only: ["meta"] }, {
        tool_meta: { meta: { alias: "unchanged" } },
        vrl: "",
      }),
      plain: fixture({ only: ["big"] }, {
        tool_meta: { big: { alias: "plain" } },
      }),
    },
    {},
    { server: { maxMessageBytes: 100_000 } },
  );
  const call = async (tool: string, params: Record<string, unknown> = {}) => {
    const { text, meta: { a2c_vrl_transformed: json, ...meta }, result } =
      await pc.call(tool, params);
    assertEquals(result.meta, result._meta);
    return [
      text,
      meta,
      json === undefined ? undefined : JSON.parse(String(json)),
    ];
  };
  const failed = "it went wrong";
  assertEquals(await call("say", { text: "x" }), ["x", {}, {
    tool: "echo",
    said: "x",
    bad: false,
    text: "x",
  }]);
  assertEquals(await call("fail"), [failed, {}, {
    tool: "fail",
    said: null,
    bad: true,
    text: failed,
  }]);
  assertEquals(await call("meta"), [
    "with metadata",
    { origin: "fixture" },
    undefined,
  ]);
  const _meta = { origin: "fixture" };
  assertEquals((await pc.call("unchanged")).result, {
    content: [{ type: "text", text: "with metadata" }],
    meta: _meta,
    _meta,
  });
  const params = { bytes: 60_000 };
  assertEquals((await pc.call("plain", params)).meta, {});
  const [text, meta] = await call("big", params);
  assertEquals(meta, { error_code: 4003 });
  assertStringIncludes(text, "100000");
});

Deno.test("a VRL program that does not compile rejects only its server, with the compiler's message", async () => {
  await using pc = await startComputer({
    bad: fixture({}, { vrl: ".a = " }),
    good: fixture({ only: ["echo"] }),
  }, { restart: ONCE });
  const { computer } = pc;
  const [bad, good] = computer.status().servers;
  assertEquals([bad?.state, good?.state], ["failed", "running"]);
  assertStringIncludes(bad?.error ?? "", "unexpected end of program");
  const added = await computer.addServer("late", fixture({}, { vrl: "(" }))
    .catch(String);
  assertStringIncludes(
    String(added),
    "servers.late.vrl: Cannot compile the VRL program",
  );
  assertEquals(computer.status().servers.length, 2);
});
