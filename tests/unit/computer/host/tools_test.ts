import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { McpTool } from "../../../../computer/host/mcp/mcp_connection.ts";
import { credentialsWanted } from "../../../../computer/host/oauth/authorized_fetch.ts";
import { ServerSet } from "../../../../computer/host/server_set.ts";
import type {
  ServerState,
  ServerView,
} from "../../../../computer/host/server_status.ts";
import {
  clashTexts,
  longNames,
  nameTools,
  unmatchedTools,
} from "../../../../computer/host/tool_naming.ts";
import {
  effectiveToolMeta,
  malformedTags,
  resolveTool,
  toSMCPTool,
} from "../../../../computer/host/tool_table.ts";
import { getTools } from "../../../../protocol/payloads/tools.ts";
import { mcpTool, view } from "../../../support/computer/server_view.ts";

/** MCP servers as text, `a: read write | b: read`; the configuration is that of the first. */
const views = (
  text: string,
  config: Record<string, unknown> = {},
  state?: ServerState,
): ServerView[] =>
  text.split(" | ").map((part, i) => {
    const [name = "", tools = ""] = part.split(": ");
    const listed = tools.split(" ").filter((tool) => tool !== "");
    return i === 0 ? view(name, listed, config, state) : view(name, listed);
  });

const offered = (
  servers: ServerView[],
) => [...nameTools(servers).offers.keys()];

/** MCP servers as they are since 0.3. */
const since03 = (servers: ServerView[]): ServerView[] =>
  servers.map((server) => ({ ...server, bundleIds: true }));

/** `SERVER/TOOL`, or code and text of the refusal. */
function resolve(name: string, servers: readonly ServerView[]): string {
  const found = resolveTool(name, servers, nameTools(servers));
  return found.kind === "call"
    ? `${found.target.server.bundleId}/${found.target.tool.name}`
    : `${found.code} ${found.text}`;
}

const LOOK = { tool_prefix: "fs_", tool_meta: { read: { alias: "look" } } };

Deno.test("nameTools() offers a tool under its alias, else under its prefix and MCP name, and no clashing name", () => {
  const two = { tool_meta: { one: { alias: "two" } } };
  const aliased = { read: { alias: "a_read" }, write: { alias: null } };
  const put = { tool_prefix: "left-", tool_meta: { look: { alias: "put" } } };
  const auto = { tool_prefix: "auto" };
  const no = { forbidden_tools: ["same"] };
  const rows: [string, Record<string, unknown>, string, ServerState?][] = [
    ["a: read write | b: read", { tool_meta: aliased }, "a_read write read"],
    ["a: same one | b: same two", {}, "one two"],
    ["a: one two", two, ""],
    ["a: one | b: two", two, ""],
    ["a: same | b: same", no, "same"],
    ["a: same | b: same", {}, "", "restarting"],
    ["a: same | b: same", {}, "same", "stopped"],
    ["a: same | b: same", {}, "same", "failed"],
    ["a: read look | b: read", put, "left-read put read"],
    ["files: read", auto, "files_read"],
    ["my files (work): read", auto, "my_files_work_read"],
    ["_x-1_: read", auto, "x-1_read"],
    ["文件: read", auto, "server_read"],
  ];
  for (const [servers, config, expected, state] of rows) {
    assertEquals(offered(views(servers, config, state)).join(" "), expected);
  }
  assertEquals(resolve("same", views("a: same | b: same", no)), "b/same");
  // No alias could distinguish them.
  const first = mcpTool("same", { description: "first" });
  const { offers } = nameTools([view("a", [first, "other", mcpTool("same")])]);
  assertEquals([...offers.keys()], ["same", "other"]);
  assertEquals(offers.get("same")?.tool, first);
});

