import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { type Context, trace } from "@opentelemetry/api";
import {
  apiKeys,
  type CallTracer,
  createMetrics,
  createSmcpServer,
} from "../../../server/mod.ts";
import { PROTOCOL_VERSIONS } from "../../../protocol/mod.ts";
import { nextRequest } from "../../support/server/operator_client.ts";
import { exchangePackets } from "../../support/server/polling_session.ts";
import { startServerCommand } from "../../support/server/server_command.ts";
import { connectRaw, rawPair } from "../../support/wire/raw_client.ts";
import { rawHttp } from "../../support/wire/raw_http.ts";

const REQUEST = {
  agent: "agent",
  req_id: "r1",
  computer: "computer",
  tool_name: "echo",
  params: { secret: "hunter2" },
  timeout: 60,
};

/** Reads the samples of a Prometheus text: `name{label="x"}` → value. */
async function samples(url: string): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`);
  assertEquals(response.status, 200);
  assertMatch(response.headers.get("content-type") ?? "", /^text\/plain/);
  const lines = (await response.text()).matchAll(/^([^#\n].*) (\S+)$/gm);
  return new Map(
    [...lines].map(([, name = "", value]) => [name, Number(value)]),
  );
}

async function served(limits = {}) {
  const server = createSmcpServer({ metrics: createMetrics(), limits });
  const { url, port } = await server.listen();
  return { url, port, [Symbol.asyncDispose]: () => server.close() };
}

Deno.test("/metrics counts connections, offices, members, events by outcome, refusals by reason, limits and bytes (protocol §10)", async () => {
  await using server = await served({
    callsPerAgent: 1,
    connectionsPerAddress: 4,
  });
  const { url, port } = server;
  const polling = "a2c_version=0.2.0&transport=polling&EIO=";
  const statusOf = async (query: string) => {
    const head = [`GET /smcp/?${query} HTTP/1.1`, "Host: localhost"];
    return (await rawHttp(port, [...head, "Connection: close"])).status;
  };
  assertEquals(await statusOf(`${polling}3`), 400);
  await exchangePackets(port, ["40/made-up,"]);
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  await using outsider = await connectRaw(url);
  const call = (over: object = {}) =>
    agent.ask("client:tool_call", { ...REQUEST, ...over });
  computer.handle("client:get_tools", (_, ack) => ack("no object"));
  for (const isError of [false, true]) {
    const called = nextRequest(computer);
    const answer = call();
    const { ack } = await called;
    if (!isError) await call(); // 429
    ack({ content: [], isError });
    await answer;
  }
  await call({ computer: "nobody" });
  await call({ timeout: 0 });
  await outsider.ask("client:tool_call", REQUEST);
  await agent.ask("client:get_tools", REQUEST); // 500
  await agent.ask("server:list_room", { ...REQUEST, office_id: "office" });
  await outsider.join("agent", "second", "office");
  await computer.request("server:update_desktop", { computer: "computer" });
  await agent.ask("client:made_up", {});
  await agent.request("notify:barrier");
  assertEquals(await statusOf(""), 400);
  assertEquals(await statusOf("a2c_version=0.9.0"), 400);
  assertEquals(await statusOf(`${polling}4`), 429);

  const all = await samples(url);
  const event = (name: string, outcome: string) =>
    `smcp_events_total{event="${name}",outcome="${outcome}"}`;
  const refused = (reason: string) =>
    `smcp_handshakes_refused_total{reason="${reason}"}`;
  const expected: Record<string, number> = {
    "smcp_connections": 3, // in the namespace
    "smcp_offices": 1,
    "smcp_members": 2,
    [event("client:tool_call", "ok")]: 1,
    [event("client:tool_call", "tool error")]: 1,
    [event("client:tool_call", "error 429")]: 1,
    [event("client:tool_call", "error 404")]: 1,
    [event("client:tool_call", "error 400")]: 1,
    [event("client:tool_call", "error 4103")]: 1,
    [event("client:get_tools", "error 500")]: 1,
    [event("server:list_room", "ok")]: 1,
    [event("server:join_office", "ok")]: 2,
    [event("server:join_office", "refused")]: 1,
    [event("server:update_desktop", "ok")]: 1,
    [event("unknown", "error 400")]: 1,
    'smcp_event_duration_seconds_count{event="client:tool_call"}': 6,
    [refused("invalid_version")]: 1,
    [refused("version_mismatch")]: 1,
    [refused("engine_version")]: 1,
    [refused("invalid_request")]: 1,
    [refused("connections_per_address")]: 1,
    'smcp_limits_hit_total{limit="calls_per_agent"}': 1,
    'smcp_limits_hit_total{limit="connections_per_address"}': 1,
  };
  assertEquals(
    Object.keys(expected).map((name) => [name, all.get(name)]),
    Object.entries(expected),
  );
  for (
    const name of [
      'smcp_network_bytes_total{direction="received"}',
      'smcp_network_bytes_total{direction="sent"}',
      "process_resident_memory_bytes",
      "process_heap_bytes",
    ]
  ) assert((all.get(name) ?? 0) > 1000, name);
  assert((all.get("smcp_event_loop_lag_seconds") ?? -1) >= 0);
});

/** Makes a call with 100 kB, which come in and go out, and so does the answer; then both ends are closed. */
async function assertBytes(url: string) {
  {
    await using pair = await rawPair(url);
    const { agent, computer } = pair;
    computer.handle("client:tool_call", (payload, ack) => ack({ payload }));
    const params = { text: "x".repeat(100_000) };
    await agent.ask("client:tool_call", { ...REQUEST, params });
  }
  const all = await samples(url);
  for (const direction of ["received", "sent"]) {
    const name = `smcp_network_bytes_total{direction="${direction}"}`;
    const bytes = all.get(name) ?? 0;
    assert(bytes > 200_000 && bytes < 250_000, `${name}: ${bytes}`);
  }
}

Deno.test("bytes are counted in both directions, including closed connections", async () => {
  await using server = await served();
  await assertBytes(server.url);
});

Deno.test("metrics also count in an attached HTTP server", async () => {
  await using smcp = createSmcpServer({ metrics: createMetrics() });
  const http = createServer(getRequestListener(smcp.app.fetch));
  smcp.attach(http);
  await once(http.listen(0, "127.0.0.1"), "listening");
  const { port } = http.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  await assertBytes(url);
  {
    await using _client = await connectRaw(url);
    assertEquals((await samples(url)).get("smcp_connections"), 1);
  }
  await smcp.close();
  const closed = once(http.close(), "close");
  http.closeAllConnections();
  await closed;
});

Deno.test("without metrics there is no /metrics, and no port for them", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const response = await fetch(`${url}/metrics`);
  assertEquals([response.status, (await response.json()).code], [404, 404]);
  assertThrows(() => server.listenMetrics(), TypeError, "createMetrics()");
});

Deno.test("the main port serves metrics only to this machine, not to forwarded requests", async () => {
  await using server = await served();
  const head = ["GET /metrics HTTP/1.1", "Host: localhost"];
  assertEquals((await rawHttp(server.port, head)).status, 200);
  for (
    const header of [
      "X-Forwarded-For: 127.0.0.1",
      "Forwarded: for=127.0.0.1",
      "Via: 1.1 proxy",
    ]
  ) {
    const { status, body } = await rawHttp(server.port, [...head, header]);
    assertEquals(status, 401, header);
    // Bun sends it in chunks.
    assertStringIncludes(
      body,
      '{"code":401,"message":"Authentication failed"}',
    );
  }
});

Deno.test("with authentication the main port serves metrics to admitted clients (protocol §10)", async () => {
  await using server = createSmcpServer({
    metrics: createMetrics(),
    authenticator: apiKeys([{ key: "k".repeat(32), id: "prometheus" }]),
  });
  const { url } = await server.listen();
  const keys = { "": 401, "wrong": 401, ["k".repeat(32)]: 200 };
  for (const [key, status] of Object.entries(keys)) {
    const headers = key === "" ? {} : { "x-api-key": key };
    const response = await fetch(`${url}/metrics`, { headers });
    await response.body?.cancel();
    assertEquals(response.status, status, key);
  }
});

Deno.test("a separate port serves only metrics, until the server is closed", async () => {
  const server = createSmcpServer({ metrics: createMetrics() });
  await server.listen();
  const { url } = await server.listenMetrics();
  assertEquals((await samples(url)).get("smcp_connections"), 0);
  for (const path of ["/", "/health", "/smcp/?a2c_version=0.2.0"]) {
    const response = await fetch(url + path);
    await response.body?.cancel();
    assertEquals(response.status, 404);
  }
  await server.close();
  assert(await fetch(`${url}/metrics`).then(() => false, () => true));
});

Deno.test("a relayed call is a span with names and outcome, never with parameters or results", async () => {
  const spans: Record<string, unknown>[] = [];
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const spanId = "b7ad6b7169203331";
  const tracer: CallTracer = {
    startSpan(name, { kind, attributes }, context) {
      const span: Record<string, unknown> = { name, kind, ...attributes };
      // As a tracer of OpenTelemetry finds the span that it continues.
      const parent = context && trace.getSpanContext(context as Context);
      if (parent) span.parent = parent;
      return {
        setAttribute: (key, value) => span[key] = value,
        setStatus: (status) => span.status = status,
        end: () => spans.push(span),
      };
    },
  };
  await using server = createSmcpServer({ tracer });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  const content = [{ type: "text", text: "hunter2" }];
  computer.handle("client:tool_call", (_, ack) => ack({ content }));
  await agent.ask("client:tool_call", REQUEST);
  await agent.ask("client:get_tools", { ...REQUEST, computer: "nobody" });
  const traceparent = `00-${traceId}-${spanId}-01`;
  await agent.ask("client:tool_call", {
    ...REQUEST,
    req_id: "r2",
    _meta: { traceparent },
  });
  await agent.ask("client:tool_call", {
    ...REQUEST,
    req_id: "r3",
    _meta: { traceparent: `00-${"0".repeat(32)}-${spanId}-01` },
  });
  const common = {
    kind: 1,
    "smcp.office": "office",
    "smcp.agent": "agent",
    "smcp.req_id": "r1",
    "smcp.tool": "echo",
  };
  const [traced, untraced] = spans.splice(2);
  const traceFlags = 1;
  assertEquals(traced?.parent, { traceId, spanId, traceFlags, isRemote: true });
  assertEquals(untraced?.parent, undefined);
  assertEquals(spans, [
    {
      name: "client:tool_call",
      ...common,
      "smcp.computer": "computer",
      "smcp.outcome": "ok",
    },
    {
      name: "client:get_tools",
      ...common,
      "smcp.computer": "nobody",
      "smcp.outcome": "error 404",
      status: { code: 2, message: "error 404" },
    },
  ]);
  // The type of OpenTelemetry fits, even without an exporter.
  const real: CallTracer = trace.getTracer("test");
  real.startSpan("x", { kind: 1, attributes: {} }).end();
});

/** Makes a call over a server in a process. */
async function callOver(url: string) {
  await using pair = await rawPair(url);
  pair.computer.handle("client:tool_call", (_, ack) => ack({ ok: true }));
  await pair.agent.ask("client:tool_call", REQUEST);
}

Deno.test({
  name:
    "the command serves metrics by flag, without further permissions, and prints the address",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand([
    ...["--port=0", "--metrics-port=0", "--tracing"],
  ]);
  const [, url = ""] = /metrics (http:\S+)\/metrics/.exec(command.line) ?? [];
  await callOver(command.url);
  const ok = 'smcp_events_total{event="client:tool_call",outcome="ok"}';
  for (const at of [url, command.url]) {
    assertEquals((await samples(at)).get(ok), 1);
  }
});

Deno.test({
  name: "with OTEL_DENO the command's spans are exported",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand(["--port=0", "--tracing"], {
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_PROTOCOL: "console",
    OTEL_BSP_SCHEDULE_DELAY: "10",
  });
  await callOver(command.url);
  await command.logged("smcp.req_id");
  assert(!command.log.includes("hunter2"));
});

Deno.test("smcp_member_bytes counts what is kept of members, and of the one with most (§10)", async () => {
  await using server = createSmcpServer({
    metrics: createMetrics(),
    protocol: "all",
  });
  const { url } = await server.listen({ port: 0 });
  const kept = async () => {
    const all = await samples(url);
    return [all.get("smcp_member_bytes"), all.get("smcp_member_bytes_max")];
  };
  assertEquals(await kept(), [0, 0]);
  await using agent = await connectRaw(url, {
    version: PROTOCOL_VERSIONS["0.4"],
  });
  await using computer = await connectRaw(url, {
    version: PROTOCOL_VERSIONS["0.2"],
  });
  await agent.join("agent", "ab", "office");
  await computer.join("computer", "abc", "office");
  // Two bytes a unit: of the names of both, and of their office.
  assertEquals(await kept(), [2 * (2 + 3 + 12), 2 * (3 + 6)]);
  computer.handle(
    "client:get_config",
    (_, ack) => ack({ servers: { "my files": { name: "my files" } } }),
  );
  await agent.ask("client:get_config", { ...REQUEST, computer: "abc" });
  const names = 2 * ("my files".length + "my_files".length);
  assertEquals(await kept(), [2 * 17 + names, 2 * 9 + names]);
  await computer.request("server:leave_office", { office_id: "office" });
  assertEquals(await kept(), [2 * 8, 2 * 8]);
});
