import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { SmcpAgent } from "../../../../agent/mod.ts";
import { deno } from "../../../../server/fetch/deno.ts";
import {
  apiKeys,
  createFetchServer,
  createMetrics,
} from "../../../../server/fetch/mod.ts";
import { createSmcpServer } from "../../../../server/mod.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { modulesOf } from "../../../support/modules.ts";
import { startFetchServer } from "../../../support/server/fetch_server.ts";
import { memoryHeld } from "../../../support/server/memory.ts";
import {
  connectRaw,
  joinRaw,
  type RawClient,
} from "../../../support/wire/raw_client.ts";
import { rawHttp, upgradeHead } from "../../../support/wire/raw_http.ts";
import { pollingUrl } from "../../../support/wire/raw_polling.ts";
import {
  clientFrame,
  OP,
  RawWebSocket,
  webSocketTarget,
} from "../../../support/wire/raw_websocket.ts";
import { SlowClient } from "../../../support/wire/slow_client.ts";

const CLIENTS = 60;

const upgraded = ({ socket }: RawClient): Promise<void> =>
  new Promise((resolve) => {
    const { engine } = socket.io;
    if (engine.transport.name === "websocket") resolve();
    else engine.once("upgrade", () => resolve());
  });

const WAYS = [["websocket"], ["polling", "websocket"], ["polling"]] as const;

for (const transports of WAYS) {
  Deno.test(`${CLIENTS} clients at once join over ${transports.join(" and then ")}, and are found`, async () => {
    await using server = startFetchServer();
    await using stack = new AsyncDisposableStack();
    const to = { url: server.url, transports: [...transports] };
    const join = async (i: number) => {
      const role = i === 0 ? "agent" : "computer";
      const client = stack.use(await joinRaw(to, role, `m${i}`, "office"));
      if (transports.length > 1) await upgraded(client);
      return client;
    };
    const [agent] = await Promise.all(
      Array.from({ length: CLIENTS }, (_, i) => join(i)),
    );
    assertEquals(server.smcp.stats, {
      connections: CLIENTS,
      offices: 1,
      members: CLIENTS,
    });
    const request = { agent: "m0", req_id: "r", office_id: "office" };
    const room = await agent?.ask("server:list_room", request);
    const { sessions } = room as { sessions: readonly unknown[] };
    assertEquals(sessions.length, CLIENTS);
  });
}

Deno.test("/health, /ready and /metrics answer, and count bytes of messages", async () => {
  await using server = startFetchServer({ metrics: createMetrics() });
  await using _client = await joinRaw(server.url, "agent", "a", "o");
  const get = async (path: string) => {
    const response = await fetch(`${server.url}${path}`);
    return [response.status, await response.text()] as const;
  };
  const [, health] = await get("/health");
  assertEquals(JSON.parse(health).members, 1);
  assertEquals(await get("/ready"), [200, '{"status":"ready"}']);
  const [status, metrics] = await get("/metrics");
  assertEquals(status, 200);
  for (const direction of ["received", "sent"]) {
    const line = `smcp_network_bytes_total{direction="${direction}"} `;
    const [, after = ""] = metrics.split(line);
    assert(parseInt(after) > 50, metrics);
  }
  assertEquals((await get("/other"))[0], 404);
});

Deno.test("without an authenticator other machines get 403, until insecure says otherwise", async () => {
  type Info = { transport: string; hostname?: string };
  const stranger = { transport: "tcp", hostname: "203.0.113.5" };
  const local = { transport: "tcp", hostname: "::ffff:127.0.0.1" };
  const keys = apiKeys([{ id: "p", key: "0123456789abcdef" }]);
  await using closed = createFetchServer();
  await using open = createFetchServer({ insecure: true });
  await using keyed = createFetchServer({ authenticator: keys });
  const statusOf = async ({ fetch }: typeof closed, info?: Info) => {
    const request = new Request("http://localhost/health");
    const response = await fetch(
      request,
      ...(info ? [{ remoteAddr: info }] : []),
    );
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await statusOf(closed, stranger), 403);
  assertEquals(await statusOf(closed), 403, "an unknown address");
  assertEquals(await statusOf(closed, local), 200);
  assertEquals(await statusOf(closed, { transport: "unix" }), 200);
  assertEquals(await statusOf(open, stranger), 200);
  assertEquals(await statusOf(keyed, stranger), 200);
});

Deno.test("a request over loopback must name this machine, as with listen()", async () => {
  await using server = startFetchServer();
  for (const [host, expected] of [["evil.example", 403], ["localhost", 200]]) {
    const head = ["GET /health HTTP/1.1", `Host: ${host}`];
    assertEquals((await rawHttp(server.port, head)).status, expected);
  }
});

Deno.test("an upgrade that is none, or of an unknown session, gets 400", async () => {
  await using server = startFetchServer();
  for (
    const head of [
      upgradeHead(webSocketTarget()).filter((line) =>
        !line.startsWith("Connection")
      ),
      upgradeHead(webSocketTarget("&sid=unknown")),
    ]
  ) assertEquals((await rawHttp(server.port, head)).status, 400);
});

Deno.test("options that cannot be kept are refused by name", () => {
  const refused: [object, string][] = [
    [{ minUploadRate: 1 }, "with minUploadRate: the platform shows a message"],
    [{ headerTimeoutMs: 1 }, "with headerTimeoutMs"],
    [{ wsEngine: "fast" }, "with wsEngine"],
    [{ limits: { unfinishedBytes: 1 } }, "with limits.unfinishedBytes"],
  ];
  for (const [options, text] of refused) {
    assertThrows(() => createFetchServer(options), TypeError, text);
  }
});

