import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { trace } from "@opentelemetry/api";
import {
  GET_TOOLS_EVENT,
  LIST_ROOM_EVENT,
  TOOL_CALL_EVENT,
  UPDATE_DESKTOP_EVENT,
} from "../../../protocol/mod.ts";
import {
  apiKeys,
  type CallTracer,
  createMetrics,
  createSmcpServer,
} from "../../../server/mod.ts";
import { exchangePackets } from "../../support/server/polling_session.ts";
import { connectRaw, joinRaw, rawPair } from "../../support/wire/raw_client.ts";
import { rawHttp } from "../../support/wire/raw_http.ts";
import { startServerCommand } from "../../support/server/server_command.ts";

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
  const lines = (await response.text()).split("\n");
  return new Map(
    lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
      const space = line.lastIndexOf(" ");
      return [line.slice(0, space), Number(line.slice(space + 1))];
    }),
  );
}

Deno.test("/metrics counts connections, offices, members, events by outcome, refusals, limits and bytes (spec §10)", async () => {
  await using server = createSmcpServer({
    metrics: createMetrics(),
    limits: { callsPerAgent: 1, connectionsPerAddress: 3 },
  });
  const { url, port } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  await using outsider = await connectRaw(url);
  const acks: ((answer: unknown) => void)[] = [];
  computer.handle(TOOL_CALL_EVENT, (_payload, ack) => acks.push(ack));
  computer.handle(GET_TOOLS_EVENT, (_payload, ack) => ack("no object"));

  const first = agent.ask(TOOL_CALL_EVENT, REQUEST);
  await agent.ask(TOOL_CALL_EVENT, REQUEST); // 429
  await computer.request("notify:barrier");
  acks[0]?.({ content: [] });
  await first;
  const failed = agent.ask(TOOL_CALL_EVENT, REQUEST);
  await computer.request("notify:barrier");
  acks[1]?.({ content: [], isError: true });
  await failed;
  await agent.ask(TOOL_CALL_EVENT, { ...REQUEST, computer: "nobody" });
  await agent.ask(TOOL_CALL_EVENT, { ...REQUEST, timeout: 0 });
  await outsider.ask(TOOL_CALL_EVENT, REQUEST);
  await agent.ask(GET_TOOLS_EVENT, REQUEST); // 500
  await agent.ask(LIST_ROOM_EVENT, { ...REQUEST, office_id: "office" });
  await outsider.join("agent", "second", "office");
  await computer.request(UPDATE_DESKTOP_EVENT, { computer: "computer" });
  await agent.ask("client:made_up", {});
  await agent.request("notify:barrier");
  const refused = async (query: string) =>
    (await rawHttp(port, [`GET /smcp/?${query} HTTP/1.1`, "Host: localhost"]))
      .status;
  assertEquals(await refused(""), 400);
  assertEquals(await refused("a2c_version=0.9.0"), 400);
  assertEquals(
    await refused("a2c_version=0.2.0&EIO=4&transport=polling"),
    429,
  );

  const all = await samples(url);
  const expected: Record<string, number> = {
    "smcp_connections": 3,
    "smcp_offices": 1,
    "smcp_members": 2,
    'smcp_events_total{event="client:tool_call",outcome="ok"}': 1,
    'smcp_events_total{event="client:tool_call",outcome="tool error"}': 1,
    'smcp_events_total{event="client:tool_call",outcome="error 429"}': 1,
    'smcp_events_total{event="client:tool_call",outcome="error 404"}': 1,
    'smcp_events_total{event="client:tool_call",outcome="error 400"}': 1,
    'smcp_events_total{event="client:tool_call",outcome="error 4103"}': 1,
    'smcp_events_total{event="client:get_tools",outcome="error 500"}': 1,
    'smcp_events_total{event="server:list_room",outcome="ok"}': 1,
    'smcp_events_total{event="server:join_office",outcome="ok"}': 2,
    'smcp_events_total{event="server:join_office",outcome="refused"}': 1,
    'smcp_events_total{event="server:update_desktop",outcome="ok"}': 1,
    'smcp_events_total{event="unknown",outcome="error 400"}': 1,
    'smcp_event_duration_seconds_count{event="client:tool_call"}': 6,
    'smcp_handshakes_refused_total{reason="invalid_version"}': 1,
    'smcp_handshakes_refused_total{reason="version_mismatch"}': 1,
    'smcp_handshakes_refused_total{reason="connections_per_address"}': 1,
    'smcp_limits_hit_total{limit="calls_per_agent"}': 1,
    'smcp_limits_hit_total{limit="connections_per_address"}': 1,
  };
  for (const [name, value] of Object.entries(expected)) {
    assertEquals(all.get(name), value, name);
  }
  for (
    const name of [
      'smcp_network_bytes_total{direction="received"}',
      'smcp_network_bytes_total{direction="sent"}',
      "process_resident_memory_bytes",
      "process_heap_bytes",
    ]
  ) {
    assert((all.get(name) ?? 0) > 1000, name);
  }
  assert((all.get("smcp_event_loop_lag_seconds") ?? -1) >= 0);
});

