import { assert, assertEquals } from "@std/assert";
import { once } from "node:events";
import { connect } from "node:net";
import { apiKeys } from "../../../../server/mod.ts";
import { captureLog } from "../../../support/log_capture.ts";
import {
  nextRequest,
  openEvents,
  operate,
  operated,
  TOKEN,
} from "../../../support/server/operator_client.ts";

const CALL = {
  agent: "planner",
  req_id: "r1",
  computer: "pc",
  tool_name: "echo",
  params: { text: "hi" },
  timeout: 60,
};

/** The fields of an event that are the same in each run. */
const steady = (
  { at, ms, bytes, address, socket, ...rest }: Record<string, unknown>,
): Record<string, unknown> => {
  const types = [ms, bytes, address, socket].map((each) => typeof each)
    .filter((type) => type !== "undefined");
  return { ...rest, types: [typeof at, ...types].join() };
};

Deno.test("the stream has members that come and go, and each call, also the end of one that began before", async () => {
  await using office = await operated();
  const computer = await office.join("computer", "pc");
  const agent = await office.join("agent", "planner");
  const called = nextRequest(computer);
  const answer = agent.ask("client:tool_call", { ...CALL, req_id: "r0" });
  const { ack } = await called;
  const events = await office.events();
  assertEquals((await events.next()).data, { missed: false });
  ack({ content: [] });
  await answer;
  computer.handle("client:tool_call", (_, ack) => ack({ content: [] }));
  await agent.ask("client:tool_call", CALL);
  await agent[Symbol.asyncDispose]();
  await office.join("agent", "planner");
  const seen = [];
  for (let i = 0; i < 5; i++) seen.push(steady((await events.next()).data));
  const call = {
    office: "north",
    agent: "planner",
    computer: "pc",
    req_id: "r1",
    request: "client:tool_call",
    tool: "echo",
  };
  const ended = { event: "call_ended", ...call, outcome: "ok" };
  const planner = { office: "north", role: "agent", name: "planner" };
  assertEquals(seen, [
    { ...ended, req_id: "r0", types: "string,number,number" },
    { event: "call_began", ...call, types: "string,number" },
    { ...ended, types: "string,number,number" },
    { event: "left", ...planner, types: "string,string,string" },
    { event: "joined", ...planner, types: "string,string,string" },
  ]);
});

Deno.test("contents of calls are in stream and log only where payloads are audited, and in the stream only small ones", async () => {
  for (const auditPayloads of [false, true]) {
    using log = captureLog();
    await using office = await operated({ auditPayloads });
    const events = await office.events();
    const computer = await office.join("computer", "pc");
    const agent = await office.join("agent", "planner");
    for (const text of ["done", "x".repeat(20_000)]) {
      const content = [{ type: "text", text }];
      computer.handle("client:tool_call", (_, ack) => ack({ content }));
      await agent.ask("client:tool_call", CALL);
      const { params } = (await events.nextOf("call_began")).data;
      assertEquals(params, auditPayloads ? CALL.params : undefined);
      const { result, bytes } = (await events.nextOf("call_ended")).data;
      const isShown = auditPayloads && text === "done";
      assertEquals(result, isShown ? { content } : undefined);
      assert(Number(bytes) > text.length);
    }
    await office.post("/offices/north/computers/pc/call", { tool_name: "a" });
    const { data } = await events.nextOf("call_ended");
    const line = log.audit.find(({ event }) => event === "operator_asked");
    assertEquals([data.principal, line?.by], ["operator", "operator"]);
    assertEquals(line?.result !== undefined, auditPayloads);
  }
});

Deno.test("a stream goes on where another one ended, and says when it cannot", async () => {
  await using office = await operated();
  const first = await office.events();
  await first.next();
  await office.join("computer", "pc");
  const { id } = await first.nextOf("joined");
  await first[Symbol.asyncDispose]();
  await office.join("computer", "second");
  const again = await office.events({ lastEventId: id });
  assertEquals((await again.next()).data, { missed: false });
  assertEquals((await again.next()).data.name, "second");
  for (const lastEventId of [`${id}99`, "other.1", "nonsense"]) {
    const lost = await office.events({ lastEventId });
    assertEquals((await lost.next()).data, { missed: true }, lastEventId);
  }
});

