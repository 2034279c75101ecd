import { assert, assertEquals, assertMatch } from "@std/assert";
import { connect } from "node:net";
import { SmcpAgent } from "../../../agent/mod.ts";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  ENTER_OFFICE_NOTIFICATION,
  GET_TOOLS_EVENT,
  JOIN_OFFICE_EVENT,
  LIST_ROOM_EVENT,
  TOOL_CALL_EVENT,
  UPDATE_DESKTOP_EVENT,
  UPDATE_DESKTOP_NOTIFICATION,
} from "../../../protocol/mod.ts";
import {
  closeServer,
  listenOn,
  newServer,
} from "../../../server/http/listen.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import {
  connectRaw,
  joinRaw,
  RawClient,
  rawPair,
} from "../../support/wire/raw_client.ts";
import { RawFrames } from "../../support/wire/raw_frames.ts";
import { rawHttp, upgradeHead } from "../../support/wire/raw_http.ts";
import { SlowClient } from "../../support/wire/slow_client.ts";

const QUERY = "/smcp/?EIO=4&a2c_version=0.2.0&transport=";

const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

const codeOf = (answer: unknown) => (answer as { code?: number }).code;

const pollingGet = (port: number, headers: readonly string[] = []) =>
  rawHttp(port, [
    `GET ${QUERY}polling HTTP/1.1`,
    "Host: 127.0.0.1",
    ...headers,
  ]);

Deno.test("an address over its limit of connections is refused with 429, over polling and for an upgrade alike (spec §10)", async () => {
  await using server = createSmcpServer({
    limits: { connectionsPerAddress: 2 },
  });
  const { url, port } = await server.listen();
  await using first = await connectRaw(url);
  await using second = await connectRaw(url, { transports: ["polling"] });
  const get = await pollingGet(port);
  const upgrade = await rawHttp(port, upgradeHead(`${QUERY}websocket`));
  for (const { status, headers, body } of [get, upgrade]) {
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
  // Open sessions continue: their further requests take no slot.
  for (const client of [first, second]) {
    assertEquals(await client.join("computer", client.socket.id ?? "", "o"), [
      true,
      null,
    ]);
  }
});

Deno.test("an ended session releases its slot, over both transports, and so does a request that opened no session", async () => {
  await using server = createSmcpServer({
    limits: { connectionsPerAddress: 1 },
  });
  const { url, port } = await server.listen();
  for (
    const transports of [["websocket"], ["polling"], ["websocket"]] as const
  ) {
    await using client = new RawClient(url, {
      transports: [...transports],
      reconnection: true, // the server may notice the last one's end slightly later
    });
    if (!client.socket.connected) {
      await new Promise<void>((done) => client.socket.once("connect", done));
    }
  }
  // Requests that pass the gate and then fail in Engine.IO.
  for (let i = 0; i < 3; i++) {
    let status = 429;
    while (status === 429) {
      ({ status } = await rawHttp(port, [
        `GET ${QUERY}carrier-pigeon HTTP/1.1`,
        "Host: 127.0.0.1",
        "Connection: close",
      ]));
    }
    assertEquals(status, 400);
  }
});

Deno.test("a request with a session and then an empty one opens a session, and takes a slot (spec §10)", async () => {
  await using server = createSmcpServer({
    limits: { connectionsPerAddress: 1 },
  });
  const { port } = await server.listen();
  const twice = (transport: string) => `${QUERY}${transport}&sid=x&sid=`;
  const get = () =>
    rawHttp(port, [`GET ${twice("polling")} HTTP/1.1`, "Host: 127.0.0.1"]);
  assertEquals((await get()).status, 200);
  assertEquals((await get()).status, 429);
  const upgrade = await rawHttp(port, upgradeHead(twice("websocket")));
  assertEquals(upgrade.status, 429);
});

Deno.test("a burst of 40 handshakes does not exceed the limit", async () => {
  await using server = createSmcpServer({
    limits: { connectionsPerAddress: 5 },
  });
  const { port } = await server.listen();
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => pollingGet(port)),
  );
  assertEquals(answers.filter(({ status }) => status === 200).length, 5);
  assertEquals(answers.filter(({ status }) => status === 429).length, 35);
});

