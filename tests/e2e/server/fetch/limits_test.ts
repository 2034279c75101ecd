import { assert, assertEquals, assertMatch } from "@std/assert";
import { TOOL_CALL_EVENT } from "../../../../protocol/mod.ts";
import { createMetrics } from "../../../../server/fetch/mod.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { startFetchServer } from "../../../support/server/fetch_server.ts";
import { memoryHeld } from "../../../support/server/memory.ts";
import { connectRaw, joinRaw } from "../../../support/wire/raw_client.ts";
import { rawHttp } from "../../../support/wire/raw_http.ts";
import { OP, RawWebSocket } from "../../../support/wire/raw_websocket.ts";
import { SlowClient } from "../../../support/wire/slow_client.ts";

const KIB = 1024;

Deno.test("a message over maxMessageBytes closes with 1009 after it came, and no other client", async () => {
  await using server = startFetchServer({ maxMessageBytes: 10 * KIB });
  await using other = await connectRaw(server.url);
  await using raw = await RawWebSocket.connect(server.port);
  raw.send(`42/smcp,["x",{"a":"${"é".repeat(5 * KIB)}"}]`);
  assertEquals(await raw.closed, 1009);
  await using binary = await RawWebSocket.connect(server.port);
  binary.send(new Uint8Array(11 * KIB));
  assertEquals(await binary.closed, 1009);
  assert(other.socket.connected);
});

Deno.test("a message of 64 KiB without a session closes with 1009", async () => {
  await using server = startFetchServer();
  await using raw = await RawWebSocket.open(server.port);
  await raw.text("0{");
  raw.send("x".repeat(65 * KIB));
  assertEquals(await raw.closed, 1009);
});

Deno.test("a POST over maxMessageBytes gets 413, and its session ends", async () => {
  await using server = startFetchServer({ maxMessageBytes: 10 * KIB });
  const target = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0";
  const head = (method: string, query: string, length = 0) => [
    `${method} ${target}${query} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Content-Length: ${length}`,
  ];
  const open = await rawHttp(server.port, head("GET", ""));
  const { sid } = JSON.parse(open.body.slice(1));
  const body = "4".repeat(11 * KIB);
  const answer = await rawHttp(
    server.port,
    head("POST", `&sid=${sid}`, body.length),
    body,
  );
  assertEquals(answer.status, 413);
});

for (
  const [what, send] of [
    ["text that is no packet", (raw: RawWebSocket) => raw.send("garbage")],
    ["invalid JSON", (raw: RawWebSocket) => raw.send('42/smcp,["x",{]')],
    [
      "100 nested arrays",
      (raw: RawWebSocket) =>
        raw.send(`42/smcp,["x",${"[".repeat(100)}${"]".repeat(100)}]`),
    ],
    [
      "binary without its packet",
      (raw: RawWebSocket) => raw.send(new Uint8Array(9)),
    ],
    ["an unknown opcode", (raw: RawWebSocket) => {
      raw.write(new Uint8Array([0x83, 0x80, 0, 0, 0, 0]));
    }],
    ["invalid UTF-8", (raw: RawWebSocket) => {
      raw.write(new Uint8Array([0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe]));
    }],
  ] satisfies [string, (raw: RawWebSocket) => void][]
) {
  Deno.test(`${what} closes its connection alone`, async () => {
    await using server = startFetchServer();
    await using other = await connectRaw(server.url);
    await using raw = await RawWebSocket.connect(server.port);
    send(raw);
    await raw.closed;
    assertEquals(await other.join("agent", "a", "o"), [true, null]);
    assertEquals(server.smcp.stats.connections, 1);
  });
}

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
  const answers = await Promise.all(
    Array.from(
      { length: 30 },
      (_, i) =>
        agent.ask(TOOL_CALL_EVENT, { ...ANY_REQUEST, params, req_id: `${i}` }),
    ),
  );
  const codes = answers.map((answer) => (answer as { code: number }).code);
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
  const target = `${url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`;
  const response = await fetch(target);
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