Deno.test("the entry loads no listener of node:http, nor a cluster; without an adapter only modules that edge platforms have", async () => {
  const modules = (name: string) =>
    modulesOf(`server/fetch/${name}.ts`, { dynamic: true });
  const entry = await modules("mod");
  const listens = /^server\/(server|http\/listen|cluster\/)|^npm:redis@/;
  assertEquals(entry.filter((module) => listens.test(module)), []);
  const bare = await modules("fetch_server");
  const others =
    /^server\/wire\/stock\/|^npm:\/?(@hono\/node-server|engine\.io|socket\.io|ws)@|^node:(?!(buffer|crypto|events|net|process|timers|zlib)$)/;
  assertEquals(bare.filter((module) => others.test(module)), []);
});

Deno.test("createSmcpServer() with an adapter is the same server", async () => {
  const options = { adapter: deno() };
  await using smcp = createSmcpServer(options);
  const served = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    smcp.fetch,
  );
  const url = `http://127.0.0.1:${served.addr.port}`;
  await using agent = new SmcpAgent({ url, name: "planner" });
  await agent.connect();
  await agent.join("office-1");
  assertEquals(smcp.stats.members, 1);
  assertThrows(
    () => createSmcpServer(Object.assign(options, { wsEngine: "fast" })),
    TypeError,
    "with wsEngine",
  );
  await agent.close();
  await smcp.close();
  await served.shutdown();
});

const KIB = 1024;

Deno.test("a message over maxMessageBytes, or over 64 KiB without a session, closes with 1009, and no other client", async () => {
  await using server = startFetchServer({ maxMessageBytes: 100 * KIB });
  await using other = await connectRaw(server.url);
  const rows: [text: string | Uint8Array, isConnected: boolean][] = [
    [`42/smcp,["x",{"a":"${"é".repeat(50 * KIB)}"}]`, true],
    [new Uint8Array(101 * KIB), true],
    ["x".repeat(65 * KIB), false],
  ];
  for (const [message, isConnected] of rows) {
    await using raw = isConnected
      ? await RawWebSocket.connect(server.port)
      : await RawWebSocket.open(server.port);
    raw.send(message);
    assertEquals(await raw.closed, 1009);
  }
  assert(other.socket.connected);
});

Deno.test("an unknown opcode, invalid UTF-8 and 100 nested arrays close their connection alone", async () => {
  await using server = startFetchServer();
  await using other = await connectRaw(server.url);
  const nested = "[".repeat(100) + "]".repeat(100);
  const hostile = [
    ...[[0x83, 0x80], [0x81, 0x82]].map((head) =>
      new Uint8Array([...head, 0, 0, 0, 0, 0xff, 0xfe])
    ),
    clientFrame(OP.text, `42/smcp,["x",${nested}]`),
  ];
  for (const bytes of hostile) {
    await using raw = await RawWebSocket.connect(server.port);
    raw.write(bytes);
    await raw.closed;
  }
  assertEquals(await other.join("agent", "a", "o"), [true, null]);
  assertEquals(server.smcp.stats.connections, 1);
});

Deno.test("a client that does not read loses its session at queuedBytes, and keeps its place until it is gone", async () => {
  const metrics = createMetrics();
  await using server = startFetchServer({
    limits: { queuedBytes: 2 ** 21, connectionsPerAddress: 2 },
    metrics,
  });
  await using agent = await joinRaw(server.url, "agent", "agent", "office");
  await using slow = await SlowClient.open(server.url);
  await slow.join("computer", "computer", "office");
  slow.pause();
  // More than the socket buffers of the system take, and then the limit.
  const params = { text: "x".repeat(2 ** 20) };
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => {
    const request = { ...ANY_REQUEST, params, req_id: `${i}` };
    return agent.ask("client:tool_call", request);
  }));
  const codes = answers.map((answer) => Object(answer).code);
  assertEquals([...new Set(codes)], [404]);
  assertEquals(server.smcp.stats.connections, 1);
  assertMatch(await metrics.text(), /limit="queued_bytes"\} 1$/m);
  assertEquals(await statusOf(server.url), 429);
  await slow[Symbol.asyncDispose]();
  while (await statusOf(server.url) !== 200);
});

Deno.test("a client that never answers the close keeps its place, and gives it back when it is gone", async () => {
  await using server = startFetchServer({
    limits: { connectionsPerAddress: 1 },
    connectTimeoutMs: 1,
  });
  const raw = await RawWebSocket.open(server.port, { answersClose: false });
  while ((await raw.frame()).opcode !== OP.close);
  assertEquals(await statusOf(server.url), 429);
  await raw[Symbol.asyncDispose]();
  while (await statusOf(server.url) !== 200);
});

/** The status of a handshake, which takes a place for a moment where there is one. */
async function statusOf(url: string): Promise<number> {
  const response = await fetch(pollingUrl(url));
  await response.body?.cancel();
  return response.status;
}

Deno.test("1,000 connections take less than 40 KiB of the heap each, both ends", async () => {
  await using server = startFetchServer({
    limits: { connectionsPerAddress: 2000, socketsPerAddress: 4000 },
  });
  const before = memoryHeld();
  await using stack = new AsyncDisposableStack();
  for (let i = 0; i < 10; i++) {
    const opened = await Promise.all(
      Array.from({ length: 100 }, () => RawWebSocket.connect(server.port)),
    );
    for (const each of opened) stack.use(each);
  }
  assertEquals(server.smcp.stats.connections, 1000);
  const each = (memoryHeld() - before) / 1000;
  assert(each < 40 * KIB, `${Math.round(each / KIB)} KiB each, both ends`);
});