Deno.test("X-Forwarded-For counts behind a trusted proxy, and is ignored without one", async () => {
  const from = (address: string) => [`X-Forwarded-For: 6.6.6.6, ${address}`];
  {
    await using server = createSmcpServer({
      limits: { connectionsPerAddress: 1 },
      trustedProxies: 1,
    });
    const { port } = await server.listen();
    const statuses: number[] = [];
    for (const client of ["1.1.1.1", "2.2.2.2", "1.1.1.1"]) {
      statuses.push((await pollingGet(port, from(client))).status);
    }
    assertEquals(statuses, [200, 200, 429]);
  }
  await using server = createSmcpServer({
    limits: { connectionsPerAddress: 1 },
  });
  const { port } = await server.listen();
  const first = await pollingGet(port, from("1.1.1.1"));
  const second = await pollingGet(port, from("2.2.2.2"));
  assertEquals([first.status, second.status], [200, 429]);
});

Deno.test("events over the rate are answered with 429 immediately, joins with false; the connection stays (spec §10)", async () => {
  await using server = createSmcpServer({ limits: { eventsPerSecond: 20 } });
  const { url } = await server.listen();
  await using bystander = await joinRaw(url, "computer", "computer", "o");
  await using agent = await joinRaw(url, "agent", "agent", "o");
  const request = { agent: "agent", req_id: "1", office_id: "o" };
  const began = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => agent.ask(LIST_ROOM_EVENT, request)),
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
  do answer = await agent.ask(LIST_ROOM_EVENT, request); while (
    codeOf(answer) === 429
  );
  assertEquals(codeOf(answer), undefined);
});

Deno.test("fire-and-forget events over the rate are dropped", async () => {
  await using server = createSmcpServer({ limits: { eventsPerSecond: 10 } });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  for (let i = 0; i < 100; i++) {
    computer.socket.emit(UPDATE_DESKTOP_EVENT, { computer: "computer" });
  }
  await computer.request("notify:barrier");
  await agent.request("notify:barrier");
  const heard = agent.heard.filter(({ event }) =>
    event === UPDATE_DESKTOP_NOTIFICATION
  );
  assert(heard.length >= 9 && heard.length < 60, `${heard.length} came`);
});

Deno.test("an agent over its limit of pending calls gets 429, until one is answered (spec §10)", async () => {
  await using server = createSmcpServer({ limits: { callsPerAgent: 3 } });
  const { url } = await server.listen();
  await using pair = await rawPair(url, "one");
  await using other = await rawPair(url, "two");
  const acks: ((answer: unknown) => void)[] = [];
  pair.computer.handle(TOOL_CALL_EVENT, (_payload, ack) => acks.push(ack));
  other.computer.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ ok: true }));
  const calls = Array.from(
    { length: 5 },
    (_, i) =>
      pair.agent.ask(TOOL_CALL_EVENT, { ...ANY_REQUEST, req_id: `${i}` }),
  );
  for (const call of calls.slice(3)) {
    assertEquals(await call, {
      code: 429,
      message: "Too many calls: at most 3 may wait for their answers at once",
      limit: "calls_per_agent",
      max: 3,
      details: { ran: false, retry_in_ms: 100 },
    });
  }
  assertEquals(await other.agent.ask(TOOL_CALL_EVENT, ANY_REQUEST), {
    ok: true,
  });
  await pair.computer.request("notify:barrier");
  acks[0]?.({ first: true });
  assertEquals(await calls[0], { first: true });
  const next = pair.agent.ask(TOOL_CALL_EVENT, {
    ...ANY_REQUEST,
    req_id: "next",
  });
  await pair.computer.request("notify:barrier");
  for (const ack of acks.slice(1)) ack({ later: true });
  assertEquals(await Promise.all([...calls.slice(1, 3), next]), [
    { later: true },
    { later: true },
    { later: true },
  ]);
});

