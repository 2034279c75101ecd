import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import type { ServerResponse } from "node:http";
import { connectMcp } from "../../../../computer/host/mcp/connect.ts";
import type { ServerSettings } from "../../../../computer/mod.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import {
  AT_ONCE,
  ONCE,
  reached,
  startHost,
  textOf,
} from "../../../support/computer/host.ts";
import {
  type Reply,
  resultOf,
  said,
  type Script,
  type ScriptedHttp,
  startScriptedHttp,
} from "../../../support/computer/scripted_http.ts";
import { runHere } from "../../../support/command.ts";
import { startHttpFixture } from "../../../support/fixtures/mcp_http.ts";

const settings = (
  { url }: Pick<ScriptedHttp, "url">,
  more: Record<string, unknown> = {},
): ServerSettings => ({
  type: "streamable",
  server_parameters: { url, ...more },
  default_tool_meta: { auto_apply: true },
});

/** A server with a session. */
const SESSION: Script = {
  initialize: (asked) => ({
    ...resultOf(asked, {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "scripted", version: "1.0.0" },
    }),
    headers: { "mcp-session-id": "s1" },
  }),
};

/** Answers to a ping that are none, and that only a server that runs can send. */
const ODD_PINGS: Record<string, Reply> = {
  "a list": { body: [] },
  "null": { body: "null" },
  "an empty 200": {},
  "an empty 200 without a type": { headers: { "content-type": "" } },
  "no JSON": { body: "{" },
  "no message": { body: { ok: true } },
  "the answer to something else": {
    body: { jsonrpc: "2.0", id: 98_765, result: {} },
  },
  "a page": { headers: { "content-type": "text/html" }, body: "<p>hi</p>" },
  "an empty stream": { headers: { "content-type": "text/event-stream" } },
  ...Object.fromEntries(
    [202, 204, 301, 400, 401, 403, 404, 405, 406, 429, 500, 502, 503].map((
      status,
    ) => [`HTTP ${status}`, { status }]),
  ),
};

for (const [name, reply] of Object.entries(ODD_PINGS)) {
  Deno.test(`an MCP server that answers a ping with ${name} is not restarted, and its call goes on`, async () => {
    const release = Promise.withResolvers<void>();
    await using server = await startScriptedHttp({
      ...SESSION,
      ping: reply,
      "tools/call": async (asked) => {
        await release.promise;
        return resultOf(asked, said("done"));
      },
    });
    await using host = await startHost({
      a: settings(server, { sse_read_timeout: "PT0.02S" }),
    }, { restart: AT_ONCE });
    const call = textOf(host, "a", "say");
    await server.answered("ping", 3);
    release.resolve();
    assertEquals(await call, "done");
    const { state, restarts } = host.server("a")!.status;
    assertEquals([state, restarts], ["running", 0]);
    assertEquals(server.count("initialize"), 1);
  });
}

Deno.test("an MCP server is restarted when it refuses other requests as it does pings: 401 and 403, and 404 of a session", async () => {
  for (const status of [401, 403, 404]) {
    const script: Script = { ...SESSION };
    await using server = await startScriptedHttp(script);
    await using host = await startHost({
      a: settings(server, { sse_read_timeout: "PT0.02S" }),
    }, { restart: ONCE });
    script.ping = script["tools/list"] = { status };
    await reached(host, "a", "restarting");
  }
});

const SECRET = "s3cr3t-t0ken";
const JSON_RPC_400 = {
  jsonrpc: "2.0",
  id: null,
  error: { code: -32602, message: `region: no such region "mars"` },
};