Deno.test("resolveTool() answers 4001, 4002 and 4003 as in the table of the spec", () => {
  const known = {
    tool_meta: { fresh: { alias: "f" }, old: { auto_apply: true } },
  };
  const servers = [
    view("files", ["read", "secret", "hidden"], {
      forbidden_tools: ["secret", "hidden"],
      tool_meta: { read: { alias: "r" }, hidden: { alias: "h" } },
    }),
    view("off", ["dark"], { disabled: true }, "disabled"),
    {
      ...view("back", ["later"], {}, "restarting"),
      nextAttempt: new Date("2026-01-02T03:04:05Z"),
    },
    view("hand", ["halted"], {}, "stopped"),
    view("new", [], known, "starting"),
    view("named", ["delete"], {
      forbidden_tools: ["rm"],
      tool_meta: { delete: { alias: "rm" } },
    }),
    view("one", ["same", "put"], { tool_prefix: "1_" }),
    view("two", ["same", "set"], {
      tool_prefix: "2_",
      forbidden_tools: ["set"],
      tool_meta: { same: { alias: "1_same" } },
    }),
    view("gone", [], { ...known, tool_prefix: "p_" }, "failed"),
  ];
  const table: [name: string, ...parts: string[]][] = [
    ["r", "files/read"],
    ["nothing", "4001", '"nothing"', '"back"', '"new"'],
    ["dark", "4001", '"dark"'],
    ["read", "4001", '"read"', '"r"'],
    ["put", "4001", 'offered as "1_put"'],
    ["1_same", "4001", '"one"', '"two"', "alias", "two_1_same"],
    ["one__same", "4001", 'named "1_same"', "alias"],
    ["secret", "4002", '"secret"', '"files"'],
    ["hidden", "4002", '"hidden"'],
    ["h", "4002", '"h"'],
    ["rm", "4002", '"rm"', '"named"'],
    ["delete", "4002", '"delete"', '"named"'],
    ["2_set", "4002"],
    ["later", "4003", '"back"', "restarting", "2026-01-02T03:04:05.000Z"],
    ["halted", "4003", '"hand"', "stopped"],
    ["f", "4003", '"new"', "starting"],
    ["p_old", "4003", '"gone"', "failed"],
  ];
  for (const [name, ...parts] of table) {
    for (const part of parts) {
      assertStringIncludes(resolve(name, servers), part);
    }
  }
  const twice = ["a", "b"].map((name) =>
    view(name, ["read"], { tool_prefix: "auto" })
  );
  assertStringIncludes(
    resolve("read", twice),
    'offered as "a_read" and "b_read"',
  );
});

Deno.test("clashes are reported in one sentence, with the remedy, and the bundle_id of servers of one name", () => {
  const tools = "t1 t2 t3 t4 t5 t6";
  const clashes = (servers: ServerView[]) =>
    clashTexts(nameTools(servers).clashes);
  assertEquals(
    clashes(views(`a: ${tools} | b: ${tools} | c: t7 one | d: one`)),
    [
      'MCP servers "a" and "b" have 6 tools of the same names, and none of these can be called: t1, t2, t3, t4, t5, …; give them a prefix, such as "tool_prefix": "auto" of "b"',
      'More than one tool is named "one": MCP server "c" and MCP server "d"; give one of them an alias, such as tool_meta: {"one": {"alias": "d_one"}} of "d", or its server a tool_prefix',
    ],
  );
  const twins = ["x", "y"].map((bundle_id) =>
    view("twin", ["t1", "t2"], { bundle_id })
  );
  const other = view("other", ["one"]);
  const third = view("twin", ["one"], { bundle_id: "z" });
  assertEquals(clashes([...twins, other, third]), [
    'MCP servers "twin (x)" and "twin (y)" have 2 tools of the same names, and none of these can be called: t1, t2; give them a prefix, such as "tool_prefix": "auto" of "twin (y)"',
    'More than one tool is named "one": MCP server "other" and MCP server "twin"; give one of them an alias, such as tool_meta: {"one": {"alias": "twin_one"}} of "twin", or its server a tool_prefix',
  ]);
});

Deno.test("clashes within one server are reported one by one", () => {
  const x = { alias: "x" };
  const y = { alias: "y" };
  const tool_meta = { a: x, b: x, c: y, d: y };
  const { clashes } = nameTools(views("s: a b c d", { tool_meta }));
  const texts = clashTexts(clashes);
  assertEquals(texts.length, 2);
  for (const text of texts) assertStringIncludes(text, 'another "alias"');
});

