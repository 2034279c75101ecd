import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { once } from "node:events";
import { connect } from "node:net";
import { SmcpAgent } from "../../../agent/mod.ts";
import {
  closeServer,
  listenOn,
  newServer,
} from "../../../server/http/listen.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { startOffice } from "../../support/office.ts";
import {
  connectRaw,
  joinRaw,
  RawClient,
  rawPair,
} from "../../support/wire/raw_client.ts";
import { RawFrames } from "../../support/wire/raw_frames.ts";
import { rawHttp, upgradeHead } from "../../support/wire/raw_http.ts";
import { SlowClient } from "../../support/wire/slow_client.ts";

const CALL = "client:tool_call";
const LIST = "server:list_room";
const QUERY = "/smcp/?EIO=4&a2c_version=0.2.0&transport=";

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

const codeOf = (answer: unknown): unknown => Object(answer).code;

const pollingGet = (port: number, more = "", ...headers: string[]) =>
  rawHttp(port, [
    `GET ${QUERY}polling${more} HTTP/1.1`,
    "Host: 127.0.0.1",
    ...headers,
  ]);

/** Calls the Computer, each time with a text of so many characters. */
const callsOf = (agent: RawClient, count: number, length: number) =>
  Array.from({ length: count }, (_, i) =>
    agent.ask(CALL, {
      ...ANY_REQUEST,
      params: { text: "x".repeat(length) },
      req_id: `${i}`,
    }));

Deno.test("an address over its limit of connections is refused with 429, over polling and for an upgrade alike (protocol §10)", async () => {
  const limits = { connectionsPerAddress: 2 };
  await using server = createSmcpServer({ limits });
  const { url, port } = await server.listen();
  await using first = await connectRaw(url);
  await using second = await connectRaw(url, { transports: ["polling"] });
  // Engine.IO takes the last of several sessions, and an empty one opens one.
  for (const session of ["", "&sid=x&sid="]) {
    const refused = [
      await pollingGet(port, session),
      await rawHttp(port, upgradeHead(`${QUERY}websocket${session}`)),
    ];
    for (const { status, headers, body } of refused) {
      assertEquals([status, headers["content-type"], JSON.parse(body)], [
        429,
        "application/json",
        {
          code: 429,
          message: "Too many connections: at most 2 from one address",
          limit: "connections_per_address",
          max: 2,
        },
      ]);
    }
  }
  // Open sessions continue: their further requests take no slot.
  for (const client of [first, second]) {
    const joined = await client.join("computer", `${client.socket.id}`, "o");
    assertEquals(joined, [true, null]);
  }
});

Deno.test("an ended session releases its slot, over both transports, and so does a request that opened no session", async () => {
  const limits = { connectionsPerAddress: 1 };
  await using server = createSmcpServer({ limits });
  const { url, port } = await server.listen();
  for (const transport of ["websocket", "polling", "websocket"] as const) {
    await using client = new RawClient(url, {
      transports: [transport],
      reconnection: true, // the server may notice the last one's end slightly later
    });
    if (client.socket.connected) continue;
    await new Promise<void>((done) => client.socket.once("connect", done));
  }
  // Requests that pass the gate and then fail in Engine.IO.
  const failing = [
    `GET ${QUERY}carrier-pigeon HTTP/1.1`,
    "Host: 127.0.0.1",
    "Connection: close",
  ];
  for (let i = 0; i < 3; i++) {
    let status = 429;
    while (status === 429) ({ status } = await rawHttp(port, failing));
    assertEquals(status, 400);
  }
});

Deno.test("a burst of 40 handshakes does not exceed the limit", async () => {
  const limits = { connectionsPerAddress: 5 };
  await using server = createSmcpServer({ limits });
  const { port } = await server.listen();
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => pollingGet(port)),
  );
  const statuses = answers.map(({ status }) => status).sort();
  assertEquals(statuses, [...Array(5).fill(200), ...Array(35).fill(429)]);
});

