import { assertEquals } from "@std/assert";
import {
  ENTER_OFFICE_NOTIFICATION,
  GET_TOOLS_EVENT,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  LIST_ROOM_EVENT,
  UPDATE_TOOL_LIST_EVENT,
  UPDATE_TOOL_LIST_NOTIFICATION,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import {
  connectRaw,
  joinRaw,
  type RawClient,
  rawPair,
} from "../../support/wire/raw_client.ts";
import { slowCluster } from "../../support/server/slow_cluster.ts";

const membersOf = async (agent: RawClient, name: string, office_id: string) => {
  const { sessions } = await agent.ask(LIST_ROOM_EVENT, {
    agent: name,
    req_id: "l",
    office_id,
  }) as { sessions: { role: string; name: string }[] };
  return sessions.map((s) => `${s.role} ${s.name}`);
};

/** Waits for an ack, so that all earlier packets have arrived: the wire keeps the order. */
const heardBy = async (client: RawClient) => {
  await client.request("notify:nothing");
  return client.heard.splice(0);
};

Deno.test("acks of join and leave are two arguments on the wire (spec §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using client = await connectRaw(url);
  assertEquals(await client.join("agent", "a", "o"), [true, null]);
  const left = await client.request(LEAVE_OFFICE_EVENT, { office_id: "o" });
  assertEquals(left, [true, null]);
  const again = await client.request(LEAVE_OFFICE_EVENT, { office_id: "o" });
  assertEquals(again, [false, "Not in an office"]);
});

Deno.test("join and leave answer (false, reason) to any payload, never an error object (spec §3, §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using client = await connectRaw(url);
  const long = "x".repeat(257);
  const payloads: unknown[][] = [
    [],
    [null],
    [[]],
    ["office"],
    [{}],
    [{ role: "agent", name: "a" }],
    [{ role: "boss", name: "a", office_id: "o" }],
    [{ role: "agent", name: "", office_id: "o" }],
    [{ role: "agent", name: 7, office_id: "o" }],
    [{ role: "agent", name: long, office_id: "o" }],
    [{ role: "agent", name: "a", office_id: long }],
    [{ role: "agent", name: "a\n", office_id: "o" }],
    [{ role: "agent", name: "a", office_id: "o\u0000" }],
    [{ role: "agent", name: "a", office_id: "\u009f" }],
  ];
  for (const event of [JOIN_OFFICE_EVENT, LEAVE_OFFICE_EVENT]) {
    for (const payload of payloads) {
      const [ok, reason, ...more] = await client.request(event, ...payload);
      assertEquals([ok, typeof reason, more], [false, "string", []]);
    }
  }
  const longest = "x".repeat(256);
  assertEquals(await client.join("agent", longest, longest), [true, null]);
});

Deno.test("one agent per office; it may rejoin after leaving (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using first = await joinRaw(url, "agent", "first", "o");
  await using second = await connectRaw(url);
  assertEquals(await second.join("agent", "second", "o"), [
    false,
    "Room already has an agent",
  ]);
  await first.request(LEAVE_OFFICE_EVENT, { office_id: "o" });
  assertEquals(await second.join("agent", "second", "o"), [true, null]);
});

Deno.test("an agent is in one office; joining it again succeeds without notification (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url, "o");
  const { agent, computer } = pair;
  assertEquals((await agent.join("agent", "agent", "other"))[0], false);
  assertEquals((await agent.join("agent", "renamed", "o"))[0], false);
  assertEquals(await agent.join("agent", "agent", "o"), [true, null]);
  assertEquals(await computer.join("computer", "computer", "o"), [true, null]);
  assertEquals((await computer.join("computer", "renamed", "o"))[0], false);
  assertEquals(await heardBy(computer), []);
  assertEquals(await heardBy(agent), []);
});

