import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { type OfficeMcp, officeMcp } from "../../../mcp/mod.ts";
import type { ComputerScript } from "../../../testing/mod.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { createMetaServer } from "../../support/fixtures/meta_server.ts";
import { startModernHttp } from "../../support/fixtures/modern_server.ts";
import { CLIENTS, ERAS, sdkClient } from "../../support/mcp/clients.ts";
import {
  inProcess,
  pipeCommand,
  serveOffice,
  startGateway,
} from "../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  JSON_HEADERS,
  LIST_TOOLS,
  modernRequest,
} from "../../support/mcp/post.ts";
import { startOffice } from "../../support/office.ts";
import { hurryTimers } from "../../support/timers.ts";

/** The schema of a tool, some of whose arguments are repeated in headers. */
const SCHEMA = {
  type: "object",
  properties: {
    text: { type: "string" },
    region: { type: "string", "x-mcp-header": "Region" },
    count: { type: "integer", "x-mcp-header": "Count" },
    dry: { type: "boolean", "x-mcp-header": "X-Dry" },
    where: {
      type: "object",
      properties: { zone: { type: "string", "x-mcp-header": "zone" } },
    },
  },
};

const inputSchema = { type: "object" };
/** Schemas whose marks are invalid, so that clients skip the tool. */
const INVALID = {
  root: { ...inputSchema, "x-mcp-header": "Region" },
  list: {
    ...inputSchema,
    properties: { region: { type: "array", "x-mcp-header": "Region" } },
  },
  spaced: {
    ...inputSchema,
    properties: { region: { type: "string", "x-mcp-header": "the region" } },
  },
  twice: {
    ...inputSchema,
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      other: { type: "string", "x-mcp-header": "REGION" },
    },
  },
};

const toolsOf = (schemas: Record<string, object>) =>
  Object.entries(schemas).map(([name, params_schema]) => ({
    name,
    description: "",
    params_schema,
    return_schema: null,
  }));

/** A Computer whose tools answer with their arguments. */
const COMPUTER: ComputerScript = (event, payload) => {
  if (event === "client:get_tools") {
    return { req_id: "1", tools: toolsOf({ call: SCHEMA, ...INVALID }) };
  }
  const { params } = Object(payload);
  return { content: [{ type: "text", text: JSON.stringify(params) }] };
};

const send = (
  mcp: OfficeMcp,
  { headers, body }: ReturnType<typeof modernRequest>,
  more: Record<string, string> = {},
) =>
  mcp.fetch("http://office/mcp", {
    method: "POST",
    body,
    headers: { ...JSON_HEADERS, ...headers, ...more },
  });

const base64 = (text: string) => `=?base64?${btoa(text)}?=`;

Deno.test("2026-07-28: a call is refused with 400 and -32020 unless Mcp-Param headers are equal to the arguments that they repeat", async () => {
  await using office = await startOffice({ computers: { pc: COMPUTER } });
  await using mcp = officeMcp(office.agent);
  const rows: [
    args: Record<string, unknown>,
    headers: Record<string, string>,
    problem?: string,
  ][] = [
    [{ region: "eu" }, { "mcp-param-region": "eu" }],
    [{ region: "eu" }, { "MCP-PARAM-REGION": base64("eu") }],
    [{ region: "" }, { "mcp-param-region": "" }],
    [{ region: "=?base64?" }, { "mcp-param-region": "=?base64?" }],
    [{ count: 42 }, { "mcp-param-count": "42.0" }],
    [{ dry: false }, { "mcp-param-x-dry": "false" }],
    [{ where: { zone: "a" } }, { "mcp-param-zone": "a" }],
    [{ text: "not marked" }, {}],
    [{ region: null }, { "mcp-param-region": "ignored" }],
    [{}, { "mcp-param-region": "ignored", "mcp-param-other": "x" }],
    [{ count: "42" }, { "mcp-param-count": "42" }],
    [{ region: "eu" }, { "mcp-param-region": "us" }, "differs"],
    [{ region: "eu" }, { "mcp-param-region": "EU" }, "differs"],
    [{ region: "eu" }, { "mcp-param-region": base64("us") }, "differs"],
    [{ region: "eu" }, {}, "the header Mcp-Param-Region is missing"],
    [{ region: "" }, {}, "is missing"],
    [{ region: "eu" }, { "mcp-param-region": "=?base64?ZXU?=" }, "base64"],
    [{ region: "eu" }, { "mcp-param-region": "=?base64?/w==?=" }, "base64"],
    [{ count: 42 }, { "mcp-param-count": "43" }, "differs"],
    [{ count: 42 }, { "mcp-param-count": "0x2a" }, "differs"],
    [{ dry: true }, { "mcp-param-x-dry": "True" }, "differs"],
    [{ dry: false }, {}, "is missing"],
    [{ where: { zone: "a" } }, {}, "where.zone"],
  ];
  for (const [args, headers, problem] of rows) {
    const request = modernRequest("tools/call", {
      name: "pc__call",
      arguments: args,
    });
    const response = await send(mcp, request, headers);
    const { id, error, result } = await response.json();
    const row = JSON.stringify([args, headers]);
    assertEquals(
      [response.status, error?.code, id],
      problem === undefined ? [200, undefined, 1] : [400, -32020, 1],
      row,
    );
    if (problem !== undefined) assertStringIncludes(error.message, problem);
    else assertEquals(JSON.parse(result.content[0].text), args, row);
  }
  for (const name of Object.keys(INVALID)) {
    const args = { region: "eu" };
    const request = modernRequest("tools/call", {
      name: `pc__${name}`,
      arguments: args,
    });
    const response = await send(mcp, request);
    assertEquals(response.status, 200, name);
    await response.body?.cancel();
  }
});

