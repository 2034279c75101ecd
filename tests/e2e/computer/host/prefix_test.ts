import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { runHere } from "../../../support/command.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { scratch } from "../../../support/scratch.ts";

const only = ["echo", "pid"];

Deno.test({
  name: "the same MCP server twice is called under its prefixes",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({
    left: fixture({ only }, { tool_prefix: "auto" }),
    right: fixture({ only }, {
      tool_prefix: "r-",
      tool_meta: { pid: { alias: "whoami", auto_apply: true } },
    }),
  });
  const { agent } = pc.office;
  const tools = await agent.getTools("pc");
  assertEquals(tools.map(({ name }) => name), [
    "left_echo",
    "left_pid",
    "r-echo",
    "whoami",
  ]);
  const call = async (tool: string) =>
    (await agent.callTool("pc", tool, { text: "hi" })).content[0]?.text;
  assertEquals(await call("left_echo"), "hi");
  assertEquals(await call("r-echo"), "hi");
  assert(await call("left_pid") !== await call("whoami"));
  const { servers } = await agent.getConfig("pc");
  assertEquals(servers.left?.tool_prefix, "auto");
  assertEquals(pc.computer.status().problems, []);
});

Deno.test({
  name:
    "smcp-computer check reports once that the same MCP server is configured twice",
  timeout: 120_000,
}, async () => {
  await using config = await configFile({
    servers: { a: fixture({ only }), b: fixture({ only }) },
  });
  const { code, stdout } = await runHere("computer", [
    ...["check", "--config", config.file],
  ]);
  assertEquals(code, 1);
  const problems = stdout.split("\n").filter((line) =>
    line.startsWith("problem: ")
  );
  assertEquals(problems.length, 1, stdout);
  assertStringIncludes(problems[0] ?? "", '"tool_prefix": "auto" of "b"');
});

Deno.test({
  name: "smcp-computer check refuses an invalid prefix",
  timeout: 120_000,
}, async () => {
  for (const tool_prefix of ["", "a b", "x".repeat(65), "dots."]) {
    await using config = await configFile({
      servers: { a: fixture({ only }, { tool_prefix }) },
    });
    const { code, stderr } = await runHere("computer", [
      ...["check", "--config", config.file],
    ]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, 'servers.a.tool_prefix: expected "auto", or');
  }
});

Deno.test({
  name:
    "smcp-computer import sets a prefix for the same MCP server in two folders",
  timeout: 120_000,
}, async () => {
  await using folder = await scratch();
  const [from, out] = ["from.json", "out.json"].map((name) =>
    join(folder.path, name)
  );
  const server = (path: string) => ({
    command: "npx",
    args: ["-y", "@modelcontextprotocol/server-filesystem", path],
  });
  await Deno.writeTextFile(
    String(from),
    JSON.stringify({
      mcpServers: {
        work: server("/work"),
        home: server("/home"),
        other: { command: "npx", args: ["other"] },
      },
    }),
  );
  const { code, stdout } = await runHere("computer", [
    ...["import", "--from", String(from), "--out", String(out)],
  ]);
  assertEquals(code, 0, stdout);
  assertStringIncludes(stdout, "more than once: work, home; each gets");
  const { servers } = JSON.parse(await Deno.readTextFile(String(out)));
  assertEquals(
    Object.values<{ tool_prefix?: string }>(servers).map(({ tool_prefix }) =>
      tool_prefix
    ),
    ["auto", "auto", undefined],
  );
});