Deno.test("a computer's name is unique in its office, and free in another (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using _first = await joinRaw(url, "computer", "pc", "o");
  await using second = await connectRaw(url);
  const [ok, reason] = await second.join("computer", "pc", "o");
  assertEquals([ok, typeof reason], [false, "string"]);
  assertEquals(await second.join("computer", "pc", "elsewhere"), [true, null]);
});

Deno.test("the role is fixed by the first join, also after leaving (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using client = await joinRaw(url, "computer", "pc", "o");
  await client.request(LEAVE_OFFICE_EVENT, { office_id: "o" });
  assertEquals((await client.join("agent", "a", "o"))[0], false);
  assertEquals(await client.join("computer", "pc2", "o"), [true, null]);
});

Deno.test("leave_office naming another office is (false, …) and changes nothing (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url, "o");
  const answer = await pair.computer.request(LEAVE_OFFICE_EVENT, {
    office_id: "other",
  });
  assertEquals([answer.length, answer[0]], [2, false]);
  assertEquals(await membersOf(pair.agent, "agent", "o"), [
    "agent agent",
    "computer computer",
  ]);
});

Deno.test("a computer that switches leaves its old office first, and gets no notifications of another (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using north = await joinRaw(url, "agent", "n", "north");
  await using south = await joinRaw(url, "agent", "s", "south");
  await using holder = await joinRaw(url, "computer", "pc", "south");
  await south.next(ENTER_OFFICE_NOTIFICATION);
  await using mover = await joinRaw(url, "computer", "pc", "north");
  await north.next(ENTER_OFFICE_NOTIFICATION);

  // Its name is taken in the south: it stays, and belongs to the north alone.
  assertEquals((await mover.join("computer", "pc", "south"))[0], false);
  holder.socket.emit(UPDATE_TOOL_LIST_EVENT, { computer: "pc" });
  assertEquals(await south.next(UPDATE_TOOL_LIST_NOTIFICATION), {
    computer: "pc",
  });
  holder.handle(GET_TOOLS_EVENT, (_payload, ack) => ack({ from: "holder" }));
  mover.handle(GET_TOOLS_EVENT, (_payload, ack) => ack({ from: "mover" }));
  const ask = (agent: RawClient, name: string) =>
    agent.ask(GET_TOOLS_EVENT, { agent: name, req_id: "1", computer: "pc" });
  assertEquals(await ask(south, "s"), { from: "holder" });
  assertEquals(await ask(north, "n"), { from: "mover" });
  assertEquals(await heardBy(mover), []);

  // Under another name it can join; both offices are notified.
  assertEquals(await mover.join("computer", "pc2", "south"), [true, null]);
  assertEquals(await north.next(LEAVE_OFFICE_NOTIFICATION), {
    office_id: "north",
    computer: "pc",
  });
  assertEquals(await south.next(ENTER_OFFICE_NOTIFICATION), {
    office_id: "south",
    computer: "pc2",
  });
  assertEquals(await membersOf(north, "n", "north"), ["agent n"]);
  await using _late = await joinRaw(url, "computer", "late", "north");
  assertEquals(await heardBy(mover), [], "nothing of the old office");
  assertEquals((await heardBy(north)).length, 1);
});

Deno.test("an office named like a socket's id does not reach that socket (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using victim = await joinRaw(url, "computer", "v", "o");
  await using computer = await joinRaw(
    url,
    "computer",
    "c",
    String(victim.socket.id),
  );
  computer.socket.emit(UPDATE_TOOL_LIST_EVENT, { computer: "c" });
  await computer.request("notify:nothing");
  assertEquals(await heardBy(victim), []);
});

