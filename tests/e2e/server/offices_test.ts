import { assertEquals } from "@std/assert";
import { SERVER_EVENTS } from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { slowCluster } from "../../support/server/slow_cluster.ts";
import {
  connectRaw,
  joinRaw,
  type RawClient,
  rawPair,
} from "../../support/wire/raw_client.ts";

const JOIN = "server:join_office";
const LEAVE = "server:leave_office";
const LIST = "server:list_room";
const ENTERED = "notify:enter_office";
const LEFT = "notify:leave_office";

const membersOf = async (agent: RawClient, name: string, office_id: string) => {
  const list = { agent: name, req_id: "l", office_id };
  const { sessions } = Object(await agent.ask(LIST, list));
  return sessions.map(({ name }: { name: string }) => name);
};

/** Waits for an ack, so that all earlier packets have arrived: the wire keeps the order. */
const heardBy = async (client: RawClient) => {
  await client.request("notify:barrier");
  return client.heard.splice(0).map(({ event, payload }) => [event, payload]);
};

Deno.test("acks of join and leave are two arguments on the wire, for any payload (protocol §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using client = await connectRaw(url);
  for (const event of [JOIN, LEAVE]) {
    for (const payload of [[], [null], [{}], ["office", { later: true }]]) {
      const [ok, reason, ...more] = await client.request(event, ...payload);
      assertEquals([ok, typeof reason, more], [false, "string", []]);
    }
  }
  const longest = "x".repeat(256);
  assertEquals(await client.join("agent", longest, longest), [true, null]);
  const leave = () => client.request(LEAVE, { office_id: longest });
  assertEquals(await leave(), [true, null]);
  assertEquals(await leave(), [false, "Not in an office"]);
});

Deno.test("each notification goes once to all members of the office except its cause, and to no one else (protocol §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "office");
  await using one = await joinRaw(url, "computer", "one", "office");
  await using two = await joinRaw(url, "computer", "two", "office");
  await using far = await joinRaw(url, "agent", "agent", "elsewhere");
  await using nobody = await connectRaw(url);
  // An office named like a socket's id does not reach that socket.
  await using victim = await joinRaw(
    url,
    "computer",
    "one",
    `${agent.socket.id}`,
  );
  const all = { agent, one, two, far, nobody, victim };
  type Name = keyof typeof all;
  const heard = async () => {
    const each: Record<string, unknown[]> = {};
    for (const [name, client] of Object.entries(all)) {
      if (!client.socket.connected) continue;
      const events = await heardBy(client);
      if (events.length > 0) each[name] = events;
    }
    return each;
  };
  await heard();
  const office_id = "office";
  const about = { computer: "one" };
  const cancel = { agent: "agent", req_id: "r1" };
  const rows: [() => Promise<unknown>, Name[], string, unknown][] = [
    ...Object.entries(SERVER_EVENTS).flatMap(
      ([event, { from, notification }]): typeof rows =>
        from !== "computer" || !notification ? [] : [
          [
            () => one.request(event, about),
            ["agent", "two"],
            notification,
            about,
          ],
          [() => victim.request(event, about), [], notification, about],
        ],
    ),
    [
      () => agent.request("server:tool_call_cancel", cancel),
      ["agent", "one", "two"],
      "notify:tool_call_cancel",
      cancel,
    ],
    [
      () => agent.request(LEAVE, { office_id }),
      ["one", "two"],
      LEFT,
      { office_id, agent: "agent" },
    ],
    [
      () => agent.join("agent", "renamed", office_id),
      ["one", "two"],
      ENTERED,
      { office_id, agent: "renamed" },
    ],
    [
      () => nobody.join("computer", "three", office_id),
      ["agent", "one", "two"],
      ENTERED,
      { office_id, computer: "three" },
    ],
  ];
  for (const [act, hearing, event, payload] of rows) {
    await act();
    assertEquals(
      await heard(),
      Object.fromEntries(hearing.map((name) => [name, [[event, payload]]])),
    );
  }
  // A switch: one office is notified of the leave, the other of the join.
  await two.join("computer", "two", "elsewhere");
  const left = [[LEFT, { office_id, computer: "two" }]];
  assertEquals(await heard(), {
    agent: left,
    one: left,
    nobody: left,
    far: [[ENTERED, { office_id: "elsewhere", computer: "two" }]],
  });
  // A lost connection counts as leaving.
  nobody.socket.io.engine.close();
  const gone = { office_id, computer: "three" };
  assertEquals(await agent.next(LEFT), gone);
  assertEquals(await heard(), { one: [[LEFT, gone]] });
});

Deno.test("enter_office is sent after the join took effect: its receivers can call the computer (protocol §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "a", "o");
  await using computer = await connectRaw(url);
  computer.handle("client:get_tools", (_payload, ack) => ack({ tools: [] }));
  const joined = computer.join("computer", "c", "o");
  await agent.next(ENTERED);
  const request = { agent: "a", req_id: "1", computer: "c" };
  assertEquals(await agent.ask("client:get_tools", request), { tools: [] });
  assertEquals(await joined, [true, null]);
});

