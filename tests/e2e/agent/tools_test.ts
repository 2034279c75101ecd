import { assertEquals, assertStringIncludes } from "@std/assert";
import { SmcpComputer } from "../../../computer/mod.ts";
import {
  GET_TOOLS_EVENT,
  mcpServerOf,
  type SMCPTool,
} from "../../../protocol/mod.ts";
import { parameterRows } from "../../../agent/cli/look.ts";
import { runHere, runMain } from "../../support/command.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE, startOffice } from "../../support/office.ts";

Deno.test({
  name:
    "smcp-agent tools groups by MCP server, and marks those that are starting, disabled or without tools",
  timeout: 120_000,
}, async () => {
  await using office = await startOffice();
  await office.agent.leave();
  const computer = office.use(
    new SmcpComputer({
      url: office.url,
      name: "pc",
      servers: {
        slow: fixture({ start: "hang" }),
        files: fixture({ only: ["echo"] }),
        off: fixture({}, { disabled: true }),
        more: fixture({
          only: ["pid"],
          extraTools: [{
            name: "count",
            inputSchema: {
              type: "object",
              properties: {
                from: { type: "integer", description: "The first. Not last." },
                by: { enum: [1, 2] },
              },
              required: ["from"],
            },
          }],
        }),
      },
    }),
  );
  const running = new Promise<void>((resolve) => {
    const off = computer.on("toolsChanged", () => {
      if (computer.status().tools.length < 3) return;
      off();
      resolve();
    });
  });
  await computer.connect();
  await computer.join(OFFICE);
  await running;
  const run = async (...args: string[]) => {
    const at = ["--url", office.url, "--office", OFFICE];
    const end = await runHere("agent", ["tools", ...args, ...at]);
    assertEquals([end.code, end.stderr], [0, ""]);
    return end.stdout;
  };
  const plain = await run();
  assertEquals(
    plain.split("\n").map((line) => line.replace(/^( *\S+ ).* .*/, "$1…")),
    [
      "pc: …",
      "  slow: starting",
      "  files: …",
      "    echo …",
      "  off: disabled",
      "  more: …",
      "    pid …",
      "    count",
      "",
    ],
    plain,
  );
  assertStringIncludes(plain, "pc: 3 tools\n");
  assertStringIncludes(plain, "  more: 2 tools\n");
  const verbose = await run("--verbose");
  assertStringIncludes(
    verbose,
    "    count\n      from  integer, required  The first.\n      by    1 | 2\n",
  );
  const listed: Record<string, SMCPTool[]> = JSON.parse(await run("--json"));
  assertEquals(listed.pc?.map(mcpServerOf), ["files", "more", "more"]);
});

Deno.test({
  name:
    "smcp-agent tools lists tools of Computers that do not name their MCP servers",
  timeout: 120_000,
}, async () => {
  const tool = {
    name: "old",
    description: "Of another SDK.",
    params_schema: {},
    return_schema: null,
  };
  await using office = await startOffice({
    computers: {
      pc: (event) =>
        event === GET_TOOLS_EVENT
          ? {
            tools: [tool, { ...tool, name: "new", title: "A title" }, {
              ...tool,
              name: "read_it",
              title: "Read It",
            }],
            req_id: "1",
          }
          : {},
    },
  });
  await office.agent.leave();
  const { stdout } = await runHere("agent", [
    ...["tools", "--url", office.url, "--office", OFFICE],
  ]);
  assertEquals(
    stdout,
    "pc: 3 tools\n  old      Of another SDK.\n  new      A title: Of another SDK.\n  read_it  Of another SDK.\n",
  );
});

Deno.test({
  name: "an empty SMCP_OFFICE or SMCP_NAME names its option, for both commands",
  timeout: 120_000,
}, async () => {
  for (const flag of ["office", "name"]) {
    const variable = `SMCP_${flag.toUpperCase()}`;
    const env = { SMCP_OFFICE: OFFICE, SMCP_CONFIG: "c.json", [variable]: "" };
    for (
      const [command, ...args] of [["agent", "tools"], ["computer", "run"]]
    ) {
      const name = command === "agent" ? "agent" : "computer";
      const { code, stderr } = await runMain(name, args, { env });
      assertEquals(code, 2, stderr);
      assertEquals(
        stderr,
        `error: --${flag} is empty; name something with it, and leave no empty ${variable} in the environment\n`,
      );
    }
  }
});

Deno.test({
  name:
    "smcp-agent call reports where --params is invalid JSON, without the parser's words",
  timeout: 120_000,
}, async () => {
  const rows: [params: string, says: string][] = [
    ['{"a": 1', "ends too early|line 1, column 8"],
    ['{"a": 1,\n "b" 2}', "line 2, column 6"],
    ["nope", "--params is not JSON$"],
  ];
  for (const [params, says] of rows) {
    const { code, stderr } = await runHere("agent", [
      "call",
      "echo",
      "--office",
      OFFICE,
      "--params",
      params,
    ]);
    assertEquals(code, 2);
    assertEquals(RegExp(says, "m").test(stderr), true, stderr);
    assertEquals(/token|position|Expected|SyntaxError/.test(stderr), false);
  }
});

Deno.test("parameterRows() returns name, type and description of each parameter", () => {
  const rows = parameterRows({
    type: "object",
    properties: {
      path: { type: "string", description: "Where. And why." },
      tags: { type: "array", items: { type: "string" } },
      mode: { enum: ["r", "w"] },
      any: {},
      odd: true,
      maybe: { type: ["string", "null"] },
    },
    required: ["path"],
  });
  assertEquals(rows, [
    ["path", "string, required", "Where."],
    ["tags", "array of string", ""],
    ["mode", '"r" | "w"', ""],
    ["any", "any", ""],
    ["odd", "any", ""],
    ["maybe", "string | null", ""],
  ]);
  assertEquals(parameterRows({}), []);
  assertEquals(parameterRows({ properties: [] }), []);
});