Deno.test("longNames() warns above 64 characters, and excludes above 256; behind a bundle_id too", () => {
  const config =
    view("p".repeat(60), [], { tool_prefix: "p".repeat(60) }).config;
  const of = (lengths: number[], bundleIds = false) =>
    longNames({
      ...view(config.name, lengths.map((length) => "x".repeat(length))),
      config,
      bundleIds,
    });
  const { problems, warning } = of([4, 5, 196, 197]);
  assertEquals(problems.length, 1);
  const cut = `tool "${"x".repeat(40)}…" is left out`;
  assertStringIncludes(problems[0] ?? "", cut);
  assertStringIncludes(problems[0] ?? "", "longer than 256");
  assertStringIncludes(warning ?? "", "2 of its tools");
  assertEquals(of([4]), { problems: [] });
  const later = of([2, 3, 195], true);
  assertStringIncludes(later.problems[0] ?? "", "behind its bundle_id");
  assertStringIncludes(later.warning ?? "", "a shorter bundle_id");
  assertStringIncludes(later.warning ?? "", "1 of its tools");
  const server = {
    ...view("a", [4, 5, 196, 197].map((length) => "x".repeat(length))),
    config,
  };
  assertEquals(offered([server]).map(({ length }) => length), [64, 65, 256]);
});

Deno.test("protocol §13: a tool is named by its bundle_id and its alias or own name, always", () => {
  const server = view("my files", ["read", "a__b", "list"], {
    bundle_id: "files",
    tool_prefix: "fs_",
    tool_meta: { list: { alias: "ls" } },
  });
  const files = { ...server, address: "files" };
  const shown = (servers: ServerView[]) =>
    [...nameTools(servers).offers.values()].map(toSMCPTool).map((tool) => [
      tool.name,
      "bundle_id" in tool && tool.bundle_id,
      tool.meta?.a2c_mcp_server,
    ]);
  assertEquals(shown(since03([files])), [
    ["files__read", "files", "my files"],
    ["files__a__b", "files", "my files"],
    ["files__ls", "files", "my files"],
  ]);
  assertEquals(shown([files])[0], ["fs_read", false, "files"]);
});

Deno.test("protocol §13: a call is resolved by the table alone, and names are never split; 4001 names the right one", () => {
  const known = { tool_meta: { read: { auto_apply: true } } };
  const servers = [
    ...views("a: _b b__c"),
    view("a__b", ["c", "d"], { bundle_id: "a_b" }),
    ...views("stopped", known, "failed"),
    ...views("files: read", LOOK),
  ];
  const text = 'it is offered as "files__look"';
  const rows = {
    a___b: "a/_b",
    a__b__c: "a/b__c",
    a_b__c: "a_b/c",
    b__c: "4001",
    a__b__d: "4001",
    c: "4001",
    __c: "4001",
    a__: "4001",
    stopped__read: "4003",
    read: text,
    look: text,
    files__read: text,
  };
  for (const [name, expected] of Object.entries(rows)) {
    assertStringIncludes(resolve(name, since03(servers)), expected, name);
  }
  // An id may end with "_": then two tools have one name, and neither can be called.
  const odd = [...views("a: _b"), view("x", ["b"], { bundle_id: "a_" })];
  assertStringIncludes(resolve("a___b", since03(odd)), "4001");
  assertEquals(clashTexts(nameTools(since03(odd)).clashes).length, 1);
});

Deno.test("protocol §13: servers have no clashes, but two tools of one with one alias are a problem", () => {
  const same = views("a: read | b: read");
  assertEquals([
    nameTools(since03(same)).clashes.size,
    nameTools(same).clashes.size,
  ], [0, 1]);
  const x = { alias: "x" };
  const twice = [view("a", ["one", "two"], { tool_meta: { one: x, two: x } })];
  const text = resolve("a__x", since03(twice));
  assertStringIncludes(text, '4001 More than one tool is named "a__x"');
  assertStringIncludes(text, 'another "alias" in its tool_meta');
});

Deno.test("protocol §13: a tool is forbidden by its MCP name, its alias and any name it is offered under", () => {
  for (
    const forbidden of ["read", "look", "fs_read", "files__read", "files__look"]
  ) {
    const server = view("files", ["read", "write"], {
      ...LOOK,
      forbidden_tools: [forbidden],
    });
    assertEquals(unmatchedTools(server), [], forbidden);
    for (
      const [name, servers] of [
        ["look", [server]],
        ["files__look", since03([server])],
      ] as const
    ) {
      assertStringIncludes(resolve(name, servers), "4002", forbidden);
    }
    assertEquals(offered([server]), ["fs_write"]);
  }
});