Deno.test("enter_office and leave_office go to all members except their cause, with one name each (spec §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using computer = await joinRaw(url, "computer", "c", "o");
  {
    await using agent = await joinRaw(url, "agent", "a", "o");
    assertEquals(await computer.next(ENTER_OFFICE_NOTIFICATION), {
      office_id: "o",
      agent: "a",
    });
    await agent.request(LEAVE_OFFICE_EVENT, { office_id: "o" });
    assertEquals(await computer.next(LEAVE_OFFICE_NOTIFICATION), {
      office_id: "o",
      agent: "a",
    });
    await agent.join("agent", "a", "o");
    await computer.next(ENTER_OFFICE_NOTIFICATION);
    assertEquals(await heardBy(agent), []);
  }
  // The agent's connection is lost: that counts as leaving.
  assertEquals(await computer.next(LEAVE_OFFICE_NOTIFICATION), {
    office_id: "o",
    agent: "a",
  });
});

Deno.test("enter_office is sent after the join took effect: its receivers can call the computer (spec §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "a", "o");
  await using computer = await connectRaw(url);
  computer.handle(GET_TOOLS_EVENT, (_payload, ack) => ack({ tools: [] }));
  const joined = computer.join("computer", "c", "o");
  await agent.next(ENTER_OFFICE_NOTIFICATION);
  assertEquals(
    await agent.ask(GET_TOOLS_EVENT, {
      agent: "a",
      req_id: "1",
      computer: "c",
    }),
    { tools: [] },
  );
  assertEquals(await joined, [true, null]);
});