Deno.test("2026-07-28: Mcp-Method and Mcp-Name are compared with the body", async () => {
  await using office = await startOffice({ computers: { pc: COMPUTER } });
  await using mcp = officeMcp(office.agent);
  const request = modernRequest("tools/call", { name: "pc__call" });
  const rows: [headers: Record<string, string>, status: number][] = [
    [{}, 200],
    [{ "mcp-name": base64("pc__call") }, 200],
    [{ "mcp-name": "pc__other" }, 400],
    [{ "mcp-method": "tools/list" }, 400],
  ];
  for (const [headers, status] of rows) {
    const response = await send(mcp, request, headers);
    const { error } = await response.json();
    assertEquals(
      [response.status, error?.code],
      [status, status === 200 ? undefined : -32020],
    );
  }
});

Deno.test("2026-07-28: the headers that the MCP SDK makes of any arguments are equal to them", async () => {
  await using office = await startOffice({ computers: { pc: COMPUTER } });
  await using mcp = officeMcp(office.agent);
  await using client = await CLIENTS["v2, 2026"]!(inProcess(mcp));
  await client.tools();
  const text = fc.string({ unit: "binary" }).map((text) => text.toWellFormed());
  const args = fc.record({
    region: fc.oneof(
      text,
      fc.constantFrom(" a ", "=?base64?YQ==?=", "é", "\n"),
    ),
    count: fc.integer(),
    dry: fc.boolean(),
    where: fc.record({ zone: text }, { requiredKeys: [] }),
  }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(args, async (args) => {
      const { content } = await client.call("pc__call", args);
      assertEquals(JSON.parse(String(content[0]?.text)), args);
    }),
  );
});

for (const kind of ["v2, 2025", "v2, 2026"] as const) {
  Deno.test(`${kind}, smcp-agent mcp: a tool is called whose arguments are repeated in headers`, async () => {
    await using served = await startGateway({
      servers: {
        fix: fixtureHere({
          only: ["echo"],
          extraTools: [{
            name: "routed",
            inputSchema: {
              type: "object",
              properties: { text: { type: "string", "x-mcp-header": "Text" } },
            },
          }],
        }, { default_tool_meta: { auto_apply: true } }),
      },
    });
    await using client = await CLIENTS[kind]!(pipeCommand(served.url));
    const tools = await client.tools();
    const name = tools.find(({ name }) => name.endsWith("routed"))?.name ?? "";
    for (const text of ["eu", "größe", " 温度 "]) {
      const { content } = await client.call(name, { text });
      assertEquals(content[0]?.text, text);
    }
  });
}

/** Accept headers, and the status of a request that is answered with JSON or a stream of events. */
const ACCEPTS: [accept: string | undefined, both: boolean, stream: boolean][] =
  [
    [undefined, true, true],
    ["*/*", true, true],
    ["application/json, text/event-stream", true, true],
    ["text/event-stream,APPLICATION/JSON", true, true],
    ["application/*, text/*", true, true],
    ["text/*;q=0.5, application/json;q=0.1", true, true],
    ["text/html, */*;q=0.8", true, true],
    ["application/json", false, false],
    ["text/event-stream", false, true],
    ["text/*", false, true],
    ["text/html", false, false],
    ["*/*, text/event-stream;q=0", false, false],
    ["application/json;q=0.0, */*", false, true],
    ["application/jsonp, text/event-streams", false, false],
  ];

Deno.test("sessions: ranges of Accept count as RFC 9110 has them", async () => {
  await using office = await startOffice({ computers: { pc: COMPUTER } });
  await using mcp = officeMcp(office.agent);
  const fetch = (
    method: string,
    accept: string | undefined,
    more: { body?: string; session?: string },
  ) =>
    mcp.fetch("http://office/mcp", {
      method,
      body: more.body ?? null,
      headers: {
        "content-type": "application/json",
        ...(accept !== undefined && { accept }),
        ...(more.session !== undefined && { "mcp-session-id": more.session }),
      },
    });
  for (const [accept, both, stream] of ACCEPTS) {
    const opened = await fetch("POST", "*/*", { body: INITIALIZE });
    await opened.text();
    const session = opened.headers.get("mcp-session-id") ?? "";
    const posted = await fetch("POST", accept, { body: LIST_TOOLS, session });
    await posted.text();
    const got = await fetch("GET", accept, { session });
    await got.body?.cancel();
    assertEquals(
      [posted.status, got.status],
      [both ? 200 : 406, stream ? 200 : 406],
      accept,
    );
  }
});