Deno.test("protocol §13: tool_meta is by MCP name; another name of a tool is a problem that names it", () => {
  for (const key of ["files__read", "fs_read", "look"]) {
    const tool_meta = { ...LOOK.tool_meta, [key]: { auto_apply: false } };
    const server = view("files", ["read"], { ...LOOK, tool_meta });
    assertEquals(unmatchedTools(server), [
      `tool_meta names "${key}", which is none of its tools; did you mean "read"?`,
    ]);
  }
});

Deno.test("protocol §13: 4006 of a tool of a server that refused names it by its bundle_id", () => {
  const known = { tool_meta: { read: { auto_apply: true } } };
  const bundleId = "my_files";
  const refusal = credentialsWanted();
  const server = view("my files", [], known, "failed");
  const refused = since03([
    { ...server, bundleId, address: bundleId, refusal },
  ]);
  const { kind, ...rest } = resolveTool(
    "my_files__read",
    refused,
    nameTools(refused),
  );
  const { code, fields } = Object(rest);
  assertEquals([kind, code, fields.mcp_server], ["refuse", 4006, bundleId]);
});

Deno.test("protocol §13: a server is found by a name that only it has, or by its id; else an error lists both", () => {
  const set = new ServerSet<
    { bundleId: string; config: ServerView["config"] }
  >();
  const all: [name: string, id: string][] = [
    ["files", "files"],
    ["my files", "my_files"],
    ["web", "web-1"],
    ["web", "web-2"],
  ];
  for (const [name, bundleId] of all) {
    set.set(bundleId, { bundleId, config: view(name, []).config });
  }
  const found = ["my files", "my_files", "web-2"].map((name) => set.find(name));
  assertEquals(found.map(({ bundleId }) => bundleId), [
    ...["my_files", "my_files", "web-2"],
  ]);
  const refused: [name: string, text: string][] = [
    [
      "web",
      '"web" is the name of 2 MCP servers; say which by its bundle_id: web-1 ("web"), web-2 ("web")',
    ],
    [
      "wob",
      'There is no MCP server "wob"; the configuration has "files", "my files" (my_files), "web" (web-1)',
    ],
  ];
  for (const [name, text] of refused) {
    assertThrows(() => set.find(name), TypeError, text);
  }
  const ids = all.map(([, id]) => id);
  const seen = () => ({
    addresses: ids.map((id) => set.addressOf(id)),
    at: ["my files", "my_files"].map((name) => set.at(name)?.bundleId),
    meant: ["my files", "my_files", "gone"].map((name) =>
      set.addressMeant(name)
    ),
  });
  assertEquals(seen(), {
    addresses: ["files", "my files", "web-1", "web-2"],
    at: ["my_files", undefined],
    meant: ["my files", "my files", "gone"],
  });
  set.bundleIds = true;
  assertEquals(seen(), {
    addresses: ids,
    at: [undefined, "my_files"],
    meant: ["my_files", "my_files", "gone"],
  });
});

Deno.test("effectiveToolMeta() merges tool_meta over default_tool_meta by field; null means absent", () => {
  const { config } = view("a", [], {
    default_tool_meta: { auto_apply: true, tags: ["all"] },
    tool_meta: {
      one: { auto_apply: false, tags: null },
      two: { alias: "2", ret_object_mapper: { a: 1 } },
    },
  });
  const rows: [string, unknown][] = [
    ["one", [false, null, ["all"], null]],
    ["two", [true, "2", ["all"], { a: 1 }]],
    ["other", [true, null, ["all"], null]],
    ["toString", [true, null, ["all"], null]],
  ];
  for (const [tool, expected] of rows) {
    assertEquals(Object.values(effectiveToolMeta(config, tool)), expected);
  }
});

/** How Agents see a tool "x" of a server "a". */
const listed = (
  over: Partial<McpTool> = {},
  config: Record<string, unknown> = {},
) =>
  [...nameTools([view("a", [mcpTool("x", over)], config)]).offers.values()].map(
    toSMCPTool,
  )[0];

