import { assert, assertEquals } from "@std/assert";
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  CLIENT_EVENTS,
  ENTER_OFFICE_NOTIFICATION,
  eventOf,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  LIST_ROOM_EVENT,
  PROFILES,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  UPDATE_TOOL_LIST_EVENT,
  UPDATE_TOOL_LIST_NOTIFICATION,
} from "../../../protocol/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { Bus } from "../../support/cluster/bus.ts";
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

const failureOf = (answer: unknown) => {
  const { code, reason } = answer as { code?: number; reason?: string };
  return { code, reason };
};

/** Two nodes: an Agent on one, and a Computer that it has heard of on the other. */
async function twoNodes() {
  const bus = new Bus();
  const left = await bus.serve("left");
  const right = await bus.serve("right");
  const agent = await joinRaw(left.url, "agent", "agent", "office");
  const computer = await joinRaw(right.url, "computer", "computer", "office");
  await agent.next(ENTER_OFFICE_NOTIFICATION);
  return {
    bus,
    left,
    right,
    agent,
    computer,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await computer[Symbol.asyncDispose]();
      await left.server.close({ graceMs: 0 });
      await right.server.close({ graceMs: 0 });
    },
  };
}

Deno.test("nodes: all client events are routed to another node, request and answer unchanged (spec §3, §7)", async () => {
  await using nodes = await twoNodes();
  const { agent, computer } = nodes;
  const routed = Object.keys(CLIENT_EVENTS)
    .filter((event) => eventOf(PROFILES["0.2"], event) !== undefined);
  for (const event of routed) {
    let seen: unknown;
    const answer = { content: [], event, nested: { list: [1, "2", null] } };
    computer.handle(event, (payload, ack) => {
      seen = payload;
      ack(answer);
    });
    assertEquals(await agent.ask(event, REQUEST), answer, event);
    assertEquals(seen, REQUEST, event);
  }
});

Deno.test("nodes: bytes, large texts and empty acks are the same as on one node", async () => {
  await using nodes = await twoNodes();
  const { agent, computer } = nodes;
  const answers: unknown[][] = [
    [{ bytes: new Uint8Array([1, 2, 3]) }],
    [{ text: "ä".repeat(300_000) }],
    [{ content: [], isError: true, meta: { a2c_error_code: 4002 } }],
    [],
    ["no object"],
  ];
  computer.handle(TOOL_CALL_EVENT, (payload, ack) => {
    const { params } = payload as { params: { at: number } };
    ack(...answers[params.at] ?? []);
  });
  const got: unknown[] = [];
  for (const at of answers.keys()) {
    got.push(await agent.ask(TOOL_CALL_EVENT, { ...REQUEST, params: { at } }));
  }
  const [bytes, text, error, ...wrong] = got;
  assertEquals(
    new Uint8Array((bytes as { bytes: Uint8Array }).bytes),
    new Uint8Array([1, 2, 3]),
  );
  assertEquals([text, error], [answers[1]?.[0], answers[2]?.[0]]);
  assertEquals(wrong.map((answer) => failureOf(answer).code), [500, 500]);
});

Deno.test("nodes: an Agent that asks for it is notified that its call waits at a Computer of another node", async () => {
  await using nodes = await twoNodes();
  const { agent, computer } = nodes;
  const asked = Promise.withResolvers<(answer: unknown) => void>();
  computer.handle(TOOL_CALL_EVENT, (_payload, ack) => asked.resolve(ack));
  const answer = agent.ask(TOOL_CALL_EVENT, {
    ...REQUEST,
    progress: "waiting",
  });
  const ack = await asked.promise;
  const told = {
    agent: "agent",
    computer: "computer",
    req_id: "r1",
    progress: 0,
    message: "waits for confirmation at computer",
    waiting: "confirmation",
  };
  computer.socket.emit(TOOL_CALL_PROGRESS_EVENT, told);
  assertEquals(await agent.next(TOOL_CALL_PROGRESS_NOTIFICATION), told);
  ack({ content: [] });
  await answer;
});

