import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { Connection } from "../../../client/connection.ts";
import { ConnectionError } from "../../../client/errors.ts";
import {
  ENTER_OFFICE_NOTIFICATION,
  ErrorCode,
  GET_TOOLS_EVENT,
  ProtocolError,
  type Role,
  TOOL_CALL_EVENT,
} from "../../../protocol/mod.ts";
import {
  type ConnectOptions,
  InProcessDoor,
} from "../../../server/doors/in_process.ts";
import type { InProcessConnection } from "../../../shared/in_process.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { OFFICE, plainOffices } from "../../support/server/plain_offices.ts";

const MAX_PAYLOAD = 10_000;

/** A Server without sockets. */
function serve() {
  const plain = plainOffices();
  const { offices, audit } = plain;
  const door = new InProcessDoor({
    offices,
    audit: (event) => void audit.push(event),
    clock: { now: () => 0, date: () => Date.now() },
    unknownEvent: () => {},
  });
  const connect = (options: ConnectOptions = {}) =>
    door.offer(options, { url: "in process", maxPayload: MAX_PAYLOAD });
  const members = () => offices.find(OFFICE)?.members.map((m) => m.name) ?? [];
  const kick = (name: string) => {
    const office = offices.find(OFFICE);
    const member = office?.members.find((each) => each.name === name);
    if (!office || !member) throw new Error(`${name} is no member`);
    office.kick(member, { by: "operator", reason: "enough", holdMs: 0 });
  };
  return { ...plain, door, connect, members, kick };
}

function client(connection: InProcessConnection, name: string, role: Role) {
  const thrown: unknown[] = [];
  const one = new Connection(
    { connection, name, role },
    (error) => thrown.push(error),
  );
  const log: unknown[] = [];
  one.on("connected", (value) => log.push({ connected: value }));
  one.on("disconnected", (value) => log.push({ disconnected: value }));
  one.on("joined", (value) => log.push({ joined: value }));
  one.on("refused", ({ message }) => log.push({ refused: message }));
  return { one, log, thrown };
}

/** A Server with an Agent and a Computer in its office. */
async function pair(options: ConnectOptions = {}) {
  const server = serve();
  const computer = client(server.connect(options), "pc", "computer");
  const agent = client(server.connect(options), "planner", "agent");
  for (const { one } of [computer, agent]) {
    await one.connect();
    await one.join(OFFICE);
  }
  const [asked, told] = [agent.one, computer.one];
  const call = (req_id: string, timeoutMs = 5000) =>
    asked.request(TOOL_CALL_EVENT, {
      ...ANY_REQUEST,
      ...{ agent: "planner", computer: "pc", req_id },
    }, { timeoutMs });
  const close = async () => {
    await asked.close();
    await told.close();
  };
  return { server, agent, computer, call, close };
}

const next = <E extends "connected" | "disconnected" | "joined" | "refused">(
  { one }: { one: Connection },
  event: E,
) => new Promise<void>((resolve) => one.on(event, () => resolve()));

Deno.test("clients in process join, call and are notified in order, and close() frees the seat (spec §5, §9)", async () => {
  const { server, agent, computer, call, close } = await pair();
  const order: unknown[] = [];
  computer.one.onRequest((_event, payload) => {
    order.push(Object(payload).req_id);
    return { content: [] };
  });
  agent.one.on("notification", ({ event }) => order.push(event));
  const calls = ["1", "2"].map((id) => call(id).then((answer) => answer));
  assertEquals(await Promise.all(calls), [{ content: [] }, { content: [] }]);
  server.join("computer", "other");
  await call("3");
  assertEquals(order, ["1", "2", ENTER_OFFICE_NOTIFICATION, "3"]);
  assertEquals([agent.one.protocol, agent.one.maxPayload], [
    "0.4",
    MAX_PAYLOAD,
  ]);
  await agent.one.close();
  assertEquals(server.members(), ["pc", "other"]);
  await close();
  assertEquals([server.members(), server.door.open.length], [["other"], 0]);
  assertEquals(agent.log, [
    { connected: { reconnected: false } },
    { joined: { office: OFFICE, rejoined: false } },
    { disconnected: { reason: "closed by this client", reconnecting: false } },
  ]);
  assertEquals([...agent.thrown, ...computer.thrown], []);
});

Deno.test("a client in process that is kicked reconnects and rejoins; its pending request is answered before (spec §5, §9)", async () => {
  const { server, agent, computer, call, close } = await pair();
  const asked = Promise.withResolvers<void>();
  computer.one.onRequest(() => {
    asked.resolve();
    return new Promise(() => {});
  });
  const pending = assertRejects(() => call("1"), ProtocolError, "enough");
  await asked.promise;
  const back = next(agent, "joined");
  server.kick("planner");
  await pending;
  assertEquals(agent.one.state, "reconnecting");
  await assertRejects(() => call("2"), ConnectionError, "being restored");
  await back;
  computer.one.onRequest(() => ({ content: [] }));
  assertEquals(await call("3"), { content: [] });
  assertEquals(agent.log.slice(2).map((each) => Object.keys(Object(each))), [
    ["disconnected"],
    ["connected"],
    ["joined"],
  ]);
  await close();
});

Deno.test("a client in process that closes after a kick does not reconnect", async () => {
  const { server, agent, close } = await pair();
  const gone = next(agent, "disconnected");
  agent.one.on("disconnected", () => agent.one.close());
  server.kick("planner");
  await gone;
  await close();
  assertEquals([agent.one.state, server.door.open.length], ["closed", 0]);
});

