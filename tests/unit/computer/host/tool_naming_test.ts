import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  prefixSamePrograms,
  programOf,
} from "../../../../computer/config/import_configs.ts";
import { credentialsWanted } from "../../../../computer/host/oauth/authorized_fetch.ts";
import { ServerSet } from "../../../../computer/host/server_set.ts";
import type { ServerView } from "../../../../computer/host/server_status.ts";
import { toSMCPTool } from "../../../../computer/host/tool_meta.ts";
import {
  clashText,
  clashTexts,
  nameTools,
} from "../../../../computer/host/tool_naming.ts";
import {
  longNames,
  unmatchedTools,
} from "../../../../computer/host/tool_problems.ts";
import { resolveTool } from "../../../../computer/host/tool_table.ts";
import { parseMCPServerConfig } from "../../../../protocol/mod.ts";
import { mcpTool, serverView } from "../../../support/computer/server_view.ts";

const resolve = (name: string, ...servers: ServerView[]) => {
  const found = resolveTool(name, servers, nameTools(servers, true));
  return found.kind === "call"
    ? `${found.target.server.bundleId}/${found.target.tool.name}`
    : found.code;
};

Deno.test("0.4 §3.5: a tool is named by its bundle_id and its alias or own name, always", () => {
  const files = serverView("files", ["read", "a__b", "list"], {
    tool_prefix: "fs_",
    tool_meta: { list: { alias: "ls" } },
  });
  const { offers } = nameTools([files], true);
  assertEquals([...offers.keys()], [
    "files__read",
    "files__a__b",
    "files__ls",
  ]);
  const [first] = [...offers.values()].map(toSMCPTool);
  assertEquals([first?.name, first?.bundle_id], ["files__read", "files"]);
  const [before] = [...nameTools([files]).offers.values()].map(toSMCPTool);
  assertEquals(before && "bundle_id" in before, false);
});

Deno.test("0.4 §3.5: a call is resolved by the table alone, and names are never split", () => {
  const servers = [
    serverView("a", ["_b", "b__c"]),
    serverView("a__b", ["c", "d"], { bundle_id: "a_b" }),
  ];
  assertEquals(resolve("a___b", ...servers), "a/_b");
  assertEquals(resolve("a__b__c", ...servers), "a/b__c");
  assertEquals(resolve("a_b__c", ...servers), "a_b/c");
  for (const name of ["b__c", "a__b__d", "c", "__c", "a__"]) {
    assertEquals(resolve(name, ...servers), 4001, name);
  }
  // An id may end with "_": then two tools have one name, and neither can be called.
  const odd = [
    serverView("a", ["_b"]),
    serverView("x", ["b"], { bundle_id: "a_" }),
  ];
  assertEquals(resolve("a___b", ...odd), 4001);
  assertEquals(clashTexts(nameTools(odd, true).clashes).length, 1);
});

Deno.test("0.4 §3.5: servers have no clashes, but two tools of one with one alias are a problem", () => {
  const same = [serverView("a", ["read"]), serverView("b", ["read"])];
  assertEquals(nameTools(same, true).clashes.size, 0);
  assertEquals(nameTools(same).clashes.size, 1);
  const twice = serverView("a", ["one", "two"], {
    tool_meta: { one: { alias: "x" }, two: { alias: "x" } },
  });
  const { clashes } = nameTools([twice], true);
  const text = clashText("a__x", clashes.get("a__x") ?? []);
  assertStringIncludes(text, 'More than one tool is named "a__x"');
  assertStringIncludes(text, 'another "alias" in its tool_meta');
  assertEquals(resolve("a__x", twice), 4001);
});

Deno.test("0.4 §3.5: a tool is forbidden by its MCP name, its alias and any name it is offered under", () => {
  const names = ["read", "look", "fs_read", "files__read", "files__look"];
  for (const forbidden of names) {
    const server = serverView("files", ["read", "write"], {
      tool_prefix: "fs_",
      forbidden_tools: [forbidden],
      tool_meta: { read: { alias: "look" } },
    });
    assertEquals(unmatchedTools(server.config, server.tools), [], forbidden);
    assertEquals(resolve("files__look", server), 4002, forbidden);
    assertEquals([...nameTools([server]).offers.keys()], ["fs_write"]);
  }
});