Deno.test("nodes: a cancel reaches the Computer after its call, progress its Agent before the answer, updates everybody", async () => {
  await using nodes = await twoNodes();
  const { agent, computer } = nodes;
  const asked = Promise.withResolvers<(answer: unknown) => void>();
  computer.handle(TOOL_CALL_EVENT, (_payload, ack) => asked.resolve(ack));
  const answer = agent.ask(TOOL_CALL_EVENT, { ...REQUEST, progress: true });
  agent.socket.emit(CANCEL_TOOL_CALL_EVENT, { agent: "agent", req_id: "r1" });
  assertEquals(
    await computer.next(CANCEL_TOOL_CALL_NOTIFICATION),
    { agent: "agent", req_id: "r1" },
  );
  const ack = await asked.promise;
  const told = {
    agent: "agent",
    computer: "computer",
    req_id: "r1",
    progress: 1,
  };
  computer.socket.emit(TOOL_CALL_PROGRESS_EVENT, told);
  ack({ content: [] });
  assertEquals(await answer, { content: [] });
  assertEquals(agent.heard, [
    // The Agent hears its own cancel, as every member does.
    {
      event: CANCEL_TOOL_CALL_NOTIFICATION,
      payload: { agent: "agent", req_id: "r1" },
    },
    { event: TOOL_CALL_PROGRESS_NOTIFICATION, payload: told },
  ]);
  computer.socket.emit(UPDATE_TOOL_LIST_EVENT, { computer: "computer" });
  assertEquals(
    await agent.next(UPDATE_TOOL_LIST_NOTIFICATION),
    { computer: "computer" },
  );
});

Deno.test("nodes: a Computer that leaves or is gone ends the calls to it, and its office hears of it once", async () => {
  for (const way of ["leaves", "is gone"] as const) {
    await using nodes = await twoNodes();
    const { agent, computer } = nodes;
    const asked = Promise.withResolvers<void>();
    computer.handle(TOOL_CALL_EVENT, () => asked.resolve());
    const answer = agent.ask(TOOL_CALL_EVENT, REQUEST);
    await asked.promise;
    if (way === "leaves") {
      await computer.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
    } else computer.socket.disconnect();
    assertEquals(failureOf(await answer), {
      code: 404,
      reason: "computer disconnected",
    });
    await agent.heardOf(LEAVE_OFFICE_NOTIFICATION);
    await using _back = await joinRaw(
      nodes.left.url,
      "computer",
      "computer",
      "office",
    );
    await agent.heardOf(ENTER_OFFICE_NOTIFICATION);
    assertEquals(agent.heard.map(({ event }) => event), [
      LEAVE_OFFICE_NOTIFICATION,
      ENTER_OFFICE_NOTIFICATION,
    ]);
  }
});

Deno.test("nodes: a seat is taken over from another node: leave, enter, the old connection closed, calls reach the new one (spec §9)", async () => {
  const bus = new Bus();
  const left = await bus.serve("left");
  const right = await bus.serve("right");
  await using agent = await joinRaw(left.url, "agent", "agent", "office");
  const auth = { instance_id: "instance-of-the-computer" };
  const computerAt = (url: string) =>
    joinRaw({ url, auth }, "computer", "computer", "office");
  await using old = await computerAt(right.url);
  await agent.next(ENTER_OFFICE_NOTIFICATION);
  const closed = old.disconnected();
  await using back = await computerAt(left.url);
  await closed;
  await agent.heardOf(ENTER_OFFICE_NOTIFICATION);
  assertEquals(agent.heard.map(({ event }) => event), [
    LEAVE_OFFICE_NOTIFICATION,
    ENTER_OFFICE_NOTIFICATION,
  ]);
  back.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ from: "back" }));
  assertEquals(await agent.ask(TOOL_CALL_EVENT, REQUEST), { from: "back" });
  // A stranger does not get it.
  await using stranger = await connectRaw(right.url);
  assertEquals(
    (await stranger.join("computer", "computer", "office"))[0],
    false,
  );
  await left.server.close({ graceMs: 0 });
  await right.server.close({ graceMs: 0 });
});

Deno.test("nodes: what cannot be sent to another node ends with 500, and calls on the same node go on", async () => {
  await using nodes = await twoNodes();
  const { bus, left, agent, computer } = nodes;
  await using near = await joinRaw(left.url, "computer", "near", "office");
  near.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ from: "near" }));
  bus.isConnected = false;
  const away = { code: 500, reason: "node unreachable" };
  assertEquals(failureOf(await agent.ask(TOOL_CALL_EVENT, REQUEST)), away);
  assertEquals(
    await agent.ask(TOOL_CALL_EVENT, { ...REQUEST, computer: "near" }),
    { from: "near" },
  );
  bus.isConnected = true;
  computer.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ from: "far" }));
  assertEquals(await agent.ask(TOOL_CALL_EVENT, REQUEST), { from: "far" });
});

