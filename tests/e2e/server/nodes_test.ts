import { assert, assertEquals } from "@std/assert";
import {
  CLIENT_EVENTS,
  eventOf,
  PROFILES,
  type Role,
} from "../../../protocol/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { Bus } from "../../support/cluster/bus.ts";
import { nextRequest } from "../../support/server/operator_client.ts";
import {
  connectRaw,
  joinRaw,
  type RawClient,
} from "../../support/wire/raw_client.ts";

// What passes between the nodes of a cluster, here through memory; tests/cluster has the real Redis.

const REQUEST = {
  ...ANY_REQUEST,
  params: { deep: [{ a: null }], list: [] },
  later_field: { kept: [true] },
};
const LIST = { agent: "agent", office_id: "office", req_id: "r" };
const ENTER = "notify:enter_office";
const LEAVE = "notify:leave_office";

const call = (agent: RawClient, computer = "computer", over = {}) =>
  agent.ask("client:tool_call", { ...REQUEST, computer, ...over });

const failureOf = (answer: unknown) => {
  const { code, reason } = answer as { code?: number; reason?: string };
  return { code, reason };
};
const GONE = { code: 404, reason: "computer disconnected" };

const leave = (client: RawClient, office_id = "office") =>
  client.request("server:leave_office", { office_id });

