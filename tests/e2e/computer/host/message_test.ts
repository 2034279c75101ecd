import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { SmcpComputer } from "../../../../computer/mod.ts";
import { resultMeta } from "../../../../protocol/mod.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { hostOf, textOf } from "../../../support/computer/host.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { startOffice } from "../../../support/office.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";

const MIB = 2 ** 20;

Deno.test({
  name:
    "a child that writes an endless line is restarted, with the reason in its status",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ a: fixture() }, {
    maxMessageBytes: MIB,
  });
  const { office: { agent }, computer } = pc;
  const errors: string[] = [];
  const back = new Promise<void>((resolve) =>
    computer.on("serverState", ({ state, error }) => {
      if (error !== undefined) errors.push(error);
      if (state === "running") resolve();
    })
  );
  const result = await agent.callTool("pc", "endless", {});
  assertEquals(resultMeta(result).error_code, 4003);
  await back;
  assertStringIncludes(errors[0] ?? "", "more than 1048576 bytes");
  assertStringIncludes(errors[0] ?? "", "--max-message");
  // Brackets within a string are not lists.
  const brackets = await agent.callTool("pc", "echo", {
    text: '\\"['.repeat(200_000),
  });
  assertEquals(brackets.isError ?? false, false);
  const big = await agent.callTool("pc", "big", { bytes: MIB - 1000 });
  assertEquals(big.content[0]?.text?.length, MIB - 1000);
});

Deno.test({
  name:
    "a child that answers its start with an endless line fails, with the reason",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({
    a: {
      type: "stdio",
      server_parameters: { command: "cat", args: ["/dev/zero"] },
    },
  });
  await host.start();
  const { state, error = "" } = host.server("a")!.status;
  assertEquals(state, "failed");
  assertStringIncludes(error, '"cat" sent a message of more than 67108864');
});

Deno.test({
  name:
    "a command that hosts a child of endless lines keeps its memory bounded, and its other servers answer",
  timeout: 120_000,
  ignore: Deno.build.os !== "linux",
}, async () => {
  await using config = await configFile({
    servers: {
      endless: {
        type: "stdio",
        server_parameters: { command: "cat", args: ["/dev/zero"] },
      },
      good: fixture({ only: ["echo"] }, {
        default_tool_meta: { auto_apply: true },
      }),
    },
  });
  await using office = await startOffice();
  await using computer = runComputer(office, config.file);
  await computer.line(/^joined/);
  await office.agent.toolsSettled();
  await Promise.all([
    computer.line(/^MCP server endless: failed/),
    computer.line(/^MCP server good: running/),
  ]);
  const { content } = await office.agent.callTool("pc", "echo", { text: "hi" });
  assertEquals(content[0]?.text, "hi");
  const status = await Deno.readTextFile(`/proc/${computer.pid}/status`);
  const [, peak] = /VmHWM:\s+(\d+) kB/.exec(status) ?? [];
  assert(Number(peak) < 700_000, `${peak} kB`);
  computer.signal("SIGTERM");
  await computer.status;
});

Deno.test({
  name: "data that a child does not read is not buffered without limit",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ a: fixture() }, {
    maxMessageBytes: 150_000,
  });
  const { office: { agent } } = pc;
  const deaf = agent.callTool("pc", "deaf", {}, { timeoutMs: 60_000 });
  const said: string[] = [];
  // The first ones wait in the pipe until their timeout; the others are refused at once.
  while (!said.some((text) => text.includes("could not be reached"))) {
    const { content } = await agent.callTool(
      "pc",
      "echo",
      { text: "x".repeat(100_000) },
      { timeoutMs: 1_000 },
    );
    said.push(content[0]?.text ?? "");
  }
  await pc.computer.stopServer("a");
  assertEquals(resultMeta(await deaf).error_code, 4003);
});

Deno.test({
  name: "a child that floods its output does not delay other calls",
  timeout: 300_000,
}, async () => {
  await using pc = await startComputer({
    a: fixture({ only: ["flood"] }),
    b: fixture({ only: ["echo"] }),
  });
  const { office: { agent } } = pc;
  const flood = agent.callTool("pc", "flood", {}, { timeoutMs: 600_000 });
  flood.catch(() => {}); // a failure shows in the assertions below
  // If they were delayed by the child, which never ends, they would time out.
  for (let i = 0; i < 20; i++) {
    const { isError } = await agent.callTool("pc", "echo", { text: "hi" });
    assertEquals(isError ?? false, false);
  }
  await pc.computer.stopServer("a");
  assertEquals(resultMeta(await flood).error_code, 4003);
});

Deno.test({
  name:
    "a child whose line would take many times its size when parsed is restarted",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ a: fixture() });
  const { office: { agent }, computer } = pc;
  const restarting = new Promise<string>((resolve) =>
    computer.on("serverState", ({ state, error = "" }) => {
      if (state === "restarting") resolve(error);
    })
  );
  const result = await agent.callTool("pc", "lists", { count: 8_000_000 });
  assertEquals(resultMeta(result).error_code, 4003);
  assertStringIncludes(await restarting, "more than 1000000 lists and objects");
});

Deno.test({
  name: "invalid lines of a child have no effect",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ a: fixture() });
  await host.start();
  assertEquals(await textOf(host, "a", "odd_lines", { text: "on" }), "on");
  await assertRejects(() => textOf(host, "a", "no_result"));
  assertEquals(await textOf(host, "a", "echo", { text: "still" }), "still");
});

Deno.test("a Computer refuses an invalid message limit", () => {
  for (const maxMessageBytes of [0, -1, 1.5, NaN, 2 ** 30]) {
    assertThrows(
      () =>
        new SmcpComputer({
          url: "http://127.0.0.1",
          name: "pc",
          servers: {},
          maxMessageBytes,
        }),
      TypeError,
      "maxMessageBytes",
    );
  }
});

Deno.test({
  name: "a tool too large for any answer is skipped, and the others are listed",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({
    a: fixture({
      only: ["echo"],
      extraTools: [
        { name: "deep", inputSchema: nested(200) },
        { name: "deep_meta", inputSchema: {}, _meta: { a: nested(200) } },
      ],
    }),
  });
  const tools = await pc.office.agent.getTools("pc");
  assertEquals(tools.map(({ name }) => name), ["echo"]);
  const [server] = pc.computer.status().servers;
  assertStringIncludes(server?.problems[0] ?? "", "nested deeper");
});

const nested = (levels: number): Record<string, unknown> =>
  levels === 0 ? {} : { inner: nested(levels - 1) };