Deno.test("an office has no more members than the limit; taking over one's own seat and leaving work (spec §10)", async () => {
  await using server = createSmcpServer({ limits: { membersPerOffice: 2 } });
  const { url } = await server.listen();
  const auth = { instance_id: "i1" };
  await using agent = await joinRaw({ url, auth }, "agent", "agent", "o");
  await using computer = await joinRaw(url, "computer", "a", "o");
  await using third = await connectRaw(url);
  const full = "Room is full: it has as many members as this server allows";
  assertEquals(await third.join("computer", "b", "o"), [false, full]);
  assertEquals(await third.join("computer", "b", "elsewhere"), [true, null]);
  assertEquals(await third.join("computer", "b", "o"), [false, full]);
  const gone = agent.disconnected();
  await using back = await joinRaw({ url, auth }, "agent", "agent", "o");
  await gone;
  assertEquals(await back.request("server:leave_office", { office_id: "o" }), [
    true,
    null,
  ]);
  assertEquals(await third.join("computer", "b", "o"), [true, null]);
  assertEquals(server.stats, { connections: 3, offices: 1, members: 2 });
  void computer;
});

Deno.test("40 joins racing for 10 seats: exactly 10 succeed, and none is left over", async () => {
  await using server = createSmcpServer({
    limits: { membersPerOffice: 10, connectionsPerAddress: 200 },
  });
  const { url } = await server.listen();
  const clients = await Promise.all(
    Array.from({ length: 40 }, () => connectRaw(url)),
  );
  const answers = await Promise.all(
    clients.map((client, i) => client.join("computer", `c${i}`, "o")),
  );
  assertEquals(answers.filter(([ok]) => ok === true).length, 10);
  assertEquals(server.stats.members, 10);
  await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
});

Deno.test("a client that does not read is disconnected at the limit, and its callers are answered (spec §10)", async () => {
  await using server = createSmcpServer({ limits: { queuedBytes: 2 ** 21 } });
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "o");
  await using slow = await SlowClient.open(url);
  await slow.join("computer", "computer", "o");
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
  const codes = new Set(answers.map(codeOf));
  assertEquals([...codes], [404]);
  assertEquals(server.stats.members, 1);
  slow.resume();
  await slow.closed;
});

Deno.test("one message larger than the queue's limit is delivered", async () => {
  await using server = createSmcpServer({ limits: { queuedBytes: 1024 } });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  computer.handle(TOOL_CALL_EVENT, (payload, ack) => ack({ payload }));
  const params = { text: "x".repeat(100_000) };
  for (let i = 0; i < 3; i++) {
    const request = { ...ANY_REQUEST, params, req_id: `${i}` };
    assertEquals(await agent.ask(TOOL_CALL_EVENT, request), {
      payload: request,
    });
  }
});

