import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  CLIENT_EVENTS,
  GET_DPE_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  PUT_BLOB_EVENT,
  READ_RESOURCE_EVENT,
  resultMeta,
  TOOL_CALL_EVENT,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { startHttpFixture } from "../../support/fixtures/mcp_http.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { rawPair } from "../../support/wire/raw_client.ts";
import { hurryTimers } from "../../support/timers.ts";

const textOf = (result: { content: { text?: string }[] }) =>
  result.content.map(({ text }) => text ?? "").join("\n");

/** Events of this package, whose requests define `timeout`. */
const EXTENSIONS: readonly string[] = [
  READ_RESOURCE_EVENT,
  GET_PROMPTS_EVENT,
  GET_PROMPT_EVENT,
];

Deno.test({
  name:
    "the Server answers 408 for a silent Computer: after timeout + 5 s, or 30 s without a timeout (spec §7)",
  timeout: 120_000,
}, async () => {
  const request = {
    agent: "agent",
    req_id: "1",
    computer: "computer",
    tool_name: "echo",
    params: {},
    mcp_server: "files",
    uri: "dpe://host/doc",
    name: "prompt",
    blob_handle: "handle",
    chunk_offset: 0,
    eof: true,
    watch: true,
    blob: "",
  };
  const rows: [event: string, over: { timeout?: number }, ms: number][] = [
    [TOOL_CALL_EVENT, { timeout: 60 }, 65_000],
    [TOOL_CALL_EVENT, { timeout: 1 }, 6_000],
    [TOOL_CALL_EVENT, { timeout: 3600 }, 3_605_000],
    [GET_DPE_EVENT, { timeout: 7 }, 12_000],
    [GET_DPE_EVENT, {}, 35_000],
    ...EXTENSIONS.flatMap((event): [string, { timeout?: number }, number][] => [
      [event, { timeout: 7 }, 12_000],
      [event, {}, 35_000],
    ]),
    ...Object.keys(CLIENT_EVENTS)
      .filter((event) =>
        ![TOOL_CALL_EVENT, GET_DPE_EVENT, PUT_BLOB_EVENT, ...EXTENSIONS]
          .includes(event)
      )
      .map((event): [string, object, number] => [event, {}, 30_000]),
  ];
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  for (const [event, over, ms] of rows) {
    using timers = hurryTimers(...rows.map(([, , ms]) => ms));
    const answer = await pair.agent.ask(event, { ...request, ...over });
    assertEquals((answer as { code: number }).code, 408, event);
    assertEquals(timers.armed, [ms], event);
  }
});

Deno.test({
  name:
    "disabled, forbidden, clashing and unknown tools are not listed, and neither confirmed nor run (spec §4, §7)",
  timeout: 120_000,
}, async () => {
  const asked: string[] = [];
  await using pc = await startComputer({
    a: fixture({ only: ["echo", "pid", "same", "directory"] }, {
      forbidden_tools: ["pid", "place"],
      tool_meta: {
        echo: { alias: "say" },
        pid: { alias: "id" },
        directory: { alias: "place" },
      },
    }),
    off: fixture({ only: ["dark"] }, { disabled: true }),
    twin: fixture({ only: ["same"] }),
  }, {
    confirm: ({ name }) => {
      asked.push(name);
      return "once";
    },
  });
  const { agent } = pc.office;
  assertEquals((await agent.getTools("pc")).map(({ name }) => name), ["say"]);
  const rows: [tool: string, code: number][] = [
    ["pid", 4002],
    ["id", 4002],
    ["directory", 4002],
    ["place", 4002],
    ["dark", 4001],
    ["same", 4001],
    ["nothing", 4001],
    ["echo", 4001],
  ];
  for (const [tool, code] of rows) {
    const result = await agent.callTool("pc", tool);
    assertEquals(resultMeta(result), { error_code: code }, tool);
  }
  assertEquals(asked, []);
  const said = await agent.callTool("pc", "say", { text: "hi" });
  assertEquals([textOf(said), asked], ["hi", ["say"]]);
  const off = pc.computer.status().servers.find(({ name }) => name === "off");
  assertEquals([off?.state, off?.tools], ["disabled", 0]);
});