Deno.test("toSMCPTool() has only simple values: JSON strings for structured ones, no nulls, no forged protocol keys", () => {
  const meta = { a2c_mcp_server: "a" };
  const schema = { type: "object" };
  const rows: [
    Partial<McpTool>,
    Record<string, unknown>,
    Record<string, unknown>,
  ][] = [
    // Exactly four keys, null if absent; none without configured tool meta.
    [{}, { tool_meta: { x: { tags: ["t"], later: 1 } } }, {
      ...meta,
      a2c_tool_meta:
        '{"auto_apply":null,"alias":null,"tags":["t"],"ret_object_mapper":null}',
    }],
    [{}, {}, meta],
    [{}, { tool_meta: { x: { alias: null } }, default_tool_meta: {} }, meta],
    [
      {
        annotations: { readOnlyHint: true },
        meta: {
          text: "t",
          number: 1.5,
          flag: false,
          nothing: null,
          list: [1, { a: null }],
          a2c_tool_meta: "forged",
          a2c_mcp_server: "forged",
          MCP_TOOL_ANNOTATION: "forged",
        },
      },
      {},
      {
        text: "t",
        number: 1.5,
        flag: false,
        list: '[1,{"a":null}]',
        ...meta,
        MCP_TOOL_ANNOTATION: '{"readOnlyHint":true}',
      },
    ],
  ];
  for (const [over, config, expected] of rows) {
    for (const outputSchema of [null, schema]) {
      const tool = listed({ ...over, outputSchema }, config);
      assertEquals([tool?.meta, tool?.return_schema], [expected, outputSchema]);
      assertEquals(getTools.parseAnswer({ tools: [tool], req_id: "1" }).tools, [
        tool,
      ]);
    }
  }
});

Deno.test("protocol §7: tags that an MCP server declares are taken where none are configured, and nothing else of its declaration; a malformed one is not", () => {
  const given = { tags: ["d"], alias: "forged", ret_object_mapper: {} };
  const all = { default_tool_meta: { tags: ["all"] } };
  const of = (tags: unknown) => ({ tool_meta: { x: { tags } } });
  const untagged = { tool_meta: { x: { auto_apply: false } } };
  type Row = [declared: unknown, config: object, shown: unknown];
  const rows: Row[] = [
    [{ ...given, auto_apply: true }, {}, [null, null, ["d"], null]],
    [given, untagged, [false, null, ["d"], null]],
    [given, of(["own"]), [null, null, ["own"], null]],
    [given, all, [null, null, ["all"], null]],
    [given, of(null), [null, null, ["d"], null]],
    [given, of([]), [null, null, [], null]],
    [given, { default_tool_meta: { tags: [] } }, [null, null, [], null]],
    [given, { ...all, ...of(["own"]) }, [null, null, ["own"], null]],
    [{}, {}, Array(4).fill(null)],
    [{ tags: null }, {}, Array(4).fill(null)],
    [undefined, {}, undefined],
  ];
  const tags = ["a", { a: 1 }, ["a", 1], {}].map((tags) => ({ tags }));
  for (const bad of [null, "tags", ["tags"], 3, '{"tags":["a"]}', ...tags]) {
    rows.push([bad, {}, undefined], [bad, untagged, [false, null, null, null]]);
  }
  for (const [declared, config, shown] of rows) {
    const meta = declared === undefined ? {} : { a2c_tool_meta: declared };
    const text = listed({ meta }, { ...config })?.meta?.a2c_tool_meta;
    assertEquals(
      text === undefined ? undefined : Object.values(JSON.parse(`${text}`)),
      shown,
      JSON.stringify([declared, config]),
    );
  }
});

Deno.test("protocol §7: malformed declarations of a server are one warning", () => {
  const bad = (name: string) =>
    mcpTool(name, { meta: { a2c_tool_meta: { tags: 1 } } });
  assertEquals(malformedTags([mcpTool("a")]), undefined);
  assertEquals(
    malformedTags([bad("a"), mcpTool("b"), bad("c")]),
    'its a2c_tool_meta of tool "a", and of 1 more is ignored; expected an object whose tags are a list of texts',
  );
});