Deno.test("a client that stops polling is disconnected too", async () => {
  await using server = createSmcpServer({ limits: { queuedBytes: 100_000 } });
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "o");
  const opened = await fetch(`${url}${QUERY}polling`);
  const { sid } = JSON.parse((await opened.text()).slice(1));
  const later = `${url}${QUERY}polling&sid=${sid}`;
  const say = async (body: string) =>
    await (await fetch(later, { method: "POST", body })).text();
  await say("40/smcp,");
  await (await fetch(later)).text(); // the last that it polls
  const seat = { role: "computer", name: "computer", office_id: "o" };
  await say(`42/smcp,${JSON.stringify([JOIN_OFFICE_EVENT, seat])}`);
  await agent.next(ENTER_OFFICE_NOTIFICATION);
  const params = { text: "x".repeat(30_000) };
  const answers = await Promise.all(
    Array.from(
      { length: 5 },
      (_, i) =>
        agent.ask(TOOL_CALL_EVENT, { ...ANY_REQUEST, params, req_id: `${i}` }),
    ),
  );
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

const isAnsweredOnceMore = (raw: RawFrames): Promise<boolean> =>
  raw.frame("4").then(() => true, () => false);

Deno.test({
  name:
    "a connection that requests more than 32 sessions is closed, in any namespace",
  timeout: 120_000,
}, async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  for (const namespace of ["", "/made-up,", "/smcp,"]) {
    for (const session of [undefined, "/smcp"]) {
      if (session && namespace === "/smcp,") continue; // that is another rule
      await using raw = await RawFrames.open(url, session);
      for (let i = 0; i <= 40; i++) raw.send(`40${namespace}`);
      let answers = 0;
      while (answers <= 40 && await isAnsweredOnceMore(raw)) answers++;
      assert(answers <= 33, `${answers} answers on "${namespace}"`);
    }
  }
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

Deno.test("a connection that never joins the namespace is closed after the handshake timeout (spec §10)", async () => {
  await using server = createSmcpServer({ handshakeTimeoutMs: 200 });
  const { url } = await server.listen();
  await using raw = await RawFrames.open(url);
  await raw.closed;
});

Deno.test("a request with missing headers is answered with 408 after the header timeout (spec §10)", async () => {
  await using server = createSmcpServer({ headerTimeoutMs: 200 });
  const { port } = await server.listen();
  const socket = connect(port, "127.0.0.1");
  socket.write(`GET ${QUERY}polling HTTP/1.1\r\nHost: `);
  let answer = "";
  socket.on("data", (chunk) => answer += chunk);
  await new Promise((resolve) => socket.once("close", resolve));
  assertMatch(answer, /^HTTP\/1\.1 408 /);
});

Deno.test("a polling POST with a missing body is answered with 408 after its timeout, and its session ends (spec §10)", async () => {
  await using smcp = createSmcpServer();
  const server = newServer(smcp.app, {
    headerTimeoutMs: 1_000, // enough for the requests that are not late
    bodyTimeoutMs: 100,
  });
  smcp.attach(server);
  const { url, port } = await listenOn(server, {});
  const open = await fetch(`${url}${QUERY}polling`);
  const { sid } = JSON.parse((await open.text()).slice(1));
  const poll = fetch(`${url}${QUERY}polling&sid=${sid}`); // is not late: its request is all there
  const socket = connect(port, "127.0.0.1");
  socket.write(
    `POST ${QUERY}polling&sid=${sid} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n40`,
  );
  let answer = "";
  socket.on("data", (chunk) => answer += chunk);
  await new Promise((resolve) => socket.once("close", resolve));
  assertMatch(answer, /^HTTP\/1\.1 408 /);
  await (await poll).body?.cancel();
  const gone = await fetch(`${url}${QUERY}polling&sid=${sid}`);
  assertEquals([gone.status, (await gone.json()).message], [
    400,
    "Session ID unknown",
  ]);
  await closeServer(server);
});

Deno.test("limits: false never disconnects a client that does not read", async () => {
  await using server = createSmcpServer({ limits: false });
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "o");
  await using slow = await SlowClient.open(url);
  await slow.join("computer", "computer", "o");
  slow.pause();
  // More than the socket buffers of the system take.
  const params = { text: "x".repeat(2 ** 20) };
  for (let i = 0; i < 24; i++) {
    const request = { ...ANY_REQUEST, params, req_id: `${i}` };
    void agent.ask(TOOL_CALL_EVENT, request); // never answered
  }
  await agent.request("notify:barrier");
  assertEquals(server.stats.members, 2);
});

Deno.test("limits: false removes all count and rate limits, but not the message size", async () => {
  await using server = createSmcpServer({
    limits: false,
    maxMessageBytes: 2 ** 20,
  });
  const { url } = await server.listen();
  // One after the other: on a busy machine so many at once are late for their handshakes.
  const clients: RawClient[] = [];
  while (clients.length < 130) clients.push(await connectRaw(url));
  const [agent, computer] = clients;
  assert(agent && computer);
  await agent.join("agent", "agent", "o");
  await computer.join("computer", "computer", "o");
  const request = { agent: "agent", req_id: "1", computer: "computer" };
  const acks: ((answer: unknown) => void)[] = [];
  computer.handle(GET_TOOLS_EVENT, (_payload, ack) => acks.push(ack));
  const calls = Array.from(
    { length: 300 },
    (_, i) => agent.ask(GET_TOOLS_EVENT, { ...request, req_id: `${i}` }),
  );
  await agent.request("notify:barrier");
  await computer.request("notify:barrier");
  assertEquals(acks.length, 300);
  for (const ack of acks) ack({ tools: [] });
  for (const answer of await Promise.all(calls)) {
    assertEquals(answer, { tools: [] });
  }
  const gone = agent.disconnected();
  agent.socket.emit(CANCEL_TOOL_CALL_NOTIFICATION, "x".repeat(2 ** 20));
  await gone;
  await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
});