/** A time that no other part waits for. */
const BEAT_MS = 7_654;

Deno.test("2026-07-28: a call without a progress token is kept alive by comments until its result", async () => {
  const called = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<object>();
  const script: ComputerScript = async (event) => {
    if (event === "client:get_tools") {
      return { req_id: "1", tools: toolsOf({ slow: inputSchema }) };
    }
    called.resolve();
    return await answer.promise;
  };
  await using office = await startOffice({ computers: { pc: script } });
  await using mcp = officeMcp(office.agent, { heartbeatMs: BEAT_MS });
  using _ = hurryTimers(BEAT_MS);
  const request = modernRequest("tools/call", { name: "pc__slow" });
  const response = await send(mcp, request);
  assertEquals(response.headers.get("content-type"), "text/event-stream");
  await called.promise;
  const reader = response.body!.pipeThrough(new TextDecoderStream())
    .getReader();
  assertEquals((await reader.read()).value, ": keepalive\n\n");
  answer.resolve({ content: [{ type: "text", text: "done" }] });
  let rest = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    rest += next.value;
  }
  const [, data = ""] = /event: message\ndata: (.*)\n\n$/.exec(rest) ?? [];
  const { id, result } = JSON.parse(data);
  assertEquals([id, result.content[0].text], [1, "done"]);
});

Deno.test("2026-07-28: a client that leaves a call that is kept alive cancels it, and one that takes no streams waits for JSON", async () => {
  await using office = await serveOffice({ mcp: { heartbeatMs: BEAT_MS } });
  using _ = hurryTimers(BEAT_MS);
  const { mcp, computer } = office;
  const ended = new Promise((resolve) => computer.on("callEnded", resolve));
  const request = modernRequest("tools/call", { name: "pc__slow" });
  const response = await send(mcp, request);
  await response.body?.cancel();
  await ended;
  const echo = modernRequest("tools/call", {
    name: "pc__echo",
    arguments: { text: "hi" },
  });
  const json = await send(mcp, echo, { accept: "application/json" });
  assertEquals(json.headers.get("content-type"), "application/json");
  await json.body?.cancel();
});

const metaServers = () => ({
  meta: {
    type: "in-process" as const,
    server: createMetaServer(),
    default_tool_meta: { auto_apply: true },
  },
});

for (const era of ERAS) {
  Deno.test(`${era}: _meta of a client's call reaches the MCP server, without the keys of MCP and of ours`, async () => {
    await using office = await serveOffice({ servers: metaServers() });
    await using client = await sdkClient(office, era);
    const traceparent =
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const given = {
      traceparent,
      tracestate: "a=b",
      baggage: "c=d",
      "com.example/x": { deep: [1] },
    };
    const { content } = await client.callTool({
      name: "pc__meta",
      arguments: {},
      _meta: {
        ...given,
        "io.modelcontextprotocol/x": 1,
        "a2c-smcp/offices": ["elsewhere"],
        "a2c-smcp/other": 1,
      },
    });
    const [block] = content;
    assert(block?.type === "text");
    const { "a2c-smcp/offices": offices, ...meta } = JSON.parse(block.text);
    assertEquals(meta, given);
    assertEquals(offices[0], "elsewhere");
  });

  Deno.test(`${era}: a call with more _meta than goes with it fails with its name, and does not run`, async () => {
    await using office = await serveOffice({ servers: metaServers() });
    await using client = await sdkClient(office, era);
    const { content, isError, _meta } = await client.callTool({
      name: "pc__meta",
      arguments: {},
      _meta: { large: "é".repeat(4_096) },
    });
    assertEquals([isError, _meta?.error_code], [true, 400]);
    const [block] = content;
    assert(block?.type === "text");
    assertStringIncludes(block.text, "_meta of the call is too large");
  });
}

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a page that an MCP server of 2026-07-28 asks to open is asked for at the client, and so is a form`, async () => {
    await using server = await startModernHttp();
    await using office = await serveOffice({
      servers: {
        new: {
          type: "streamable",
          server_parameters: { url: server.url },
          default_tool_meta: { auto_apply: true },
        },
      },
    });
    const asked: string[] = [];
    await using client = await connect(office, (message) => {
      asked.push(message);
      return { action: "accept", content: { name: "Ann" } };
    });
    for (const tool of ["pc__page", "pc__ask"]) {
      const { content } = await client.call(tool);
      assertStringIncludes(String(content[0]?.text), '"accept"');
    }
    assertEquals(asked, ["Sign in", "Who are you?"]);
  });
}