for (const kind of ["local", "slow"] as const) {
  const options = () => ({
    limits: false as const,
    ...(kind === "slow" && { cluster: slowCluster() }),
  });

  Deno.test(`12 agents racing for one office: exactly one wins, 100 rounds (spec §5), ${kind} offices`, async () => {
    await using server = createSmcpServer(options());
    const { url } = await server.listen();
    const agents = await Promise.all(
      Array.from({ length: 12 }, () => connectRaw(url)),
    );
    for (let round = 0; round < 100; round++) {
      const office = `office ${round}`;
      const answers = await Promise.all(
        agents.map((agent, i) => agent.join("agent", `agent ${i}`, office)),
      );
      const winners = answers.flatMap(([ok], i) => ok === true ? [i] : []);
      assertEquals(winners.length, 1, office);
      const reasons = new Set(
        answers.flatMap(([ok, reason]) => ok === true ? [] : [reason]),
      );
      assertEquals([...reasons], ["Room already has an agent"]);
      const winner = agents[winners[0] ?? 0];
      await winner?.request(LEAVE_OFFICE_EVENT, { office_id: office });
    }
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  });

  Deno.test(`the same instance takes its seat over: leave, disconnect, enter (spec §9), ${kind} offices`, async () => {
    await using server = createSmcpServer(options());
    const { url } = await server.listen();
    const auth = { instance_id: "i-1" };
    await using agent = await joinRaw(url, "agent", "a", "o");
    await using old = await joinRaw({ url, auth }, "computer", "c", "o");
    await agent.next(ENTER_OFFICE_NOTIFICATION);
    const call = agent.ask(GET_TOOLS_EVENT, {
      agent: "a",
      req_id: "1",
      computer: "c",
    });
    await old.next(GET_TOOLS_EVENT);
    const gone = old.disconnected();

    await using back = await connectRaw(url, { auth });
    assertEquals(await back.join("computer", "c", "o"), [true, null]);
    await gone;
    const { code, reason } = await call as { code: number; reason: string };
    assertEquals([code, reason], [404, "computer disconnected"]);
    assertEquals((await heardBy(agent)).map((heard) => heard.event), [
      LEAVE_OFFICE_NOTIFICATION,
      ENTER_OFFICE_NOTIFICATION,
    ]);
    assertEquals(await membersOf(agent, "a", "o"), ["agent a", "computer c"]);
    assertEquals(await heardBy(back), []);

    // No other client may: neither without an id nor with another one.
    await using stranger = await connectRaw(url, {
      auth: { instance_id: "i-2" },
    });
    assertEquals((await stranger.join("computer", "c", "o"))[0], false);
    await using nameless = await connectRaw(url);
    assertEquals((await nameless.join("computer", "c", "o"))[0], false);
  });

  Deno.test(`an agent of the same instance takes its seat over under any name (spec §9), ${kind} offices`, async () => {
    await using server = createSmcpServer(options());
    const { url } = await server.listen();
    const auth = { instance_id: "i-1" };
    await using computer = await joinRaw(url, "computer", "c", "o");
    await using old = await joinRaw({ url, auth }, "agent", "before", "o");
    await computer.next(ENTER_OFFICE_NOTIFICATION);
    const gone = old.disconnected();
    await using back = await joinRaw({ url, auth }, "agent", "after", "o");
    await gone;
    assertEquals(await heardBy(computer), [
      {
        event: LEAVE_OFFICE_NOTIFICATION,
        payload: { office_id: "o", agent: "before" },
      },
      {
        event: ENTER_OFFICE_NOTIFICATION,
        payload: { office_id: "o", agent: "after" },
      },
    ]);
    assertEquals(await membersOf(back, "after", "o"), [
      "agent after",
      "computer c",
    ]);
  });

  Deno.test(`events of one socket take effect in the order of their arrival (spec §3), ${kind} offices`, async () => {
    await using server = createSmcpServer(options());
    const { url } = await server.listen();
    await using client = await connectRaw(url);
    const list = { agent: "a", req_id: "1", office_id: "o" };
    const join = { role: "agent", name: "a", office_id: "o" };
    const answers = await Promise.all([
      client.request(LIST_ROOM_EVENT, list),
      client.request(JOIN_OFFICE_EVENT, join),
      client.request(LIST_ROOM_EVENT, list),
      client.request(LEAVE_OFFICE_EVENT, { office_id: "o" }),
      client.request(LIST_ROOM_EVENT, list),
      client.request(JOIN_OFFICE_EVENT, join),
    ]);
    const outcome = (answer: unknown[]): unknown => {
      const first = answer[0] as { code?: number; sessions?: unknown[] };
      return first.code ?? first.sessions?.length ?? first;
    };
    assertEquals(answers.map(outcome), [4103, true, 1, true, 4103, true]);
  });

  Deno.test(`a join whose socket is already closed leaves no member behind (spec §3), ${kind} offices`, async () => {
    await using server = createSmcpServer(options());
    const { url } = await server.listen();
    await using watcher = await joinRaw(url, "agent", "a", "o");
    for (let round = 0; round < 20; round++) {
      const client = await connectRaw(url);
      client.socket.emit(JOIN_OFFICE_EVENT, {
        role: "computer",
        name: "ghost",
        office_id: "o",
      });
      await client[Symbol.asyncDispose]();
    }
    // The name is free again as soon as the server has seen the last one go.
    await using heir = await connectRaw(url);
    let joined = false;
    while (!joined) {
      joined = (await heir.join("computer", "ghost", "o"))[0] === true;
    }
    assertEquals(await membersOf(watcher, "a", "o"), [
      "agent a",
      "computer ghost",
    ]);
    const notices = (await heardBy(watcher)).map((heard) => heard.event);
    notices.forEach((event, i) =>
      assertEquals(
        event,
        i % 2 ? LEAVE_OFFICE_NOTIFICATION : ENTER_OFFICE_NOTIFICATION,
      )
    );
  });
}

Deno.test("list_room: own office only, agents only, never the instance_id (spec §4, §5, §9)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinRaw(
    { url, auth: { instance_id: "secret-instance" } },
    "agent",
    "a",
    "o",
  );
  const list = (client: RawClient, office_id: string, name = "a") =>
    client.ask(LIST_ROOM_EVENT, { agent: name, req_id: "9", office_id });
  const own = await list(agent, "o");
  assertEquals(JSON.stringify(own).includes("secret-instance"), false);
  assertEquals((own as { req_id: string }).req_id, "9");
  const { code } = await list(agent, "other") as { code: number };
  assertEquals(code, 4104);
  await using computer = await joinRaw(url, "computer", "a", "o");
  const refused = await list(computer, "o") as { code: number };
  assertEquals(refused.code, 403);
});
