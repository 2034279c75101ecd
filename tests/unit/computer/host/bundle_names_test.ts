import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
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
import { ServerSet } from "../../../../computer/host/server_set.ts";
import { credentialsWanted } from "../../../../computer/host/oauth/authorized_fetch.ts";
import type { ServerView } from "../../../../computer/host/server_status.ts";
import { toSMCPTool } from "../../../../computer/host/tool_meta.ts";
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
