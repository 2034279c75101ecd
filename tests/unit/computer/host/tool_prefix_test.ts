import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  prefixSamePrograms,
  programOf,
} from "../../../../computer/config/import_configs.ts";
import {
  longNames,
  unmatchedTools,
} from "../../../../computer/host/tool_problems.ts";
import { resolveTool } from "../../../../computer/host/tool_table.ts";
import {
  clashTexts,
  nameTools,
} from "../../../../computer/host/tool_naming.ts";
import { parseMCPServerConfig } from "../../../../protocol/mod.ts";
import { mcpTool, serverView } from "../../../support/computer/server_view.ts";

const offered = (...servers: ReturnType<typeof serverView>[]) => [
  ...nameTools(servers).offers.keys(),
];

Deno.test("tool_prefix is put before the names of a server's tools, except aliases", () => {
  const tool_meta = { write: { alias: "put" } };
  assertEquals(
    offered(
      serverView("a", ["read", "write"], { tool_prefix: "left-", tool_meta }),
      serverView("b", ["read"], { tool_prefix: null }),
    ),
    ["left-read", "put", "read"],
  );
});

Deno.test('tool_prefix "auto" is the name of the server, with characters that all models allow', () => {
  const rows: [name: string, offered: string][] = [
    ["files", "files_read"],
    ["my files (work)", "my_files_work_read"],
    ["_x-1_", "x-1_read"],
    ["文件", "server_read"],
  ];
  for (const [name, expected] of rows) {
    const server = serverView(name, ["read"], { name, tool_prefix: "auto" });
    assertEquals(offered(server), [expected]);
  }
});

Deno.test("a tool can be forbidden by its own name, its prefixed name and its alias", () => {
  for (const forbidden of ["read", "fs_read", "look"]) {
    const server = serverView("a", ["read", "write"], {
      tool_prefix: "fs_",
      forbidden_tools: [forbidden],
      tool_meta: { read: { alias: "look" } },
    });
    assertEquals(offered(server), ["fs_write"], forbidden);
    assertEquals(unmatchedTools(server.config, server.tools), []);
    const names = nameTools([server]);
    const found = resolveTool("look", [server], names);
    assertEquals(found.kind === "refuse" && found.code, 4002, forbidden);
  }
  const prefixed = serverView("a", ["read"], {
    tool_prefix: "fs_",
    forbidden_tools: ["read"],
  });
  const found = resolveTool("fs_read", [prefixed], nameTools([prefixed]));
  assertEquals(found.kind === "refuse" && found.code, 4002);
});

Deno.test("a tool called without its prefix is not found, and the error has the full name", () => {
  const servers = ["a", "b"].map((name) =>
    serverView(name, ["read"], { name, tool_prefix: "auto" })
  );
  const found = resolveTool("read", servers, nameTools(servers));
  assertEquals(found.kind === "refuse" && found.code, 4001);
  assertStringIncludes(
    found.kind === "refuse" ? found.text : "",
    'offered as "a_read" and "b_read"',
  );
});

Deno.test("a tool of a stopped server is known by its prefixed name", () => {
  const server = serverView("a", [], {
    tool_prefix: "fs_",
    tool_meta: { read: { auto_apply: true } },
  }, "failed");
  const found = resolveTool("fs_read", [server], nameTools([server]));
  assertEquals(found.kind === "refuse" && found.code, 4003);
});

Deno.test("the same server twice is reported in one sentence, with the remedy", () => {
  const tools = ["t1", "t2", "t3", "t4", "t5", "t6"];
  const servers = [
    serverView("a", tools),
    serverView("b", tools),
    serverView("c", ["t7", "one"]),
    serverView("d", ["one"]),
  ];
  assertEquals(clashTexts(nameTools(servers).clashes), [
    'MCP servers "a" and "b" have 6 tools of the same names, and none of these can be called: t1, t2, t3, t4, t5, …; give them a prefix, such as "tool_prefix": "auto" of "b"',
    'More than one tool is named "one": MCP server "c" and MCP server "d"; give one of them an alias, such as tool_meta: {"one": {"alias": "d_one"}} of "d", or its server a tool_prefix',
  ]);
});

Deno.test("servers of one name are told apart by their bundle_id where their tools clash", () => {
  const servers = [
    serverView("twin", ["t1", "t2"], { bundle_id: "x" }),
    serverView("twin", ["t1", "t2"], { bundle_id: "y" }),
    serverView("other", ["one"]),
    serverView("twin", ["one"], { bundle_id: "z" }),
  ];
  assertEquals(clashTexts(nameTools(servers).clashes), [
    'MCP servers "twin (x)" and "twin (y)" have 2 tools of the same names, and none of these can be called: t1, t2; give them a prefix, such as "tool_prefix": "auto" of "twin (y)"',
    'More than one tool is named "one": MCP server "other" and MCP server "twin"; give one of them an alias, such as tool_meta: {"one": {"alias": "twin_one"}} of "twin", or its server a tool_prefix',
  ]);
});

Deno.test("longNames() warns above 64 characters, and excludes above 256", () => {
  const config = serverView("a", [], { tool_prefix: "p".repeat(60) }).config;
  const tools = [4, 5, 196, 197].map((length) => mcpTool("x".repeat(length)));
  const { problems, warning } = longNames(config, tools);
  assertEquals(problems.length, 1);
  assertStringIncludes(problems[0] ?? "", "longer than 256");
  assertStringIncludes(warning ?? "", "2 of its tools");
  assertEquals(longNames(config, tools.slice(0, 1)), { problems: [] });
  const server = { ...serverView("a", tools), config };
  assertEquals(offered(server).map(({ length }) => length), [64, 65, 256]);
});

const stdio = (name: string, command: string, ...args: string[]) =>
  parseMCPServerConfig({
    name,
    type: "stdio",
    server_parameters: { command, args },
  });

Deno.test("programOf() recognises the same MCP server with any arguments", () => {
  const rows: [command: string, args: string[], program: string | undefined][] =
    [
      ["npx", ["-y", "@mcp/files", "/a"], "@mcp/files"],
      ["/usr/bin/npx", ["@mcp/files@1.2.3", "/b"], "@mcp/files"],
      ["npx.cmd", ["-y", "files@latest"], "files"],
      ["uvx", ["--from", "git+x", "files", "/a"], "files"],
      ["deno", ["run", "-A", "npm:@mcp/files@1", "/a"], "npm:@mcp/files"],
      ["docker", ["run", "-i", "--rm", "-e", "A=b", "mcp/git"], "mcp/git"],
      ["python3", ["-m", "server_git"], "server_git"],
      ["my-server", ["/a"], "my-server"],
      ["sh", ["-c", "my-server"], undefined],
    ];
  for (const [command, args, program] of rows) {
    assertEquals(programOf(stdio("a", command, ...args)), program, command);
  }
});

Deno.test("prefixSamePrograms() sets a prefix for programs that occur more than once", () => {
  const servers = [
    stdio("a", "npx", "files", "/a"),
    stdio("b", "npx", "files", "/b"),
    stdio("c", "npx", "git"),
    { ...stdio("d", "npx", "git"), disabled: true },
    { ...stdio("e", "npx", "files", "/e"), tool_prefix: "own_" },
    stdio("f", "sh", "-c", "x"),
    stdio("g", "sh", "-c", "y"),
  ];
  const { servers: found, prefixed } = prefixSamePrograms(servers);
  assertEquals(prefixed, ["a", "b"]);
  assertEquals(found.map(({ tool_prefix }) => tool_prefix), [
    "auto",
    "auto",
    undefined,
    undefined,
    "own_",
    undefined,
    undefined,
  ]);
});