Deno.test("X-Forwarded-For counts behind a trusted proxy, and is ignored without one", async () => {
  for (const trustedProxies of [1, 0]) {
    const limits = { connectionsPerAddress: 1 };
    await using server = createSmcpServer({ limits, trustedProxies });
    const { port } = await server.listen();
    const statuses: number[] = [];
    for (const client of ["1.1.1.1", "2.2.2.2", "1.1.1.1"]) {
      const header = `X-Forwarded-For: 6.6.6.6, ${client}`;
      statuses.push((await pollingGet(port, "", header)).status);
    }
    assertEquals(statuses, [200, trustedProxies ? 200 : 429, 429]);
  }
});

Deno.test("events over the rate are answered with 429 immediately, joins with false; the connection stays (protocol §10)", async () => {
  await using server = createSmcpServer({ limits: { eventsPerSecond: 20 } });
  const { url } = await server.listen();
  await using bystander = await joinRaw(url, "computer", "computer", "o");
  await using agent = await joinRaw(url, "agent", "agent", "o");
  const request = { agent: "agent", req_id: "1", office_id: "o" };
  const began = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => agent.ask(LIST, request)),
  );
  // The bucket is full at most, and fills up meanwhile.
  const most = 21 + 20 * (performance.now() - began) / 1000;
  const refused = answers.filter((answer) => codeOf(answer) === 429);
  assert(answers.length - refused.length <= most, `${refused.length} of 200`);
  assertEquals(refused[0], {
    code: 429,
    message: "Too many events: at most 20 per second, send more slowly",
    limit: "events_per_second",
    max: 20,
    details: { ran: false, retry_in_ms: 50 },
  });
  const joins = await Promise.all(
    Array.from({ length: 200 }, () => agent.join("agent", "agent", "o")),
  );
  // One or another comes when there is a token again.
  const [, reason] = joins.find(([isIn]) => !isIn) ?? [];
  assertMatch(String(reason), /^Too many events/);
  // It recovers by itself, and no other client was slowed down.
  assertEquals(await bystander.join("computer", "computer", "o"), [true, null]);
  let answer: unknown;
  do answer = await agent.ask(LIST, request); while (
    codeOf(answer) === 429
  );
  assertEquals(codeOf(answer), undefined);
});

Deno.test("fire-and-forget events over the rate are dropped; their sender keeps its session and its calls", async () => {
  await using server = createSmcpServer({ limits: { eventsPerSecond: 10 } });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  const asked = Promise.withResolvers<(answer: unknown) => void>();
  computer.handle(CALL, (_payload, ack) => asked.resolve(ack));
  const call = agent.ask(CALL, { ...ANY_REQUEST, progress: true });
  const end = await asked.promise;
  const about = { computer: "computer" };
  for (let progress = 0; progress < 100; progress++) {
    const report = { ...about, agent: "agent", req_id: "r1", progress };
    computer.socket.emit("server:tool_call_progress", report);
    computer.socket.emit("server:update_desktop", about);
  }
  end({ content: [] });
  assertEquals(await call, { content: [] });
  assertEquals(computer.socket.connected, true);
  const names = ["notify:tool_call_progress", "notify:update_desktop"];
  const heard = agent.heard.filter(({ event }) => names.includes(event));
  assert(heard.length >= 8 && heard.length < 60, `${heard.length} came`);
});

Deno.test("a client that does not read is disconnected at the limit, and its callers are answered (protocol §10)", async () => {
  await using server = createSmcpServer({ limits: { queuedBytes: 2 ** 21 } });
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "o");
  await using slow = await SlowClient.open(url);
  await slow.join("computer", "computer", "o");
  slow.pause();
  // More than the socket buffers of the system take, and then the limit.
  const answers = await Promise.all(callsOf(agent, 30, 2 ** 20));
  assertEquals([...new Set(answers.map(codeOf))], [404]);
  assertEquals(server.stats.members, 1);
  slow.resume();
  await slow.closed;
});

Deno.test("one message larger than the queue's limit is delivered", async () => {
  await using server = createSmcpServer({ limits: { queuedBytes: 1024 } });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  computer.handle(CALL, (payload, ack) => ack(Object(payload).params));
  for (let i = 0; i < 3; i++) {
    const [call] = callsOf(agent, 1, 100_000);
    assertEquals(await call, { text: "x".repeat(100_000) });
  }
});