Deno.test("nodes: a node that is silent ends its calls with 404 and frees its seats; its clients come back", async () => {
  await using nodes = await twoNodes();
  const { bus, right, agent, computer } = nodes;
  const asked = Promise.withResolvers<void>();
  computer.handle(TOOL_CALL_EVENT, () => asked.resolve());
  const running = agent.ask(TOOL_CALL_EVENT, REQUEST);
  await asked.promise;
  const closed = computer.disconnected();
  bus.lose("left", "right");
  assertEquals(failureOf(await running), {
    code: 404,
    reason: "computer disconnected",
  });
  assertEquals(await closed, "transport close");
  await using again = await joinRaw(
    right.url,
    "computer",
    "computer",
    "office",
  );
  again.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ from: "again" }));
  assertEquals(await agent.ask(TOOL_CALL_EVENT, REQUEST), { from: "again" });
  assertEquals(agent.heard.map(({ event }) => event), [
    LEAVE_OFFICE_NOTIFICATION,
    ENTER_OFFICE_NOTIFICATION,
  ]);
});

Deno.test("nodes: a fenced node closes all connections; its offices move, with the members of other nodes", async () => {
  for (const fenced of ["left", "right"]) {
    await using nodes = await twoNodes();
    const { bus, left, right, agent, computer } = nodes;
    await using other = await joinRaw(left.url, "agent", "agent", "of left");
    assertEquals(bus.homeOf("office"), "left");
    const pending = agent.ask(TOOL_CALL_EVENT, REQUEST);
    const closed = computer.disconnected();
    bus.fence(fenced);
    assertEquals(await closed, "transport close");
    if (fenced === "right") {
      assertEquals(failureOf(await pending).code, 404);
      await agent.heardOf(LEAVE_OFFICE_NOTIFICATION);
      assertEquals(other.socket.connected, true);
      continue;
    }
    await agent.disconnected();
    await other.disconnected();
    await using _back = await joinRaw(
      right.url,
      "computer",
      "computer",
      "office",
    );
    assertEquals(bus.homeOf("office"), "right");
  }
});

Deno.test("nodes: an office lives where it was joined first, until its last member has left", async () => {
  const bus = new Bus();
  const left = await bus.serve("left");
  const right = await bus.serve("right");
  const join = (url: string, name: string) =>
    joinRaw(url, "computer", name, "office");
  const leave = (client: RawClient) =>
    client.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
  await using first = await join(left.url, "first");
  await using second = await join(right.url, "second");
  await leave(first);
  assertEquals(bus.homeOf("office"), "left");
  await leave(second);
  assertEquals(bus.homeOf("office"), undefined);
  await using third = await join(right.url, "third");
  assertEquals(bus.homeOf("office"), "right");
  // A join that is refused does not keep it, and one that races with the end gets a home.
  const races = await Promise.all([
    leave(third),
    first.join("computer", "first", "office"),
    second.join("computer", "second", "office"),
  ]);
  assertEquals(races.map(([ok]) => ok), [true, true, true]);
  await using agent = await joinRaw(left.url, "agent", "agent", "office");
  assertEquals(
    (await agent.ask(LIST_ROOM_EVENT, {
      agent: "agent",
      office_id: "office",
      req_id: "r",
    }) as { sessions: unknown[] }).sessions.length,
    3,
  );
  await left.server.close({ graceMs: 0 });
  await right.server.close({ graceMs: 0 });
});

Deno.test("nodes: who moves to an office at another node leaves its old one first, and keeps it when refused (spec §5)", async () => {
  const bus = new Bus();
  const nodes = await Promise.all(
    ["left", "right"].map((name) => bus.serve(name)),
  );
  const [left, right] = nodes.map(({ url }) => url) as [string, string];
  const order: string[] = [];
  await using old = await joinRaw(left, "agent", "agent", "old");
  await using next = await joinRaw(right, "agent", "agent", "next");
  for (const [name, client] of Object.entries({ old, next })) {
    client.socket.onAny((event) => order.push(`${name}: ${event}`));
  }
  for (const url of [left, right]) {
    order.length = 0;
    await using pc = await joinRaw(url, "computer", "pc", "old");
    await using rival = await joinRaw(right, "computer", "pc", "next");
    assertEquals(await pc.join("computer", "pc", "next"), [
      false,
      'Computer "pc" already exists in the room',
    ]);
    await rival.request(LEAVE_OFFICE_EVENT, { office_id: "next" });
    await next.next(LEAVE_OFFICE_NOTIFICATION);
    assertEquals(await pc.join("computer", "pc", "next"), [true, null]);
    await old.heardOf(LEAVE_OFFICE_NOTIFICATION);
    await next.heardOf(ENTER_OFFICE_NOTIFICATION);
    assertEquals(order, [
      `old: ${ENTER_OFFICE_NOTIFICATION}`,
      `next: ${ENTER_OFFICE_NOTIFICATION}`,
      `next: ${LEAVE_OFFICE_NOTIFICATION}`,
      `old: ${LEAVE_OFFICE_NOTIFICATION}`,
      `next: ${ENTER_OFFICE_NOTIFICATION}`,
    ]);
    await pc.request(LEAVE_OFFICE_EVENT, { office_id: "next" });
    await next.heardOf(LEAVE_OFFICE_NOTIFICATION);
    for (const client of [old, next]) client.heard.length = 0;
  }
  for (const { server } of nodes) await server.close({ graceMs: 0 });
});