Deno.test("a client in process takes its own seat over with another connection, and the former one ends (spec §9)", async () => {
  const server = serve();
  const ends: { reason: string; isFinal: boolean }[] = [];
  const connection = server.connect();
  const open = () =>
    connection.open({ role: "agent", instance: "i" }, {
      receive: () => {},
      closed: (reason, isFinal) => void ends.push({ reason, isFinal }),
    });
  const join = (end: ReturnType<typeof open>) =>
    new Promise((resolve) =>
      end.send("server:join_office", {
        ...{ role: "agent", name: "planner", office_id: OFFICE },
      }, ([ok]) => resolve(ok))
    );
  assertEquals(await join(open()), true);
  const second = open();
  assertEquals(await join(second), true);
  assertEquals(ends, [{
    reason: "its client joined with another connection",
    isFinal: true,
  }]);
  await second.close();
  assertEquals(server.door.open.length, 0);
});

Deno.test("a client in process ends when its Server closes, and cannot connect again", async () => {
  const { server, agent, computer, close } = await pair();
  const refused = next(computer, "disconnected");
  await server.offices.drain(0);
  server.door.close("server shutting down");
  await refused;
  for (const { one, log } of [agent, computer]) {
    assertEquals(one.state, "closed");
    assertEquals(log.at(-1), {
      disconnected: { reason: "server shutting down", reconnecting: false },
    });
    const error = await assertRejects(() => one.connect(), ProtocolError);
    assertEquals(error.code, ErrorCode.INTERNAL_ERROR);
  }
  assertThrows(() => server.connect(), ProtocolError, "shutting down");
  await close();
});

Deno.test("a kicked client in process whose Server closes meanwhile ends with its error", async () => {
  const { server, agent, close } = await pair();
  const kicked = next(agent, "disconnected");
  server.kick("planner");
  await kicked;
  const refused = next(agent, "refused");
  server.door.close("server shutting down");
  await refused;
  assertEquals(agent.one.state, "closed");
  await close();
});

Deno.test("a request in process ends at its timeout, its abort and the end of its connection; late answers are dropped (spec §7, §9)", async () => {
  const { agent, computer, call, close } = await pair();
  const answers: ((value: unknown) => void)[] = [];
  computer.one.onRequest(() => new Promise((resolve) => answers.push(resolve)));
  await assertRejects(() => call("1", 1), ConnectionError, "within 0.001 s");
  const abort = new AbortController();
  const reason = new Error("not needed");
  const aborted = assertRejects(
    () =>
      agent.one.request(GET_TOOLS_EVENT, {
        ...{ agent: "planner", computer: "pc", req_id: "2" },
      }, { timeoutMs: 5000, signal: abort.signal }),
    Error,
    "not needed",
  );
  abort.abort(reason);
  await aborted;
  for (const answer of answers) answer({ content: ["late"] });
  computer.one.onRequest(() => ({ content: [] }));
  assertEquals(await call("3"), { content: [] });
  computer.one.onRequest(() => new Promise(() => {}));
  const lost = assertRejects(() => call("4"), ConnectionError, "was lost");
  await close();
  await lost;
});

Deno.test("a request in process that is too large, or no JSON, is not sent (spec §9)", async () => {
  const { agent, close } = await pair();
  const ask = (params: unknown) =>
    agent.one.request(TOOL_CALL_EVENT, { ...ANY_REQUEST, params }, {
      timeoutMs: 5000,
    });
  const error = await assertRejects(
    () => ask({ text: "x".repeat(MAX_PAYLOAD) }),
    ConnectionError,
  );
  assertEquals(error.code, "too_large");
  await assertRejects(() => ask({ big: 1n }), TypeError, "as JSON");
  await close();
});

Deno.test("the identity of a client in process restricts what it joins as, until it expires (spec §10)", async () => {
  const server = serve();
  const identity = { principal: "k", policy: { offices: ["south"] } };
  const { one } = client(server.connect({ identity }), "pc", "computer");
  await one.connect();
  await assertRejects(
    () => one.join(OFFICE),
    ConnectionError,
    "Not allowed to join this office",
  );
  await one.join("south");
  await one.close();
  const expiresAt = Date.now() + 50;
  const brief = client(
    server.connect({ identity: { ...identity, expiresAt } }),
    "pc",
    "computer",
  );
  const hold = setTimeout(() => {}, 60_000); // the timer of an expiry keeps no process
  await brief.one.connect();
  await next(brief, "refused");
  clearTimeout(hold);
  assertEquals(brief.log.slice(1), [
    {
      disconnected: { reason: "its credentials expired", reconnecting: true },
    },
    { disconnected: { reason: "Authentication failed", reconnecting: false } },
    { refused: "Authentication failed" },
  ]);
  await brief.one.close();
});

Deno.test("connect() refuses options that cannot be used", () => {
  const { connect } = serve();
  const wrong = (options: unknown) => () =>
    Reflect.apply(connect, undefined, [options]);
  assertThrows(
    wrong({ protocol: "0.1" }),
    TypeError,
    'Cannot connect with the protocol "0.1": expected "0.2", "0.3" or "0.4"',
  );
  assertThrows(wrong({ identity: {} }), TypeError, "without principal");
});

Deno.test("clients that answer each other without end do not stop timers", async () => {
  const { computer, call, close } = await pair();
  computer.one.onRequest(() => ({ content: [] }));
  let isTimeUp = false;
  const timer = setTimeout(() => isTimeUp = true, 1);
  let calls = 0;
  while (!isTimeUp && calls < 100_000) await call(String(calls++));
  clearTimeout(timer);
  assertEquals(isTimeUp, true);
  await close();
});