Deno.test("a client that stops polling is disconnected too", async () => {
  await using server = createSmcpServer({ limits: { queuedBytes: 100_000 } });
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "o");
  const opened = await fetch(`${url}${QUERY}polling`);
  const { sid } = JSON.parse((await opened.text()).slice(1));
  const later = async (init?: RequestInit) =>
    await (await fetch(`${url}${QUERY}polling&sid=${sid}`, init)).text();
  await later({ method: "POST", body: "40/smcp," });
  await later(); // the last that it polls
  const seat = { role: "computer", name: "computer", office_id: "o" };
  const join = JSON.stringify(["server:join_office", seat]);
  await later({ method: "POST", body: `42/smcp,${join}` });
  await agent.next("notify:enter_office");
  const answers = await Promise.all(callsOf(agent, 5, 30_000));
  assertEquals([...new Set(answers.map(codeOf))], [404]);
});

Deno.test("a connection has one session, however many it requests at once", async () => {
  const asked = Promise.withResolvers<void>();
  const letIn = Promise.withResolvers<void>();
  await using server = createSmcpServer({
    authenticator: {
      async authenticate() {
        asked.resolve();
        await letIn.promise;
        return { principal: "p" };
      },
    },
  });
  const { url } = await server.listen();
  await using raw = await RawFrames.open(url);
  for (let i = 0; i < 30; i++) raw.send("40/smcp,");
  await asked.promise;
  for (let i = 1; i < 30; i++) {
    assertMatch(await raw.frame("44/smcp,"), /"code":400/);
  }
  letIn.resolve();
  await raw.frame("40/smcp,{");
  assertEquals(server.stats.connections, 1);
});

Deno.test("rejoining over the same connection does not refill the rate limit", async () => {
  await using server = createSmcpServer({ limits: { eventsPerSecond: 20 } });
  const { url } = await server.listen();
  await using raw = await RawFrames.open(url);
  let answer = "";
  // One round is a connect and 10 events; a bucket holds one round and a half.
  for (let round = 0; round < 20 && !answer.includes("429"); round++) {
    raw.send("40/smcp,");
    answer = await raw.frame("4");
    if (answer.startsWith("44")) break;
    for (let id = 0; id < 10; id++) raw.send(`42/smcp,${id}["client:x",{}]`);
    answer = await raw.frame("43/smcp,9[");
    raw.send("41/smcp,");
    while (server.stats.connections > 0) await turn();
  }
  assertMatch(answer, /"code":429/);
});

Deno.test("attempts to guess credentials over one connection are limited like events", async () => {
  await using server = createSmcpServer({
    authenticator: { authenticate: () => ({ refused: "no" }) },
    limits: { eventsPerSecond: 10 },
  });
  const { url } = await server.listen();
  await using raw = await RawFrames.open(url);
  const began = performance.now();
  for (let i = 0; i < 30; i++) raw.send("40/smcp,");
  const codes: string[] = [];
  for (let i = 0; i < 30; i++) {
    const [, code = ""] = /"code":(\d+)/.exec(await raw.frame("44/smcp,")) ??
      [];
    codes.push(code);
  }
  // The first is free; the bucket is full at most, and fills up meanwhile.
  const most = 12 + 10 * (performance.now() - began) / 1000;
  const judged = codes.filter((code) => code !== "429").length;
  assert(judged <= most, codes.join());
  assert(codes.includes("401"));
});

Deno.test("a connection that answers no ping is closed, and its office is notified", async () => {
  await using server = createSmcpServer({
    heartbeat: { intervalMs: 200, timeoutMs: 2_000 },
  });
  const { url } = await server.listen();
  // In process it gets no pings, whose answers a stalled machine would miss, too.
  await using agent = new SmcpAgent({
    connection: server.connect(),
    name: "agent",
  });
  const left = Promise.withResolvers<unknown>();
  agent.on("leaveOffice", left.resolve);
  await agent.connect();
  await agent.join("o");
  await using half = await SlowClient.open(url); // never says "3"
  await half.join("computer", "computer", "o");
  assertEquals(await left.promise, {
    office_id: "o",
    computer: "computer",
  });
  assertEquals(server.stats, { connections: 1, offices: 1, members: 1 });
});

