import { assert, assertEquals } from "@std/assert";
import { connect } from "node:net";
import { once } from "node:events";
import { TOOL_CALL_EVENT } from "../../../../protocol/mod.ts";
import { apiKeys, createSmcpServer } from "../../../../server/mod.ts";
import { captureLog } from "../../../support/log_capture.ts";
import {
  openEvents,
  operate,
} from "../../../support/server/operator_client.ts";
import { joinRaw } from "../../../support/wire/raw_client.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const operator = { token: TOKEN };

const call = (req_id: string) => ({
  agent: "planner",
  req_id,
  computer: "pc",
  tool_name: "echo",
  params: { text: "hi" },
  timeout: 60,
});

/** The fields of an event that are the same in each run. */
const steady = (
  { at, ms, bytes, address, socket, ...rest }: Record<string, unknown>,
) => {
  assert(typeof at === "string");
  for (const each of [ms, bytes]) {
    assert(each === undefined || typeof each === "number");
  }
  for (const each of [address, socket]) {
    assert(each === undefined || typeof each === "string");
  }
  return rest;
};

Deno.test("the stream tells who comes and goes, and of each call", async () => {
  await using server = createSmcpServer({ operator });
  const { url } = await server.listen();
  await using events = await openEvents(url, operator);
  assertEquals((await events.next()).data, { missed: false });
  await using computer = await joinRaw(url, "computer", "pc", "north");
  computer.handle(TOOL_CALL_EVENT, (_request, ack) => ack({ content: [] }));
  const agent = await joinRaw(url, "agent", "planner", "north");
  await agent.ask(TOOL_CALL_EVENT, call("r1"));
  await agent[Symbol.asyncDispose]();
  const seen = [];
  for (let i = 0; i < 5; i++) seen.push(steady((await events.next()).data));
  const about = {
    office: "north",
    agent: "planner",
    computer: "pc",
    req_id: "r1",
    request: TOOL_CALL_EVENT,
    tool: "echo",
  };
  const pc = { office: "north", role: "computer", name: "pc" };
  const planner = { ...pc, role: "agent", name: "planner" };
  assertEquals(seen, [
    { event: "joined", ...pc },
    { event: "joined", ...planner },
    { event: "call_began", ...about },
    { event: "call_ended", ...about, outcome: "ok" },
    { event: "left", ...planner },
  ]);
});

Deno.test("the end of a call that began before anybody looked is in the stream, with what is known of the call", async () => {
  await using server = createSmcpServer({ operator });
  const { url } = await server.listen();
  await using computer = await joinRaw(url, "computer", "pc", "north");
  const called = Promise.withResolvers<(answer: unknown) => void>();
  computer.handle(TOOL_CALL_EVENT, (_request, ack) => called.resolve(ack));
  await using agent = await joinRaw(url, "agent", "planner", "north");
  const answer = agent.ask(TOOL_CALL_EVENT, call("r1"));
  const ack = await called.promise;
  await using events = await openEvents(url, operator);
  await events.nextOf("open");
  ack({ content: [] });
  await answer;
  assertEquals(steady((await events.next()).data), {
    event: "call_ended",
    office: "north",
    agent: "planner",
    computer: "pc",
    req_id: "r1",
    request: TOOL_CALL_EVENT,
    tool: "echo",
    outcome: "ok",
  });
});

Deno.test("contents of calls are in the stream only where payloads are audited", async () => {
  await using server = createSmcpServer({ operator, auditPayloads: true });
  const { url } = await server.listen();
  await using events = await openEvents(url, operator);
  await events.next();
  await using computer = await joinRaw(url, "computer", "pc", "north");
  const large = "x".repeat(20_000);
  computer.handle(
    TOOL_CALL_EVENT,
    (_request, ack) => ack({ content: [{ type: "text", text: large }] }),
  );
  await using agent = await joinRaw(url, "agent", "planner", "north");
  await agent.ask(TOOL_CALL_EVENT, call("r1"));
  assertEquals((await events.nextOf("call_began")).data.params, { text: "hi" });
  const ended = (await events.nextOf("call_ended")).data;
  assertEquals(ended.result, undefined, "it is too large to be kept");
  assert(Number(ended.bytes) > large.length);
});

Deno.test("a stream goes on where another one ended, and says when it cannot", async () => {
  await using server = createSmcpServer({ operator });
  const { url } = await server.listen();
  const first = await openEvents(url, operator);
  await first.next();
  await using _pc = await joinRaw(url, "computer", "pc", "north");
  const { id } = await first.nextOf("joined");
  await first[Symbol.asyncDispose]();
  await using _second = await joinRaw(url, "computer", "second", "north");
  await using again = await openEvents(url, { ...operator, lastEventId: id });
  assertEquals((await again.next()).data, { missed: false });
  assertEquals((await again.next()).data.name, "second");
  for (const lastEventId of [`${id}99`, "other.1", "nonsense"]) {
    await using lost = await openEvents(url, { ...operator, lastEventId });
    assertEquals((await lost.next()).data, { missed: true }, lastEventId);
  }
});