/** Two nodes without members. */
async function emptyNodes() {
  const bus = new Bus();
  const stack = new AsyncDisposableStack();
  const serve = async (name: string) => {
    const { server, url } = await bus.serve(name);
    stack.defer(() => server.close({ graceMs: 0 }));
    return {
      server,
      connect: async () => stack.use(await connectRaw(url)),
      join: async (role: Role, name: string, office = "office", auth = {}) =>
        stack.use(await joinRaw({ url, auth }, role, name, office)),
    };
  };
  return {
    bus,
    serve,
    left: await serve("left"),
    right: await serve("right"),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Two nodes: an Agent on one, which was notified of a Computer on the other. */
async function twoNodes() {
  const nodes = await emptyNodes();
  const agent = await nodes.left.join("agent", "agent");
  const computer = await nodes.right.join("computer", "computer");
  await agent.next(ENTER);
  return { ...nodes, agent, computer };
}

const eventsOf = ({ heard }: RawClient) => heard.map(({ event }) => event);

Deno.test("nodes: all client events are routed to another node, request and answer unchanged (protocol §3, §7)", async () => {
  await using nodes = await twoNodes();
  const { agent, computer } = nodes;
  const routed = Object.keys(CLIENT_EVENTS)
    .filter((event) => eventOf(PROFILES["0.2"], event) !== undefined);
  for (const event of routed) {
    const asked = nextRequest(computer, event);
    const answer = { content: [], event, nested: { list: [1, "2", null] } };
    const answered = agent.ask(event, REQUEST);
    const { payload, ack } = await asked;
    ack(answer);
    assertEquals([payload, await answered], [REQUEST, answer], event);
  }
});

Deno.test("nodes: bytes, large texts and empty acks are the same as on one node", async () => {
  await using nodes = await twoNodes();
  const got: unknown[] = [];
  const text = { text: "ä".repeat(300_000) };
  const error = { content: [], isError: true, meta: { a2c_error_code: 4002 } };
  const bytes = new Uint8Array([1, 2, 3]);
  for (const answer of [[text], [error], [{ bytes }], [], ["no object"]]) {
    nodes.computer.handle("client:tool_call", (_, ack) => ack(...answer));
    got.push(await call(nodes.agent));
  }
  assertEquals(got.slice(0, 2), [text, error]);
  assertEquals(new Uint8Array(Object(got[2]).bytes), bytes);
  assertEquals(got.slice(3).map((wrong) => failureOf(wrong).code), [500, 500]);
});

Deno.test("nodes: a cancel reaches the Computer after its call, progress and waits its Agent before the answer, updates everybody", async () => {
  await using nodes = await twoNodes();
  const { agent, computer } = nodes;
  const asked = nextRequest(computer);
  const answer = call(agent, "computer", { progress: "waiting" });
  const cancel = { agent: "agent", req_id: "r1" };
  agent.socket.emit("server:tool_call_cancel", cancel);
  assertEquals(await computer.next("notify:tool_call_cancel"), cancel);
  const { ack } = await asked;
  const progress = {
    ...cancel,
    computer: "computer",
    progress: 0,
    message: "waits at computer",
    waiting: "confirmation",
  };
  computer.socket.emit("server:tool_call_progress", progress);
  ack({ content: [] });
  assertEquals(await answer, { content: [] });
  assertEquals(agent.heard, [
    // Its own cancel, as for every member.
    { event: "notify:tool_call_cancel", payload: cancel },
    { event: "notify:tool_call_progress", payload: progress },
  ]);
  computer.socket.emit("server:update_tool_list", { computer: "computer" });
  assertEquals(
    await agent.next("notify:update_tool_list"),
    { computer: "computer" },
  );
});

Deno.test("nodes: many calls at once have each its own answer, and each cancel comes after its call and before the next one", async () => {
  await using nodes = await twoNodes();
  const { agent, computer } = nodes;
  const order: string[] = [];
  const note = (event: string, prefix: string) =>
    computer.handle(event, (payload, ack) => {
      const { req_id, params } = Object(payload);
      order.push(prefix + req_id);
      ack?.({ content: [], req_id, length: params?.text.length });
    });
  note("client:tool_call", "");
  note("notify:tool_call_cancel", "cancel ");
  const ids = Array.from({ length: 50 }, (_, i) => `c${i}`);
  const text = "é".repeat(500_000); // 1 MB
  const answers = ids.map((req_id, i) => {
    const params = { text: i % 25 ? "" : text };
    const answer = call(agent, "computer", { req_id, params });
    agent.socket.emit("server:tool_call_cancel", { agent: "agent", req_id });
    return answer;
  });
  assertEquals(
    await Promise.all(answers),
    ids.map((req_id, i) => (
      { content: [], req_id, length: i % 25 ? 0 : text.length }
    )),
  );
  while (order.length < 100) await computer.request("server:odd");
  assertEquals(order, ids.flatMap((id) => [id, `cancel ${id}`]));
});

Deno.test("nodes: a Computer that leaves or is gone ends the calls to it, and its office is notified once", async () => {
  for (const way of ["leaves", "is gone"] as const) {
    await using nodes = await twoNodes();
    const { agent, computer } = nodes;
    const asked = nextRequest(computer);
    const answer = call(agent);
    await asked;
    if (way === "leaves") await leave(computer);
    else computer.socket.disconnect();
    assertEquals(failureOf(await answer), GONE, way);
    await agent.heardOf(LEAVE);
    await nodes.left.join("computer", "computer");
    await agent.heardOf(ENTER);
    assertEquals(eventsOf(agent), [LEAVE, ENTER], way);
  }
});

Deno.test("nodes: a seat is taken over from another node: leave, enter, the old connection closed, calls reach the new one (protocol §9)", async () => {
  await using nodes = await emptyNodes();
  const { left, right } = nodes;
  const agent = await left.join("agent", "agent");
  const auth = { instance_id: "instance-of-the-computer" };
  const old = await right.join("computer", "computer", "office", auth);
  await agent.next(ENTER);
  const closed = old.disconnected();
  const back = await left.join("computer", "computer", "office", auth);
  await closed;
  await agent.heardOf(ENTER);
  assertEquals(eventsOf(agent), [LEAVE, ENTER]);
  back.handle("client:tool_call", (_, ack) => ack({ from: "back" }));
  assertEquals(await call(agent), { from: "back" });
  // A stranger does not get it.
  const stranger = await right.connect();
  const [ok] = await stranger.join("computer", "computer", "office");
  assertEquals(ok, false);
});

Deno.test("nodes: what cannot be sent to another node ends with 500, and calls on the same node go on", async () => {
  await using nodes = await twoNodes();
  const { bus, left, agent, computer } = nodes;
  const near = await left.join("computer", "near");
  near.handle("client:tool_call", (_, ack) => ack({ from: "near" }));
  bus.isConnected = false;
  const away = { code: 500, reason: "node unreachable" };
  assertEquals(failureOf(await call(agent)), away);
  assertEquals(await call(agent, "near"), { from: "near" });
  bus.isConnected = true;
  computer.handle("client:tool_call", (_, ack) => ack({ from: "far" }));
  assertEquals(await call(agent), { from: "far" });
});

Deno.test("nodes: a node that is silent ends its calls with 404 and frees its seats; its clients rejoin", async () => {
  await using nodes = await twoNodes();
  const { bus, right, agent, computer } = nodes;
  const asked = nextRequest(computer);
  const running = call(agent);
  await asked;
  const closed = computer.disconnected();
  bus.lose("left", "right");
  assertEquals(failureOf(await running), GONE);
  assertEquals(await closed, "transport close");
  const again = await right.join("computer", "computer");
  again.handle("client:tool_call", (_, ack) => ack({ from: "again" }));
  assertEquals(await call(agent), { from: "again" });
  assertEquals(eventsOf(agent), [LEAVE, ENTER]);
});

Deno.test("nodes: a fenced node closes all connections; its offices move, with the members of other nodes", async () => {
  for (const fenced of ["left", "right"]) {
    await using nodes = await twoNodes();
    const { bus, left, right, agent, computer } = nodes;
    const other = await left.join("agent", "agent", "of left");
    assertEquals(bus.homeOf("office"), "left");
    const pending = call(agent);
    const closed = computer.disconnected();
    bus.fence(fenced);
    assertEquals(await closed, "transport close");
    if (fenced === "right") {
      assertEquals(failureOf(await pending).code, 404);
      await agent.heardOf(LEAVE);
      assertEquals(other.socket.connected, true);
      continue;
    }
    await agent.disconnected();
    await other.disconnected();
    await right.join("computer", "computer");
    assertEquals(bus.homeOf("office"), "right");
  }
});

Deno.test("nodes: an office lives where it was joined first, until its last member has left", async () => {
  await using nodes = await emptyNodes();
  const { bus, left, right } = nodes;
  const first = await left.join("computer", "first");
  const second = await right.join("computer", "second");
  await leave(first);
  assertEquals(bus.homeOf("office"), "left");
  await leave(second);
  assertEquals(bus.homeOf("office"), undefined);
  const third = await right.join("computer", "third");
  assertEquals(bus.homeOf("office"), "right");
  // A join that is refused does not keep it, and one that races with the end gets a home.
  const races = await Promise.all([
    leave(third),
    first.join("computer", "first", "office"),
    second.join("computer", "second", "office"),
  ]);
  assertEquals(races.map(([ok]) => ok), [true, true, true]);
  const agent = await left.join("agent", "agent");
  const { sessions } = Object(await agent.ask("server:list_room", LIST));
  assertEquals(sessions.length, 3);
});

Deno.test("nodes: a member that moves to an office at another node leaves its old one first, and keeps it when refused (protocol §5)", async () => {
  await using nodes = await emptyNodes();
  const { left, right } = nodes;
  const order: string[] = [];
  const old = await left.join("agent", "agent", "old");
  const next = await right.join("agent", "agent", "next");
  old.socket.onAny((event) => order.push(`old: ${event}`));
  next.socket.onAny((event) => order.push(`next: ${event}`));
  for (const node of [left, right]) {
    order.length = 0;
    const pc = await node.join("computer", "pc", "old");
    const rival = await right.join("computer", "pc", "next");
    const refusal = [false, 'Computer "pc" already exists in the room'];
    assertEquals(await pc.join("computer", "pc", "next"), refusal);
    await leave(rival, "next");
    await next.next(LEAVE);
    assertEquals(await pc.join("computer", "pc", "next"), [true, null]);
    await old.heardOf(LEAVE);
    await next.heardOf(ENTER);
    assertEquals(order, [
      ...[`old: ${ENTER}`, `next: ${ENTER}`, `next: ${LEAVE}`],
      ...[`old: ${LEAVE}`, `next: ${ENTER}`],
    ]);
    await leave(pc, "next");
    await next.heardOf(LEAVE);
    for (const client of [old, next]) client.heard.length = 0;
  }
});

Deno.test("nodes: a notification is one frame for all members of a node", async () => {
  await using nodes = await twoNodes();
  const { bus, left, right, agent } = nodes;
  const more = await Promise.all(
    [1, 2, 3, 4, 5].map((i) => right.join("computer", `pc ${i}`)),
  );
  const near = await left.join("computer", "near");
  await more[0]?.heardOf(ENTER);
  await agent.ask("server:list_room", LIST);
  bus.sent.length = 0;
  await leave(near);
  await Promise.all(more.map((client) => client.heardOf(LEAVE)));
  assertEquals(bus.sent, ["left to right"]);
});

Deno.test("nodes: a join is held while the home of the office is not reached, with what its client sends meanwhile", async () => {
  await using nodes = await twoNodes();
  const { bus, right } = nodes;
  const late = await right.connect();
  bus.isConnected = false;
  const joined = late.join("computer", "late", "office");
  const left = leave(late);
  const held = new Promise((done) => setTimeout(done, 100, "held"));
  assertEquals(await Promise.race([joined, held]), "held");
  bus.isConnected = true;
  assertEquals([await joined, await left], [[true, null], [true, null]]);
});

Deno.test("nodes: the home of an office that shuts down answers its calls, then its members go on elsewhere", async () => {
  await using nodes = await emptyNodes();
  const { bus, left, right } = nodes;
  const near = await left.join("computer", "near");
  const agent = await right.join("agent", "agent");
  const asked = nextRequest(near);
  const answer = call(agent, "near");
  const { ack } = await asked;
  const gone = agent.disconnected();
  const closed = left.server.close();
  const refused = failureOf(await call(agent, "near"));
  assertEquals(refused.reason, "server shutting down");
  ack({ content: [] });
  assertEquals(await answer, { content: [] });
  assertEquals(await gone, "transport close");
  await closed;
  await right.join("agent", "agent");
  assertEquals(bus.homeOf("office"), "right");
});

Deno.test("nodes: list_room has the members of all nodes, and one Agent of many gets the seat", async () => {
  await using nodes = await emptyNodes();
  const three = [nodes.left, nodes.right, await nodes.serve("third")];
  const clients = await Promise.all(
    [...three, ...three, ...three, ...three].map((node) => node.connect()),
  );
  const acks = await Promise.all(
    clients.map((client, i) => client.join("agent", `agent ${i}`, "office")),
  );
  const at = acks.findIndex(([ok]) => ok === true);
  const winner = clients[at];
  assertEquals(acks.filter(([ok]) => ok === true).length, 1);
  assert(winner);
  await Promise.all(three.map((node, i) => node.join("computer", `pc ${i}`)));
  const agent = `agent ${at}`;
  const list = await winner.ask("server:list_room", { ...LIST, agent });
  const { sessions } = list as { sessions: { name: string }[] };
  const names = sessions.map(({ name }) => name).sort();
  assertEquals(names, [agent, "pc 0", "pc 1", "pc 2"]);
});