Deno.test("a connection that never joins the namespace is closed after the handshake timeout (protocol §10)", async () => {
  await using server = createSmcpServer({ handshakeTimeoutMs: 200 });
  const { url } = await server.listen();
  await using raw = await RawFrames.open(url);
  await raw.closed;
});

Deno.test("a request with missing headers is answered with 408 after the header timeout (protocol §10)", async () => {
  await using server = createSmcpServer({ headerTimeoutMs: 200 });
  const { port } = await server.listen();
  const answer = await answerTo(port, `GET ${QUERY}polling HTTP/1.1\r\nHost: `);
  assertMatch(answer, /^HTTP\/1\.1 408 /);
});

/** Sends the beginning of a request, and waits for the end of its connection. */
async function answerTo(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk) => answer += chunk);
  socket.write(text);
  await once(socket, "close");
  return answer;
}

Deno.test("a polling POST with a missing body is answered with 408 after its timeout, and its session ends (protocol §10)", async () => {
  await using smcp = createSmcpServer();
  // The first is enough for the headers of requests that are not late.
  const server = newServer(smcp.app, undefined, 1_000, 100);
  smcp.attach(server);
  const { url, port } = await listenOn(server, {});
  const open = await fetch(`${url}${QUERY}polling`);
  const { sid } = JSON.parse((await open.text()).slice(1));
  const poll = fetch(`${url}${QUERY}polling&sid=${sid}`); // is not late: its request is all there
  const answer = await answerTo(
    port,
    `POST ${QUERY}polling&sid=${sid} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n40`,
  );
  assertMatch(answer, /^HTTP\/1\.1 408 /);
  await (await poll).body?.cancel();
  const gone = await fetch(`${url}${QUERY}polling&sid=${sid}`);
  assertEquals([gone.status, (await gone.json()).message], [
    400,
    "Session ID unknown",
  ]);
  await closeServer(server);
});

Deno.test("limits: false removes all count and rate limits, but not the message size", async () => {
  const maxMessageBytes = 2 ** 21;
  await using server = createSmcpServer({ limits: false, maxMessageBytes });
  const { url } = await server.listen();
  await using stack = new AsyncDisposableStack();
  // One after the other: on a busy machine so many at once are late for their handshakes.
  const clients: RawClient[] = [];
  while (clients.length < 130) {
    clients.push(stack.use(await connectRaw(url)));
  }
  const [agent, computer] = clients;
  assert(agent && computer);
  await agent.join("agent", "agent", "o");
  await computer.join("computer", "computer", "o");
  const acks: ((answer: unknown) => void)[] = [];
  computer.handle(CALL, (_payload, ack) => acks.push(ack));
  const calls = callsOf(agent, 300, 1);
  await agent.request("notify:barrier");
  await computer.request("notify:barrier");
  assertEquals(acks.length, 300);
  for (const ack of acks) ack({ content: [] });
  for (const answer of await Promise.all(calls)) {
    assertEquals(answer, { content: [] });
  }
  // A client that does not read stays: more than the socket buffers of the system take.
  await computer.request("server:leave_office", { office_id: "o" });
  await using slow = await SlowClient.open(url);
  await slow.join("computer", "computer", "o");
  slow.pause();
  void callsOf(agent, 24, 2 ** 20); // never answered
  await agent.request("notify:barrier");
  assertEquals(server.stats.members, 2);
  const gone = agent.disconnected();
  agent.socket.emit("notify:tool_call_cancel", "x".repeat(maxMessageBytes));
  await gone;
});

Deno.test("a list of members that is larger than a message is refused with 500, its size and the limit, and never shortened", async () => {
  await using office = await startOffice({
    server: { maxMessageBytes: 1_000 },
  });
  const list = () => office.agent.listRoom();
  assertEquals((await list()).length, 1);
  // Each is looked up in the list.
  const error = await assertRejects(async () => {
    for (const letter of "abcdefg") {
      await office.addScriptedComputer(letter.repeat(200), () => ({}));
    }
  }, ProtocolError);
  const { code, limit, count, max } = Object(error.toPayload());
  assertEquals([code, limit, max, count > 1_000], [500, "bytes", 1_000, true]);
});