Deno.test("0.4 §3.5: tool_meta is by MCP name; another name of a tool is a problem that names it", () => {
  for (const key of ["files__read", "fs_read", "look"]) {
    const { config, tools } = serverView("files", ["read"], {
      tool_prefix: "fs_",
      tool_meta: { read: { alias: "look" }, [key]: { auto_apply: false } },
    });
    assertEquals(unmatchedTools(config, tools), [
      `tool_meta names "${key}", which is none of its tools; did you mean "read"?`,
    ]);
  }
});

Deno.test("0.4 §3.5: a call by another name of a tool is told the right one", () => {
  const server = serverView("files", ["read"], {
    tool_meta: { read: { alias: "look" } },
  });
  for (const name of ["read", "look", "files__read"]) {
    const found = resolveTool(name, [server], nameTools([server], true));
    assertEquals(found.kind, "refuse");
    const text = found.kind === "refuse" ? found.text : "";
    assertStringIncludes(text, 'it is offered as "files__look"', name);
  }
});

Deno.test("0.4 §3.5: a tool of a stopped server is known, and 4006 names the server by its bundle_id", () => {
  const stopped = serverView("a", [], {
    tool_meta: { read: { auto_apply: true } },
  }, "failed");
  assertEquals(resolve("a__read", stopped), 4003);
  const known = { tool_meta: { read: { auto_apply: true } } };
  const refused: ServerView = {
    ...serverView("my files", [], known, "failed"),
    bundleId: "my_files",
    address: "my_files",
    refusal: credentialsWanted(),
  };
  const names = nameTools([refused], true);
  const found = resolveTool("my_files__read", [refused], names);
  assertEquals(
    found.kind === "refuse" && [found.code, found.fields?.mcp_server],
    [4006, "my_files"],
  );
});

Deno.test("0.4 §3.5: names that are too long behind their bundle_id are problems", () => {
  const config = serverView("p".repeat(60), []).config;
  const tools = [2, 3, 195].map((length) => mcpTool("x".repeat(length)));
  const { problems, warning } = longNames(config, tools, true);
  assertStringIncludes(problems[0] ?? "", "behind its bundle_id");
  assertStringIncludes(warning ?? "", "a shorter bundle_id");
  assertStringIncludes(warning ?? "", "1 of its tools");
});

Deno.test("0.4 §3.6: a server is found by a name that only it has, or by its id; else an error lists both", () => {
  const set = new ServerSet<
    { bundleId: string; config: ServerView["config"] }
  >();
  const add = (name: string, bundleId: string) =>
    set.put({ bundleId, config: serverView(name, []).config });
  add("files", "files");
  add("my files", "my_files");
  add("web", "web-1");
  add("web", "web-2");
  assertEquals(set.find("my files").bundleId, "my_files");
  assertEquals(set.find("my_files").bundleId, "my_files");
  assertEquals(set.find("web-2").bundleId, "web-2");
  assertThrows(
    () => set.find("web"),
    TypeError,
    '"web" is the name of 2 MCP servers; say which by its bundle_id: web-1 ("web"), web-2 ("web")',
  );
  assertThrows(
    () => set.find("wob"),
    TypeError,
    'There is no MCP server "wob"; the configuration has "files", "my files" (my_files), "web" (web-1)',
  );
  const addresses = () =>
    set.all.map(({ bundleId }) => set.addressOf(bundleId));
  assertEquals(addresses(), ["files", "my files", "web-1", "web-2"]);
  assertEquals(set.at("my files")?.bundleId, "my_files");
  assertEquals(set.at("my_files"), undefined);
  assertEquals(set.addressMeant("my_files"), "my files");
  set.bundleIds = true;
  assertEquals(addresses(), ["files", "my_files", "web-1", "web-2"]);
  assertEquals(set.at("my files"), undefined);
  assertEquals(set.addressMeant("my files"), "my_files");
  assertEquals(set.addressMeant("gone"), "gone");
});

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