Deno.test("a stream has only the events of offices that its operator sees, and that it asked for", async () => {
  await using server = createSmcpServer({
    operator,
    authenticator: apiKeys([
      { id: "all", key: "all" },
      { id: "south", key: "south", roles: ["operator"], offices: ["south"] },
    ]),
  });
  const { url } = await server.listen();
  await using restricted = await openEvents(url, { token: "south" });
  await using asked = await openEvents(url, { ...operator, office: "south" });
  await using all = await openEvents(url, operator);
  await operate(url, "/status", { token: "unknown" }); // an event of no office
  const auth = { auth: { api_key: "all" } };
  await using _north = await joinRaw(
    { url, ...auth },
    "computer",
    "n",
    "north",
  );
  await using _south = await joinRaw(
    { url, ...auth },
    "computer",
    "s",
    "south",
  );
  for (const stream of [restricted, asked]) {
    await stream.next();
    assertEquals((await stream.next()).data.name, "s");
  }
  const kinds = [];
  for (let i = 0; i < 4; i++) kinds.push((await all.next()).kind);
  assertEquals(kinds, ["open", "handshake_refused", "joined", "joined"]);
});

Deno.test("the Server's own log is in the streams of operators of all offices, and stays in the log", async () => {
  using log = captureLog();
  await using server = createSmcpServer({
    operator,
    authenticator: apiKeys([
      { id: "all", key: "all" },
      { id: "north", key: "north", roles: ["operator"], offices: ["north"] },
    ]),
  });
  const { url } = await server.listen();
  await using all = await openEvents(url, operator);
  await using restricted = await openEvents(url, { token: "north" });
  const auth = { auth: { api_key: "all" } };
  await using client = await joinRaw(
    { url, ...auth },
    "computer",
    "pc",
    "north",
  );
  assertEquals((await restricted.nextOf("joined")).data.name, "pc");
  await client.ask("server:nonsense", {});
  const { at: _, ...line } = (await all.nextOf("log")).data;
  assertEquals(line, {
    event: "log",
    level: "warning",
    message: 'Unknown event "server:nonsense"',
    fields: { name: "server:nonsense", socket: client.socket.id },
  });
  assert(log.text.includes("server:nonsense"));
  await using _second = await joinRaw(
    { url, ...auth },
    "computer",
    "pc2",
    "north",
  );
  assertEquals((await restricted.next()).data.name, "pc2");
});

Deno.test("a stream ends with the credentials that it was opened with", async () => {
  let keys = apiKeys([{ id: "ops", key: "ops", roles: ["operator"] }]);
  await using server = createSmcpServer({
    authenticator: {
      authenticate: (credentials) => keys.authenticate(credentials),
      refresh: (identity) => keys.refresh?.(identity),
      hasOperators: () => true,
    },
  });
  const { url } = await server.listen();
  const events = await openEvents(url, { token: "ops" });
  await events.next();
  keys = apiKeys([{ id: "other", key: "other" }]);
  await server.recheckSessions();
  await events.ended().catch(() => {}); // its connection is cut
});

Deno.test("at a shutdown a stream says so, and ends", async () => {
  const server = createSmcpServer({ operator });
  const { url } = await server.listen();
  await using events = await openEvents(url, operator);
  await events.next();
  const closed = server.close();
  assertEquals((await events.nextOf("end")).data, {
    reason: "the server is shutting down",
  });
  await events.ended();
  await closed;
});

Deno.test("a connection that does not read its stream is cut, while others go on", async () => {
  await using server = createSmcpServer({
    operator,
    auditPayloads: true,
    limits: { eventsPerSecond: 100_000 }, // however fast the machine is
  });
  const { url } = await server.listen();
  const { hostname, port } = new URL(url);
  const stalled = connect(Number(port), hostname);
  const closed = new Promise((resolve) => stalled.once("close", resolve));
  stalled.on("error", () => {}); // it may be reset
  stalled.write(
    `GET /operator/v1/events HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
  );
  await once(stalled, "data");
  stalled.pause();
  await using events = await openEvents(url, operator);
  await events.next();
  await using computer = await joinRaw(url, "computer", "pc", "north");
  computer.handle(TOOL_CALL_EVENT, (_request, ack) => ack({ content: [] }));
  await using agent = await joinRaw(url, "agent", "planner", "north");
  const params = { text: "x".repeat(15_000) };
  const streams = async () =>
    (await operate(url, "/status", operator)).body.process.streams;
  let sent = 0;
  while (sent < 10_000 && await streams() === 2) {
    await Promise.all(
      Array.from(
        { length: 100 },
        () => agent.ask(TOOL_CALL_EVENT, { ...call(`r${sent++}`), params }),
      ),
    );
    for (let i = 0; i < 100; i++) await events.nextOf("call_ended");
  }
  assertEquals(await streams(), 1);
  stalled.resume();
  await closed;
  await agent.ask(TOOL_CALL_EVENT, call("last"));
  assertEquals((await events.nextOf("call_ended")).data.req_id, "last");
});

Deno.test("a HEAD request opens no stream", async () => {
  await using server = createSmcpServer({ operator });
  const { url } = await server.listen();
  const response = await fetch(`${url}/operator/v1/events`, {
    method: "HEAD",
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
  assertEquals([response.status, await response.text()], [200, ""]);
  const { body } = await operate(url, "/status", operator);
  assertEquals(body.process.streams, 0);
});