Deno.test("leave_office is sent before the member is removed: when it leaves, switches or is gone (protocol §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const ways: ((computer: RawClient) => unknown)[] = [
    (computer) => computer.request(LEAVE, { office_id: "office" }),
    (computer) => computer.join("computer", "computer", "elsewhere"),
    (computer) => computer.socket.disconnect(),
  ];
  for (const way of ways) {
    await using pair = await rawPair(url);
    const list = () => membersOf(pair.agent, "agent", "office");
    assertEquals(await list(), ["agent", "computer"]);
    const done = way(pair.computer);
    // Both come over one connection, so in the order in which they took effect.
    while ((await list()).length === 2);
    const { event, payload } = pair.agent.heard.at(-1) ?? {};
    assertEquals([event, payload], [LEFT, {
      office_id: "office",
      computer: "computer",
    }]);
    await done;
    await pair.agent.request(LEAVE, { office_id: "office" });
  }
});

for (const kind of ["local", "slow"] as const) {
  const options = () => ({
    limits: false as const,
    ...(kind === "slow" && { cluster: slowCluster() }),
  });

  Deno.test(`12 agents racing for one office: exactly one wins, 100 rounds (protocol §5), ${kind} offices`, async () => {
    await using server = createSmcpServer(options());
    const { url } = await server.listen();
    await using stack = new AsyncDisposableStack();
    const agents = await Promise.all(
      Array.from({ length: 12 }, () => connectRaw(url)),
    );
    for (const agent of agents) stack.use(agent);
    for (let round = 0; round < 100; round++) {
      const office = `office ${round}`;
      const answers = await Promise.all(
        agents.map((agent, i) => agent.join("agent", `agent ${i}`, office)),
      );
      const winners = agents.filter((_, i) => answers[i]?.[0] === true);
      const reasons = answers.flatMap(([ok, why]) => ok === true ? [] : [why]);
      assertEquals(
        [winners.length, ...new Set(reasons)],
        [1, "Room already has an agent"],
      );
      await winners[0]?.request(LEAVE, { office_id: office });
    }
  });

  Deno.test(`the same instance takes its seat over: leave, disconnect, enter (protocol §9), ${kind} offices`, async () => {
    await using server = createSmcpServer({
      ...options(),
      authenticator: {
        authenticate: ({ auth }) => ({ principal: `${auth.api_key}` }),
      },
    });
    const { url } = await server.listen();
    const auth = { instance_id: "i-1", api_key: "mine" };
    await using agent = await joinRaw(url, "agent", "a", "o");
    await using old = await joinRaw({ url, auth }, "computer", "c", "o");
    const request = { agent: "a", req_id: "1", computer: "c" };
    const call = agent.ask("client:get_tools", request);
    await old.next("client:get_tools");
    await agent.next(ENTERED);
    const gone = old.disconnected();

    await using back = await connectRaw(url, { auth });
    assertEquals(await back.join("computer", "c", "o"), [true, null]);
    // The reason after which clients do not reconnect.
    assertEquals(await gone, "io server disconnect");
    const { code, reason } = Object(await call);
    assertEquals([code, reason], [404, "computer disconnected"]);
    await back.request("server:update_config", { computer: "c" });
    assertEquals((await heardBy(agent)).map(([event]) => event), [
      LEFT,
      ENTERED,
      "notify:update_config",
    ]);
    assertEquals(await membersOf(agent, "a", "o"), ["a", "c"]);
    assertEquals(await heardBy(back), []);
    // No other client may: neither without an id or a credential nor with another one.
    const others = [
      ...[{ instance_id: "i-2" }, { instance_id: undefined }]
        .map((other) => ({ ...auth, ...other })),
      ...["yours", undefined].map((api_key) => ({ ...auth, api_key })),
    ];
    for (const other of others) {
      await using stranger = await connectRaw(url, { auth: other });
      assertEquals((await stranger.join("computer", "c", "o"))[0], false);
    }
  });

  Deno.test(`events of one socket take effect in the order of their arrival (protocol §3), ${kind} offices`, async () => {
    await using server = createSmcpServer(options());
    const { url } = await server.listen();
    await using client = await connectRaw(url);
    const list = { agent: "a", req_id: "1", office_id: "o" };
    const join = { role: "agent", name: "a", office_id: "o" };
    const answers = await Promise.all([
      client.request(LIST, list),
      client.request(JOIN, join),
      client.request(LIST, list),
      client.request(LEAVE, { office_id: "o" }),
      client.request(LIST, list),
      client.request(JOIN, join),
    ]);
    const outcome = ([first]: unknown[]): unknown =>
      Object(first).code ?? Object(first).sessions?.length ?? first;
    assertEquals(answers.map(outcome), [4103, true, 1, true, 4103, true]);
  });

  Deno.test(`a join whose socket is already closed leaves no member behind (protocol §3), ${kind} offices`, async () => {
    await using server = createSmcpServer(options());
    const { url } = await server.listen();
    await using watcher = await joinRaw(url, "agent", "a", "o");
    const seat = { role: "computer", name: "ghost", office_id: "o" };
    for (let round = 0; round < 20; round++) {
      const client = await connectRaw(url);
      client.socket.emit(JOIN, seat);
      await client[Symbol.asyncDispose]();
    }
    // The name is free again as soon as the server has seen the last one go.
    await using heir = await connectRaw(url);
    while ((await heir.join("computer", "ghost", "o"))[0] !== true);
    assertEquals(await membersOf(watcher, "a", "o"), ["a", "ghost"]);
    for (const [at, [event]] of (await heardBy(watcher)).entries()) {
      assertEquals(event, at % 2 ? LEFT : ENTERED);
    }
  });
}