Deno.test({
  name:
    "a name clash is a configuration error that names both servers and the fix, and disappears with it (spec §7)",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({
    one: fixture({ only: ["same", "echo"] }),
    two: fixture({ only: ["same", "pid"] }),
  });
  const { agent } = pc.office;
  const names = async () =>
    (await agent.getTools("pc")).map(({ name }) => name);
  assertEquals(await names(), ["echo", "pid"]);
  const [problem = "", ...more] = pc.computer.status().problems;
  assertEquals(more, []);
  const refused = textOf(await agent.callTool("pc", "same"));
  for (const part of ['"one"', '"two"', "alias"]) {
    assertStringIncludes(problem, part);
    assertStringIncludes(refused, part);
  }
  await pc.computer.updateServer(
    "two",
    fixture({ only: ["same", "pid"] }, {
      tool_meta: { same: { alias: "two_same" } },
    }),
  );
  assertEquals(await names(), ["same", "echo", "two_same", "pid"]);
  assertEquals(pc.computer.status().problems, []);
});

Deno.test({
  name:
    "tool metadata is sent as simple values: A2C's own under one key, MCP's next to it (spec §4, §7)",
  timeout: 120_000,
}, async () => {
  const extra = {
    name: "extra",
    inputSchema: { type: "object" },
    outputSchema: { type: "object" },
    annotations: { title: "Extra", readOnlyHint: true },
    _meta: { plain: "p", count: 2, list: [1], nothing: null, alias: "theirs" },
  };
  const ret_object_mapper = { text: "$.content[0].text" };
  await using pc = await startComputer({
    a: fixture({ only: ["echo"], extraTools: [extra] }, {
      tool_meta: { extra: { tags: ["t"], ret_object_mapper } },
    }),
  });
  const { agent } = pc.office;
  const [plain, tool] = await agent.getTools("pc");
  assertEquals([plain?.meta, plain?.return_schema], [
    { a2c_mcp_server: "a" },
    null,
  ]);
  assertEquals(tool?.return_schema, { type: "object" });
  const { a2c_tool_meta, MCP_TOOL_ANNOTATION, ...own } = tool?.meta ?? {};
  assertEquals(JSON.parse(String(a2c_tool_meta)), {
    auto_apply: null,
    alias: null,
    tags: ["t"],
    ret_object_mapper,
  });
  assertEquals(JSON.parse(String(MCP_TOOL_ANNOTATION)), extra.annotations);
  assertEquals(own, {
    a2c_mcp_server: "a",
    plain: "p",
    count: 2,
    list: "[1]",
    alias: "theirs",
  });
  // The mapper is for the Agent: the result is unchanged.
  assertEquals(await agent.callTool("pc", "extra", { text: "hi" }), {
    content: [{ type: "text", text: "hi" }],
  });
});

Deno.test({
  name:
    "the Agent does not get the error text of an MCP server's connection (spec §6)",
  timeout: 120_000,
}, async () => {
  await using http = await startHttpFixture("streamable");
  await using pc = await startComputer({
    a: {
      type: "streamable",
      server_parameters: {
        url: `${http.url}?key=s3cret`,
        headers: { authorization: "Bearer s3cret" },
      },
    },
  });
  const { agent } = pc.office;
  await agent.callTool("pc", "echo");
  const pending = agent.callTool("pc", "slow", {});
  await agent.callTool("pc", "slow_began");
  const [result] = await Promise.all([pending, http.kill()]);
  assertEquals(resultMeta(result), { error_code: 4003 });
  const shown = JSON.stringify(result);
  for (const secret of ["s3cret", "127.0.0.1", "    at "]) {
    assertEquals(shown.includes(secret), false, shown);
  }
});
