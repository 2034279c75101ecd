import { assertEquals, assertStringIncludes } from "@std/assert";
import { resolveTool } from "../../../../computer/host/tool_table.ts";
import type { ServerView } from "../../../../computer/host/server_status.ts";
import {
  effectiveToolMeta,
  toSMCPTool,
} from "../../../../computer/host/tool_meta.ts";
import { clashText, nameTools } from "../../../../computer/host/tool_naming.ts";
import { parseGetToolsRet } from "../../../../protocol/payloads/tools.ts";
import { mcpTool, serverView } from "../../../support/computer/server_view.ts";

const offered = (servers: ServerView[]) => [
  ...nameTools(servers).offers.keys(),
];

const resolve = (name: string, servers: ServerView[]) => {
  const found = resolveTool(name, servers, nameTools(servers));
  return found.kind === "call"
    ? `${found.target.server.name}/${found.target.tool.name}`
    : [found.code, found.text];
};

Deno.test("nameTools() offers a tool under its alias, else under its MCP name", () => {
  const servers = [
    serverView("a", ["read", "write"], {
      tool_meta: { read: { alias: "a_read" }, write: { alias: null } },
    }),
    serverView("b", ["read"]),
  ];
  assertEquals(offered(servers), ["a_read", "write", "read"]);
  assertEquals(resolve("a_read", servers), "a/read");
  assertEquals(resolve("read", servers), "b/read");
});

Deno.test("nameTools() neither offers nor resolves a clashing name; others work", () => {
  const servers = [
    serverView("a", ["same", "one"]),
    serverView("b", ["same", "two"]),
  ];
  assertEquals(offered(servers), ["one", "two"]);
  const { clashes } = nameTools(servers);
  const text = clashText("same", clashes.get("same") ?? []);
  assertEquals(resolve("same", servers), [4001, text]);
  for (const part of ['"a"', '"b"', "alias", "b_same"]) {
    assertStringIncludes(text, part);
  }
});

Deno.test("nameTools() finds a clash of an alias with a name, also within one server", () => {
  const alias = { tool_meta: { one: { alias: "two" } } };
  assertEquals(offered([serverView("a", ["one", "two"], alias)]), []);
  assertEquals(
    offered([serverView("a", ["one"], alias), serverView("b", ["two"])]),
    [],
  );
});

Deno.test("nameTools() counts a tool that its server lists twice once: no alias could distinguish them", () => {
  const twice = mcpTool("same", { description: "first" });
  const servers = [serverView("a", [twice, "other", mcpTool("same")])];
  assertEquals(offered(servers), ["same", "other"]);
  assertEquals(nameTools(servers).offers.get("same")?.tool, twice);
  assertEquals(nameTools(servers).clashes.size, 0);
});

Deno.test("nameTools() reserves no name for a forbidden tool", () => {
  const servers = [
    serverView("a", ["same"], { forbidden_tools: ["same"] }),
    serverView("b", ["same"]),
  ];
  assertEquals(resolve("same", servers), "b/same");
});

Deno.test("nameTools() keeps the names of a restarting server, and frees those of a stopped one", () => {
  for (
    const [state, names] of [["restarting", []], ["stopped", ["same"]], [
      "failed",
      ["same"],
    ]] as const
  ) {
    const servers = [
      serverView("a", ["same"], {}, state),
      serverView("b", ["same"]),
    ];
    assertEquals(offered(servers), [...names], state);
  }
});

Deno.test("resolveTool() answers 4001, 4002 and 4003 as in the table of the spec", async (t) => {
  const servers = [
    serverView("files", ["read", "secret", "hidden"], {
      forbidden_tools: ["secret", "hidden"],
      tool_meta: { read: { alias: "r" }, hidden: { alias: "h" } },
    }),
    serverView("off", ["dark"], { disabled: true }, "disabled"),
    {
      ...serverView("back", ["later"], {}, "restarting"),
      nextAttempt: new Date("2026-01-02T03:04:05Z"),
    },
    serverView("hand", ["halted"], {}, "stopped"),
    serverView("new", [], { tool_meta: { fresh: { alias: "f" } } }, "starting"),
    serverView("named", ["delete"], {
      forbidden_tools: ["rm"],
      tool_meta: { delete: { alias: "rm" } },
    }),
  ];
  const table: [string, number, string[]][] = [
    ["nothing", 4001, ['"nothing"', '"back"', '"new"']],
    ["dark", 4001, ['"dark"']],
    ["read", 4001, ['"read"', '"r"']],
    ["secret", 4002, ['"secret"', '"files"']],
    ["hidden", 4002, ['"hidden"']],
    ["h", 4002, ['"h"']],
    ["rm", 4002, ['"rm"', '"named"']],
    ["delete", 4002, ['"delete"', '"named"']],
    ["later", 4003, ['"back"', "restarting", "2026-01-02T03:04:05.000Z"]],
    ["halted", 4003, ['"hand"', "stopped"]],
    ["f", 4003, ['"new"', "starting"]],
  ];
  for (const [name, code, parts] of table) {
    await t.step(`${name}: ${code}`, () => {
      const [got, text] = resolve(name, servers);
      assertEquals(got, code);
      for (const part of parts) assertStringIncludes(String(text), part);
    });
  }
});

Deno.test("effectiveToolMeta() merges tool_meta over default_tool_meta by field; null means absent", () => {
  const config = serverView("a", [], {
    default_tool_meta: { auto_apply: true, tags: ["all"] },
    tool_meta: {
      one: { auto_apply: false, tags: null },
      two: { alias: "2", ret_object_mapper: { a: 1 } },
    },
  }).config;
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

const listed = (
  tool: ReturnType<typeof mcpTool>,
  config: Record<string, unknown> = {},
) =>
  [...nameTools([serverView("a", [tool], config)]).offers.values()].map(
    toSMCPTool,
  )[0];

Deno.test("toSMCPTool() writes exactly four keys into a2c_tool_meta, null if absent", () => {
  assertEquals(
    listed(mcpTool("x"), {
      tool_meta: { x: { tags: ["t"], later: 1 } },
    })?.meta,
    {
      a2c_mcp_server: "a",
      a2c_tool_meta:
        '{"auto_apply":null,"alias":null,"tags":["t"],"ret_object_mapper":null}',
    },
  );
});

Deno.test("toSMCPTool() omits a2c_tool_meta without configured tool meta", () => {
  const meta = { a2c_mcp_server: "a" };
  assertEquals(listed(mcpTool("x"))?.meta, meta);
  assertEquals(
    listed(mcpTool("x"), {
      tool_meta: { x: { alias: null } },
      default_tool_meta: {},
    })?.meta,
    meta,
  );
});

Deno.test("toSMCPTool() has only simple values: JSON strings for structured ones, no nulls, no forged protocol keys", () => {
  const tool = listed(mcpTool("x", {
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
  }));
  assertEquals(tool?.meta, {
    text: "t",
    number: 1.5,
    flag: false,
    list: '[1,{"a":null}]',
    a2c_mcp_server: "a",
    MCP_TOOL_ANNOTATION: '{"readOnlyHint":true}',
  });
});

Deno.test("toSMCPTool() always has return_schema, null if absent", () => {
  assertEquals(listed(mcpTool("x"))?.return_schema, null);
  const schema = { type: "object" };
  const tool = listed(mcpTool("x", { outputSchema: schema }));
  assertEquals(tool?.return_schema, schema);
  assertEquals(parseGetToolsRet({ tools: [tool], req_id: "1" }).tools, [tool]);
});