Deno.test("a stream has only events of offices that its operator sees and asked for; the Server's own log is in those of all offices", async () => {
  using log = captureLog();
  await using office = await operated({
    authenticator: apiKeys([
      { id: "all", key: "all" },
      { id: "north", key: "north", roles: ["operator"], offices: ["north"] },
    ]),
  });
  const { url } = office;
  await using restricted = await openEvents(url, { token: "north" });
  const asked = await office.events({ office: "north" });
  const all = await office.events();
  for (const stream of [restricted, asked, all]) await stream.nextOf("open");
  await operate(url, "/status", { token: "unknown" }); // an event of no office
  const auth = { auth: { api_key: "all" } };
  const south = await office.join("computer", "s", auth);
  await south.join("computer", "s", "south");
  await south.ask("server:nonsense", {});
  await office.join("computer", "n", auth);
  for (const stream of [restricted, asked]) {
    const seen = [];
    for (let i = 0; i < 3; i++) {
      const { kind, data } = await stream.next();
      seen.push(`${kind} ${data.name}`);
    }
    assertEquals(seen, ["joined s", "left s", "joined n"]);
  }
  const events = [];
  for (let i = 0; i < 6; i++) events.push(await all.next());
  const kinds = ["handshake_refused", "joined", "left", "joined", "log"];
  assertEquals(events.map(({ kind }) => kind), [...kinds, "joined"]);
  const { at: _, ...line } = events[4]?.data ?? {};
  assertEquals(line, {
    event: "log",
    level: "warning",
    message: 'Unknown event "server:nonsense"',
    fields: { name: "server:nonsense", socket: south.socket.id },
  });
  assert(log.text.includes("server:nonsense"));
});

const OPS = { id: "ops", key: "ops", roles: ["operator"] } as const;

Deno.test("a stream ends with the credentials that it was opened with", async () => {
  let keys = apiKeys([OPS]);
  await using office = await operated({
    authenticator: {
      authenticate: (credentials) => keys.authenticate(credentials),
      refresh: (identity) => keys.refresh?.(identity),
      hasOperators: () => true,
    },
  });
  for (const changed of [[], [{ ...OPS, offices: ["south"] }]]) {
    keys = apiKeys([OPS]);
    const events = await openEvents(office.url, { token: "ops" });
    await events.next();
    keys = apiKeys(changed);
    await office.server.recheckSessions();
    await events.ended().catch(() => {}); // its connection is cut
  }
});

Deno.test("at a shutdown a stream says so, and ends", async () => {
  await using office = await operated();
  const events = await office.events();
  await events.next();
  const closed = office.server.close();
  const { data } = await events.nextOf("end");
  assertEquals(data, { reason: "the server is shutting down" });
  await events.ended();
  await closed;
});

Deno.test("a connection that does not read its stream is cut, while others go on", async () => {
  await using office = await operated({
    auditPayloads: true,
    limits: { eventsPerSecond: 100_000 }, // however fast the machine is
  });
  const { hostname, port } = new URL(office.url);
  const stalled = connect(Number(port), hostname);
  const closed = new Promise((resolve) => stalled.once("close", resolve));
  stalled.on("error", () => {}); // it may be reset
  stalled.write(
    `GET /operator/v1/events HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
  );
  await once(stalled, "data");
  stalled.pause();
  const events = await office.events();
  const computer = await office.join("computer", "pc");
  computer.handle("client:tool_call", (_, ack) => ack({ content: [] }));
  const agent = await office.join("agent", "planner");
  const call = (req_id: string, text = "") =>
    agent.ask("client:tool_call", { ...CALL, req_id, params: { text } });
  const streams = async () =>
    (await office.get("/status")).body.process.streams;
  const large = "x".repeat(15_000);
  let sent = 0;
  while (sent < 10_000 && await streams() === 2) {
    await Promise.all(
      Array.from({ length: 100 }, () => call(`r${sent++}`, large)),
    );
    for (let i = 0; i < 100; i++) await events.nextOf("call_ended");
  }
  assertEquals(await streams(), 1);
  stalled.resume();
  await closed;
  await call("last");
  assertEquals((await events.nextOf("call_ended")).data.req_id, "last");
});

Deno.test("a HEAD request opens no stream", async () => {
  await using office = await operated();
  const response = await fetch(`${office.url}/operator/v1/events`, {
    method: "HEAD",
    headers: { Authorization: `Bearer ${TOKEN}` },
  });
  assertEquals([response.status, await response.text()], [200, ""]);
  assertEquals((await office.get("/status")).body.process.streams, 0);
});