Deno.test("nodes: a notification is one frame for all members of a node", async () => {
  await using nodes = await twoNodes();
  const { bus, left, right, agent } = nodes;
  const more = await Promise.all(
    [1, 2, 3, 4, 5].map((i) =>
      joinRaw(right.url, "computer", `pc ${i}`, "office")
    ),
  );
  await using near = await joinRaw(left.url, "computer", "near", "office");
  await more[0]?.heardOf(ENTER_OFFICE_NOTIFICATION);
  await agent.ask(LIST_ROOM_EVENT, {
    agent: "agent",
    office_id: "office",
    req_id: "r",
  });
  bus.sent.length = 0;
  await near.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
  await Promise.all(
    more.map((client) => client.heardOf(LEAVE_OFFICE_NOTIFICATION)),
  );
  assertEquals(bus.sent, ["left to right"]);
  for (const client of more) await client[Symbol.asyncDispose]();
});

Deno.test("nodes: a join is held while the home of the office is not reached, with what its client sends meanwhile", async () => {
  await using nodes = await twoNodes();
  const { bus, right } = nodes;
  await using late = await connectRaw(right.url);
  bus.isConnected = false;
  const joined = late.join("computer", "late", "office");
  const left = late.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
  assertEquals(
    await Promise.race([
      joined,
      new Promise((resolve) => setTimeout(resolve, 100, "held")),
    ]),
    "held",
  );
  bus.isConnected = true;
  assertEquals(await joined, [true, null]);
  assertEquals(await left, [true, null]);
});

Deno.test("nodes: the home of an office that shuts down answers its calls, then its members go on elsewhere", async () => {
  const bus = new Bus();
  const left = await bus.serve("left");
  const right = await bus.serve("right");
  await using near = await joinRaw(left.url, "computer", "near", "office");
  await using agent = await joinRaw(right.url, "agent", "agent", "office");
  await near.next(ENTER_OFFICE_NOTIFICATION);
  const asked = Promise.withResolvers<(answer: unknown) => void>();
  near.handle(TOOL_CALL_EVENT, (_payload, ack) => asked.resolve(ack));
  const answer = agent.ask(TOOL_CALL_EVENT, { ...REQUEST, computer: "near" });
  const ack = await asked.promise;
  const gone = agent.disconnected();
  const closed = left.server.close();
  const refused = await agent.ask(TOOL_CALL_EVENT, {
    ...REQUEST,
    computer: "near",
  });
  assertEquals(failureOf(refused).reason, "server shutting down");
  ack({ content: [] });
  assertEquals(await answer, { content: [] });
  assertEquals(await gone, "transport close");
  await closed;
  await using _back = await joinRaw(right.url, "agent", "agent", "office");
  assertEquals(bus.homeOf("office"), "right");
  await right.server.close({ graceMs: 0 });
});

Deno.test("nodes: list_room has the members of all nodes, and one Agent of many gets the seat", async () => {
  const bus = new Bus();
  const nodes = await Promise.all(
    ["a", "b", "c"].map((name) => bus.serve(name)),
  );
  const clients: RawClient[] = await Promise.all(
    Array.from({ length: 12 }, (_, i) => connectRaw(nodes[i % 3]?.url ?? "")),
  );
  const acks = await Promise.all(
    clients.map((client, i) => client.join("agent", `agent ${i}`, "office")),
  );
  const winners = clients.filter((_, i) => acks[i]?.[0] === true);
  assertEquals(winners.length, 1);
  const [winner] = winners;
  assert(winner);
  const computers = await Promise.all(
    nodes.map(({ url }, i) => joinRaw(url, "computer", `pc ${i}`, "office")),
  );
  const at = clients.indexOf(winner);
  const { sessions } = await winner.ask(LIST_ROOM_EVENT, {
    agent: `agent ${at}`,
    office_id: "office",
    req_id: "r",
  }) as { sessions: { name: string }[] };
  assertEquals(
    sessions.map(({ name }) => name).sort(),
    [`agent ${at}`, "pc 0", "pc 1", "pc 2"],
  );
  for (const client of [...clients, ...computers]) {
    await client[Symbol.asyncDispose]();
  }
  for (const { server } of nodes) await server.close({ graceMs: 0 });
});
