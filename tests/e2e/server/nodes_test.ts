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
    joinRaw(url, "computer", "computer", "office", { auth });
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

Deno.test("nodes: without the others calls on the same node go on, and those to other nodes end with 500", async () => {
  await using nodes = await twoNodes();
  const { bus, left, agent, computer } = nodes;
  await using near = await joinRaw(left.url, "computer", "near", "office");
  near.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ from: "near" }));
  const asked = Promise.withResolvers<void>();
  computer.handle(TOOL_CALL_EVENT, () => asked.resolve());
  const running = agent.ask(TOOL_CALL_EVENT, REQUEST);
  await asked.promise;
  bus.isConnected = false;
  left.switchboard.connected(false);
  const away = { code: 500, reason: "registry unavailable" };
  assertEquals(failureOf(await running), away);
  assertEquals(failureOf(await agent.ask(TOOL_CALL_EVENT, REQUEST)), away);
  assertEquals(
    await agent.ask(TOOL_CALL_EVENT, { ...REQUEST, computer: "near" }),
    { from: "near" },
  );
  bus.isConnected = true;
  left.switchboard.connected(true);
  computer.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ from: "far" }));
  assertEquals(await agent.ask(TOOL_CALL_EVENT, REQUEST), { from: "far" });
});

Deno.test("nodes: a call to a Computer that this node has not heard of looks into the registry once", async () => {
  await using nodes = await twoNodes();
  const { bus, right, agent } = nodes;
  bus.isConnected = false; // its coming is not heard of
  await using fresh = await joinRaw(right.url, "computer", "fresh", "office");
  bus.isConnected = true;
  fresh.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ from: "fresh" }));
  const call = (computer: string) =>
    agent.ask(TOOL_CALL_EVENT, { ...REQUEST, computer });
  assertEquals(
    await Promise.all([call("fresh"), call("fresh")]),
    [{ from: "fresh" }, { from: "fresh" }],
  );
  assertEquals(failureOf(await call("nobody")).code, 404);
  assertEquals(agent.heard, [{
    event: ENTER_OFFICE_NOTIFICATION,
    payload: { office_id: "office", computer: "fresh" },
  }]);
});

Deno.test("nodes: after a loss the rosters are read again, and what Computers told may have changed", async () => {
  await using nodes = await twoNodes();
  const { bus, left, right, agent } = nodes;
  bus.isConnected = false; // whoever comes now is not heard of
  await using _missed = await joinRaw(
    right.url,
    "computer",
    "missed",
    "office",
  );
  bus.isConnected = true;
  left.switchboard.lost("right");
  assertEquals(
    await agent.next(ENTER_OFFICE_NOTIFICATION),
    { office_id: "office", computer: "missed" },
  );
  assertEquals(
    await agent.next(UPDATE_TOOL_LIST_NOTIFICATION),
    { computer: "computer" },
  );
});

Deno.test("nodes: a node that is fenced closes its connections, and tells the others nothing", async () => {
  await using nodes = await twoNodes();
  const { right, agent, computer } = nodes;
  const closed = computer.disconnected();
  right.switchboard.fence("its lease has ended");
  assertEquals(await closed, "transport close");
  assertEquals(agent.heard, []);
  // The node that frees its seats tells it.
  nodes.left.switchboard.left([{
    protocol: "0.2",
    member: {
      role: "computer",
      name: "computer",
      office: "office",
      socket: "any",
      version: "0.2.0",
      instance: undefined,
      principal: undefined,
      rev: 2,
      node: "right",
    },
  }]);
  assertEquals(
    await agent.next(LEAVE_OFFICE_NOTIFICATION),
    { office_id: "office", computer: "computer" },
  );
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