/** Refusals of a call, and what the model gets of each. */
const REFUSALS: [name: string, reply: Reply, text: string][] = [
  [
    "JSON-RPC",
    { status: 400, body: JSON_RPC_400 },
    'answered HTTP 400: region: no such region "mars"',
  ],
  [
    "a message",
    { status: 422, body: { message: "too long" } },
    "answered HTTP 422: too long",
  ],
  [
    "seconds to wait",
    {
      status: 429,
      headers: { "retry-after": "30", "content-type": "text/plain" },
      body: "slow\n  down",
    },
    "answered HTTP 429 (Retry-After: 30 s): slow down",
  ],
  [
    "a date to wait for",
    {
      status: 503,
      headers: { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" },
      body: { error: "maintenance" },
    },
    "answered HTTP 503 (Retry-After: Wed, 21 Oct 2026 07:28:00 GMT): maintenance",
  ],
  [
    "a page",
    {
      status: 502,
      headers: { "content-type": "text/html" },
      body: "<html><title>502</title><h1>Bad Gateway</h1></html>",
    },
    "answered HTTP 502: 502 Bad Gateway",
  ],
  ["nothing", { status: 500 }, "answered HTTP 500: Internal Server Error"],
  [
    "a secret",
    {
      status: 500,
      body: { error: { message: `no access for Bearer ${SECRET}` } },
    },
    "answered HTTP 500: no access for <redacted>",
  ],
  [
    "a page with 200",
    { headers: { "content-type": "Text/HTML" }, body: "<p>Please sign in" },
    "answered with Content-Type text/html, where MCP has application/json or text/event-stream: Please sign in",
  ],
  [
    "a redirect to elsewhere",
    { status: 307, headers: { location: `http://127.0.0.2:9/?k=${SECRET}` } },
    "answered HTTP 307: Redirect to http://127.0.0.2:9/ not followed",
  ],
  ...[202, 204].map((status): typeof REFUSALS[number] => [
    `HTTP ${status}`,
    { status },
    `answered HTTP ${status} without a message`,
  ]),
  [
    "no message",
    { body: { ok: true } },
    "answered with something that is not JSON-RPC",
  ],
  [
    "the answer to something else",
    { body: { jsonrpc: "2.0", id: 98_765, result: {} } },
    "The response of the MCP server does not answer the request",
  ],
];

Deno.test("a call that an MCP server refuses has its status, its words without secrets, and when to try again", async () => {
  const script: Script = {};
  await using server = await startScriptedHttp(script);
  const headers = { Authorization: `Bearer ${SECRET}` };
  await using pc = await startComputer({ a: settings(server, { headers }) });
  for (const [name, reply, expected] of REFUSALS) {
    script["tools/call"] = reply;
    const { text, meta } = await pc.call("say");
    assertStringIncludes(text, expected, name);
    assertEquals(meta.error_code, 4003, name);
    assert(!text.includes(SECRET), name);
  }
  script["tools/call"] = { status: 500, body: "word ".repeat(20_000) };
  const { text } = await pc.call("say");
  assert(text.length < 1_000, `${text.length}`);
  delete script["tools/call"];
  assertEquals((await pc.call("say")).text, "said");
  assertEquals(pc.computer.status().servers[0]?.restarts, 0);
});

Deno.test("a start that an MCP server refuses has its status and its words, in its state and in check", async () => {
  const rows: [reply: Reply, expected: string][] = [
    [
      { status: 400, body: JSON_RPC_400 },
      'answered HTTP 400: region: no such region "mars"',
    ],
    [
      { status: 429, headers: { "retry-after": "7" }, body: "busy" },
      "answered HTTP 429 (Retry-After: 7 s): busy",
    ],
    [{ status: 500, body: "broken" }, "answered HTTP 500: broken"],
    [
      { status: 403, body: { error: "your network is not allowed" } },
      "answered HTTP 403: your network is not allowed; the Computer sends no credentials",
    ],
  ];
  for (const [reply, expected] of rows) {
    await using server = await startScriptedHttp({ initialize: reply });
    await using host = await startHost(
      { a: settings(server) },
      { restart: ONCE },
    );
    const { state, error = "" } = host.server("a")!.status;
    assertEquals(state, "failed");
    assertStringIncludes(error, expected);
    await using config = await configFile({
      mcpServers: { a: { url: server.url } },
    });
    const { code, stdout } = await runHere("computer", [
      "check",
      "--config",
      config.file,
    ]);
    assertEquals(code, 1);
    assertStringIncludes(stdout, expected);
  }
});

Deno.test("HTTP 403 does not blame credentials that the Computer has not sent, in a call too", async () => {
  const script: Script = {};
  await using server = await startScriptedHttp(script);
  for (
    const [headers, action] of [
      [{}, "configure"],
      [{ Authorization: "Bearer x-y-z-0" }, "grant"],
    ] as const
  ) {
    delete script["tools/call"];
    await using pc = await startComputer({ a: settings(server, { headers }) });
    script["tools/call"] = {
      status: 403,
      body: { message: "only https://in.example/?k=1 may" },
    };
    const { text, meta } = await pc.call("say");
    assertEquals([meta.error_code, Object(meta.auth_hint).action], [
      4007,
      action,
    ]);
    assertStringIncludes(text, "It answered HTTP 403: only … may");
    assertEquals(text.includes("no credentials"), action === "configure");
  }
});

Deno.test("the Content-Type of an answer counts in any case, with parameters", async () => {
  const json = ["Application/JSON", "application/json;charset=UTF-8"];
  const events = [
    "TEXT/EVENT-STREAM; charset=utf-8",
    "text/Event-Stream",
    "text/event-stream ;charset=utf-8",
  ];
  for (const type of [...json, ...events]) {
    const answer: Script["x"] = (asked, response) => {
      const { body } = resultOf(asked, said("said"));
      const text = JSON.stringify(body);
      response.writeHead(200, { "content-type": type })
        .end(json.includes(type) ? text : `data: ${text}\n\n`);
    };
    await using server = await startScriptedHttp({ "tools/call": answer });
    await using host = await startHost({ a: settings(server) });
    assertEquals(await textOf(host, "a", "say"), "said", type);
  }
});

Deno.test("a header that HTTP cannot carry is named with its remedy, and costs its MCP server alone", async () => {
  await using server = await startScriptedHttp();
  const rows: [name: string, value: string, part: string][] = [
    ["X-Team", "研究", "character 1 of its value is U+7814"],
    ["X-Team", "a → b", "character 3 of its value is U+2192"],
    ["X-Team", "🙂", "character 1 of its value is U+1F642"],
    ["X-Team", "a\nb", "character 2 of its value is U+000A"],
    ["X Team", "a", "invalid name of a header"],
    ["Größe", "a", "invalid name of a header"],
  ];
  for (const [name, value, part] of rows) {
    const headers = { [name]: value };
    for (const type of ["streamable", "sse"] as const) {
      await using host = await startHost({
        a: { type, server_parameters: { url: server.url, headers } },
        b: settings(server),
      }, { restart: ONCE });
      const { state, error = "" } = host.server("a")!.status;
      assertEquals(state, "failed");
      assertStringIncludes(error, `the header ${JSON.stringify(name)}`);
      assertStringIncludes(error, part);
      assertEquals(host.server("b")?.status.state, "running");
    }
    await using config = await configFile({
      mcpServers: { mine: { url: server.url, headers } },
    });
    const args = ["check", "--config", config.file];
    const { code, stdout } = await runHere("computer", args);
    assertEquals(code, 1);
    assertMatch(stdout, /problem: MCP server "mine": .*the header "/);
    assert(!stdout.includes("ByteString"));
  }
  await using host = await startHost({
    a: settings(server, { headers: { "X-Team": " Müller\n" } }),
  });
  assertEquals(host.server("a")?.status.state, "running");
});

/** An MCP server that has HTTP with SSE alone, and answers other messages with a status. */
function olderScript(status: number, pong: unknown = {}): Script {
  let stream: ServerResponse | undefined;
  const older = (result: unknown): Script["x"] => (asked) => {
    if (asked.request.url !== "/messages") return { status, body: "not here" };
    const { body } = resultOf(asked, result);
    stream?.write(`event: message\ndata: ${JSON.stringify(body)}\n\n`);
    return { status: 202 };
  };
  return {
    GET: (_, response) => {
      stream = response.writeHead(200, { "content-type": "Text/Event-Stream" });
      stream.write("event: endpoint\ndata: /messages\n\n");
    },
    initialize: older({
      protocolVersion: "2024-11-05",
      capabilities: { tools: {} },
      serverInfo: { name: "older", version: "1.0.0" },
    }),
    "tools/list": older({
      tools: [{ name: "say", inputSchema: { type: "object" } }],
    }),
    "tools/call": older(said("older")),
    ping: older(pong),
  };
}

Deno.test("an MCP server over sse that answers pings with something else is not restarted, and its call goes on", async () => {
  const pongs = [[], null, { ok: true }];
  await Promise.all(pongs.map(async (pong) => {
    const release = Promise.withResolvers<void>();
    const script = olderScript(404, pong);
    const answer = script["tools/call"];
    script["tools/call"] = async (asked, response) => {
      await release.promise;
      return typeof answer === "function" ? answer(asked, response) : answer;
    };
    await using server = await startScriptedHttp(script);
    await using host = await startHost({
      a: {
        type: "sse",
        server_parameters: { url: server.url, sse_read_timeout: 2 },
      },
    }, {
      restart: AT_ONCE,
      // An answer to no request is not the end of a ping.
      connect: (config, signal) => connectMcp(config, signal, { pongMs: 500 }),
    });
    const call = textOf(host, "a", "say");
    await server.answered("ping", 2);
    release.resolve();
    assertEquals(await call, "older");
    assertEquals(host.server("a")?.status.restarts, 0);
  }));
});

Deno.test("HTTP 404 to one call of a session that exists fails it alone, with the server's words", async () => {
  const ways: Record<string, Script> = {
    streamable: SESSION,
    sse: olderScript(405),
  };
  for (const [way, script] of Object.entries(ways)) {
    const release = Promise.withResolvers<void>();
    const plain = script["tools/call"];
    await using server = await startScriptedHttp({
      ...script,
      "tools/call": async (asked, response) => {
        const name = Object(asked.message.params).arguments.name;
        if (name !== "slow") {
          return { status: 404, body: { error: `no ${name}` } };
        }
        await release.promise;
        return typeof plain === "function"
          ? await plain(asked, response)
          : resultOf(asked, said("said"));
      },
    });
    await using pc = await startComputer({ a: settings(server) });
    const slow = pc.call("say", { name: "slow" });
    for (const name of ["one", "two"]) {
      const { text, meta } = await pc.call("say", { name });
      assertStringIncludes(text, `answered HTTP 404: no ${name}`, way);
      assertEquals(meta.error_code, 4003);
    }
    release.resolve();
    assertEquals((await slow).meta.error_code, undefined, way);
    const [status] = pc.computer.status().servers;
    assertEquals([status?.state, status?.restarts], ["running", 0], way);
  }
});

Deno.test("an MCP server that has HTTP with SSE alone is reached so after 400, 404 and 405, and called", async () => {
  for (const status of [400, 404, 405]) {
    await using server = await startScriptedHttp(olderScript(status));
    await using host = await startHost({ a: settings(server) });
    assertEquals(await textOf(host, "a", "say"), "older", `${status}`);
  }
});

Deno.test("another refusal is no reason for HTTP with SSE, and where that fails, too, the error has both statuses", async () => {
  const rows: [reply: Reply, expected: string, gets: number][] = [
    [{ status: 400, body: JSON_RPC_400 }, "it answered HTTP 400", 0],
    [{ status: 401 }, "(HTTP 401)", 0],
    [{ status: 403 }, "It answered HTTP 403", 0],
    [{ status: 500 }, "it answered HTTP 500", 0],
    [
      { status: 404, body: "wrong path" },
      "it answered HTTP 404: wrong path; over HTTP with SSE, as older servers have it, it answered HTTP 410 (Retry-After: 5 s): gone",
      1,
    ],
  ];
  for (const [initialize, expected, gets] of rows) {
    await using server = await startScriptedHttp({
      initialize,
      GET: { status: 410, headers: { "retry-after": "5" }, body: "gone" },
    });
    await using host = await startHost(
      { a: settings(server) },
      { restart: ONCE },
    );
    const { error = "" } = host.server("a")!.status;
    assertStringIncludes(error, expected);
    assertEquals(server.count("GET"), gets);
  }
});

Deno.test("entries of other programs whose MCP server has HTTP with SSE alone run, by check too", async () => {
  await using fixture = await startHttpFixture("sse");
  const { url } = fixture;
  await using config = await configFile({
    mcpServers: {
      cursor: { url },
      keyed: { url, transport: "sse" },
      spelled: { url, transportType: "streamableHttp" },
      vscode: { type: "http", url },
      typed: { type: "sse", url },
    },
  });
  const args = ["check", "--json", "--config", config.file];
  const { stdout } = await runHere("computer", args);
  const { servers } = JSON.parse(stdout);
  assertEquals(
    servers.map(({ name, state }: Record<string, string>) => [name, state]),
    ["cursor", "keyed", "spelled", "vscode", "typed"]
      .map((name) => [name, "running"]),
  );
});