Deno.test("refusals are counted by reason, also those of Engine.IO and of unknown namespaces", async () => {
  await using server = createSmcpServer({ metrics: createMetrics() });
  const { url, port } = await server.listen();
  const target = "/smcp/?a2c_version=0.2.0&transport=polling&EIO=3";
  const head = [
    `GET ${target} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
  ];
  await rawHttp(port, head);
  await exchangePackets(port, ["40/made-up,"]);
  const all = await samples(url);
  for (const reason of ["engine_version", "invalid_request"]) {
    const name = `smcp_handshakes_refused_total{reason="${reason}"}`;
    assertEquals(all.get(name), 1, name);
  }
});

Deno.test("bytes are counted in both directions, including closed connections", async () => {
  await using server = createSmcpServer({ metrics: createMetrics() });
  const { url } = await server.listen();
  const text = "x".repeat(100_000);
  const bytes = async () => {
    const all = await samples(url);
    return ["received", "sent"].map((direction) =>
      all.get(`smcp_network_bytes_total{direction="${direction}"}`) ?? 0
    );
  };
  {
    await using pair = await rawPair(url);
    pair.computer.handle(TOOL_CALL_EVENT, (payload, ack) => ack({ payload }));
    await pair.agent.ask(TOOL_CALL_EVENT, { ...REQUEST, params: { text } });
  }
  const [received = 0, sent = 0] = await bytes();
  // The request came in and went out, and so did the answer.
  assert(received > 200_000 && received < 250_000, `received ${received}`);
  assert(sent > 200_000 && sent < 250_000, `sent ${sent}`);
});

Deno.test("a call whose agent is gone is counted as such", async () => {
  await using server = createSmcpServer({ metrics: createMetrics() });
  const { url } = await server.listen();
  await using computer = await joinRaw(url, "computer", "computer", "o");
  {
    await using agent = await joinRaw(url, "agent", "agent", "o");
    agent.socket.emit(GET_TOOLS_EVENT, REQUEST, () => {});
    await computer.next(GET_TOOLS_EVENT);
  }
  await computer.next("notify:leave_office");
  const name =
    'smcp_events_total{event="client:get_tools",outcome="agent gone"}';
  assertEquals((await samples(url)).get(name), 1);
});

Deno.test("without metrics there is no /metrics, and no port for them", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const response = await fetch(`${url}/metrics`);
  assertEquals([response.status, (await response.json()).code], [404, 404]);
  assertThrows(() => server.listenMetrics(), TypeError, "createMetrics()");
});

Deno.test("the main port serves metrics only to this machine, not to forwarded requests", async () => {
  await using server = createSmcpServer({ metrics: createMetrics() });
  const { port } = await server.listen();
  const head = ["GET /metrics HTTP/1.1", "Host: localhost"];
  assertEquals((await rawHttp(port, head)).status, 200);
  for (
    const header of [
      "X-Forwarded-For: 127.0.0.1",
      "Forwarded: for=127.0.0.1",
      "Via: 1.1 proxy",
    ]
  ) {
    const { status, body } = await rawHttp(port, [...head, header]);
    assertEquals([status, JSON.parse(body)], [401, {
      code: 401,
      message: "Authentication failed",
    }]);
  }
});

Deno.test("with authentication the main port serves metrics to admitted clients (spec §10)", async () => {
  await using server = createSmcpServer({
    metrics: createMetrics(),
    authenticator: apiKeys([{ key: "k".repeat(32), id: "prometheus" }]),
  });
  const { url } = await server.listen();
  const read = async (headers: Record<string, string>) => {
    const response = await fetch(`${url}/metrics`, { headers });
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await read({}), 401);
  assertEquals(await read({ "x-api-key": "wrong" }), 401);
  assertEquals(await read({ "x-api-key": "k".repeat(32) }), 200);
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
  const gone = await fetch(`${url}/metrics`).then(() => false, () => true);
  assert(gone);
});

Deno.test("/ready answers 503 during shutdown, /health stays 200", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const look = async (path: string) => {
    const response = await fetch(url + path);
    return [response.status, (await response.json()).status];
  };
  assertEquals(await look("/ready"), [200, "ready"]);
  const ack = Promise.withResolvers<(answer: unknown) => void>();
  pair.computer.handle(TOOL_CALL_EVENT, (_payload, give) => ack.resolve(give));
  const call = pair.agent.ask(TOOL_CALL_EVENT, REQUEST);
  const answer = await ack.promise;
  const closing = server.close();
  assertEquals(await look("/ready"), [503, "draining"]);
  assertEquals(await look("/health"), [200, "draining"]);
  answer({ content: [] });
  await call;
  await closing;
});

Deno.test("a relayed call is a span with names and outcome, never with parameters or results", async () => {
  const spans: Record<string, unknown>[] = [];
  const tracer: CallTracer = {
    startSpan(name, { kind, attributes }) {
      const span: Record<string, unknown> = { name, kind, ...attributes };
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
  computer.handle(
    TOOL_CALL_EVENT,
    (_payload, ack) => ack({ content: [{ type: "text", text: "hunter2" }] }),
  );
  await agent.ask(TOOL_CALL_EVENT, REQUEST);
  await agent.ask(GET_TOOLS_EVENT, { ...REQUEST, computer: "nobody" });
  const common = {
    kind: 1,
    "smcp.office": "office",
    "smcp.agent": "agent",
    "smcp.req_id": "r1",
    "smcp.tool": "echo",
  };
  assertEquals(spans, [
    {
      name: TOOL_CALL_EVENT,
      ...common,
      "smcp.computer": "computer",
      "smcp.outcome": "ok",
    },
    {
      name: GET_TOOLS_EVENT,
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

Deno.test("metrics also count in an attached HTTP server", async () => {
  await using smcp = createSmcpServer({ metrics: createMetrics() });
  const http = createServer(getRequestListener(smcp.app.fetch));
  smcp.attach(http);
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  {
    await using _client = await connectRaw(url);
    const all = await samples(url);
    assertEquals(all.get("smcp_connections"), 1);
    const sent = all.get('smcp_network_bytes_total{direction="sent"}') ?? 0;
    assert(sent > 100, `${sent}`);
  }
  await smcp.close();
  await new Promise((done) => {
    http.close(done);
    http.closeAllConnections();
  });
});

Deno.test({
  name:
    "the command serves metrics by flag, without further permissions, and prints the address",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand([
    "--port=0",
    "--metrics-port=0",
    "--tracing",
  ]);
  const [, url = ""] = /metrics (http:\S+)\/metrics/.exec(command.line) ?? [];
  await using pair = await rawPair(command.url);
  pair.computer.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ ok: true }));
  await pair.agent.ask(TOOL_CALL_EVENT, REQUEST);
  const ok = 'smcp_events_total{event="client:tool_call",outcome="ok"}';
  assertEquals((await samples(url)).get(ok), 1);
  assertEquals((await samples(command.url)).get(ok), 1);
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
  await using pair = await rawPair(command.url);
  pair.computer.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ ok: true }));
  await pair.agent.ask(TOOL_CALL_EVENT, REQUEST);
  await command.logged("smcp.req_id");
  assert(!command.log.includes("hunter2"));
});
