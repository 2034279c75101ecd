import { assertEquals } from "@std/assert";
import { networkInterfaces } from "node:os";
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  CLIENT_EVENTS,
  ENTER_OFFICE_NOTIFICATION,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  LIST_ROOM_EVENT,
  PUT_BLOB_EVENT,
  SERVER_EVENTS,
  UPDATE_CONFIG_EVENT,
  UPDATE_CONFIG_NOTIFICATION,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { ownNamesAlone } from "../../support/own_names.ts";
import {
  connectRaw,
  joinRaw,
  type RawClient,
  rawPair,
} from "../../support/wire/raw_client.ts";

const REQUEST = { ...ANY_REQUEST, timeout: 5 };

const codeOf = (answer: unknown) => (answer as { code?: unknown }).code;

Deno.test("each notification goes once to all members of the office except its cause, and to no one else (spec §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "office");
  await using one = await joinRaw(url, "computer", "one", "office");
  await using two = await joinRaw(url, "computer", "two", "office");
  await using far = await joinRaw(url, "agent", "agent", "elsewhere");
  await using farther = await joinRaw(url, "computer", "one", "elsewhere");
  await using nobody = await connectRaw(url);
  const all = { agent, one, two, far, farther, nobody };
  const heard = async () => {
    const each: Record<string, unknown[]> = {};
    for (const [name, client] of Object.entries(all)) {
      if (!client.socket.connected) continue;
      await client.request("notify:barrier");
      const events = client.heard.splice(0);
      if (events.length > 0) {
        each[name] = events.map(({ event, payload }) => [event, payload]);
      }
    }
    return each;
  };
  await heard();
  const rows: [act: () => Promise<unknown>, Record<string, unknown[]>][] = [];
  const row = (
    act: () => Promise<unknown>,
    hearing: (keyof typeof all)[],
    event: string,
    payload: unknown,
  ) =>
    rows.push([
      act,
      Object.fromEntries(hearing.map((name) => [name, [[event, payload]]])),
    ]);
  for (const [event, { from, notification }] of Object.entries(SERVER_EVENTS)) {
    if (from !== "computer" || !notification) continue;
    const payload = { computer: "one" };
    row(() => one.request(event, payload), ["agent", "two"], notification, {
      computer: "one",
    });
  }
  const cancel = { agent: "agent", req_id: "r1" };
  row(
    () => agent.request(CANCEL_TOOL_CALL_EVENT, cancel),
    ["agent", "one", "two"],
    CANCEL_TOOL_CALL_NOTIFICATION,
    cancel,
  );
  row(
    () => agent.request(LEAVE_OFFICE_EVENT, { office_id: "office" }),
    ["one", "two"],
    LEAVE_OFFICE_NOTIFICATION,
    { office_id: "office", agent: "agent" },
  );
  row(
    () => agent.join("agent", "renamed", "office"),
    ["one", "two"],
    ENTER_OFFICE_NOTIFICATION,
    { office_id: "office", agent: "renamed" },
  );
  row(
    () => nobody.join("computer", "three", "office"),
    ["agent", "one", "two"],
    ENTER_OFFICE_NOTIFICATION,
    { office_id: "office", computer: "three" },
  );
  for (const [act, expected] of rows) {
    await act();
    assertEquals(await heard(), expected);
  }
  // A switch: one office is notified of the leave, the other of the join.
  await two.join("computer", "two", "elsewhere");
  const entered = { office_id: "elsewhere", computer: "two" };
  const left = { office_id: "office", computer: "two" };
  assertEquals(await heard(), {
    agent: [[LEAVE_OFFICE_NOTIFICATION, left]],
    one: [[LEAVE_OFFICE_NOTIFICATION, left]],
    nobody: [[LEAVE_OFFICE_NOTIFICATION, left]],
    far: [[ENTER_OFFICE_NOTIFICATION, entered]],
    farther: [[ENTER_OFFICE_NOTIFICATION, entered]],
  });
  // A lost connection counts as leaving.
  nobody.socket.io.engine.close();
  const gone = { office_id: "office", computer: "three" };
  assertEquals(await agent.next(LEAVE_OFFICE_NOTIFICATION), gone);
  assertEquals(await heard(), { one: [[LEAVE_OFFICE_NOTIFICATION, gone]] });
});

for (const way of ["leaves", "switches", "is gone"] as const) {
  Deno.test(`leave_office is sent before the member is removed: when it ${way} (spec §3)`, async () => {
    await using server = createSmcpServer();
    const { url } = await server.listen();
    await using pair = await rawPair(url);
    const { agent, computer } = pair;
    const list = async () => {
      const { sessions } = await agent.ask(LIST_ROOM_EVENT, REQUEST) as {
        sessions: { name: string }[];
      };
      return sessions.map(({ name }) => name);
    };
    assertEquals(await list(), ["agent", "computer"]);
    const gone = way === "leaves"
      ? computer.request(LEAVE_OFFICE_EVENT, { office_id: "office" })
      : way === "switches"
      ? computer.join("computer", "computer", "elsewhere")
      : Promise.resolve(computer.socket.disconnect());
    // Both come over one connection, so in the order in which they took effect.
    while ((await list()).length === 2);
    assertEquals(
      agent.heard.map(({ event, payload }) => [event, payload]).at(-1),
      [LEAVE_OFFICE_NOTIFICATION, {
        office_id: "office",
        computer: "computer",
      }],
    );
    await gone;
  });
}

Deno.test("only members act: after leaving, as before joining, every event is 4103 (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using watcher = await joinRaw(url, "computer", "watcher", "office");
  const leave = (client: RawClient) =>
    client.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
  await using agent = await joinRaw(url, "agent", "agent", "office");
  await leave(agent);
  await using computer = await joinRaw(url, "computer", "computer", "office");
  await leave(computer);
  await using fresh = await connectRaw(url);
  const events = [
    ...Object.keys(CLIENT_EVENTS).filter((event) => event !== PUT_BLOB_EVENT),
    ...Object.entries(SERVER_EVENTS)
      .filter(([, { ack }]) => ack !== "office").map(([event]) => event),
  ];
  assertEquals(events.length, 23);
  watcher.heard.splice(0);
  for (const event of events) {
    for (const client of [agent, computer, fresh]) {
      assertEquals(codeOf(await client.ask(event, REQUEST)), 4103, event);
    }
  }
  await watcher.request("notify:barrier");
  assertEquals(watcher.heard, []);
});

Deno.test("list_room is checked in the order payload, member, role, agent, office (spec §5)", async () => {
  await using server = createSmcpServer(ownNamesAlone());
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  await using outsider = await connectRaw(url);
  const wrong = { ...REQUEST, agent: "somebody", office_id: "other" };
  const rows: [RawClient, unknown, number][] = [
    [outsider, { ...wrong, req_id: 1 }, 400],
    [outsider, wrong, 4103],
    [pair.computer, wrong, 403],
    [pair.agent, wrong, 403],
    [pair.agent, { ...wrong, agent: "agent" }, 4104],
  ];
  for (const [client, request, code] of rows) {
    assertEquals(codeOf(await client.ask(LIST_ROOM_EVENT, request)), code);
  }
});

Deno.test("an Agent, a Computer of another office and a Computer that left cannot be called (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  await using _far = await joinRaw(url, "computer", "far", "elsewhere");
  await using gone = await joinRaw(url, "computer", "gone", "office");
  await gone.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
  await using same = await joinRaw(url, "computer", "computer", "elsewhere");
  for (
    const event of Object.keys(CLIENT_EVENTS)
      .filter((event) => event !== PUT_BLOB_EVENT)
  ) {
    for (const computer of ["agent", "far", "gone", "office"]) {
      const request = { ...REQUEST, computer };
      assertEquals(await pair.agent.ask(event, request), {
        code: 404,
        message: `Computer "${computer}" is not in your office`,
        computer,
      });
    }
    // Of two Computers with the same name, the one in the caller's office is called.
    pair.computer.handle(event, (_payload, ack) => ack({ own: true }));
    assertEquals(await pair.agent.ask(event, REQUEST), { own: true });
  }
  await same.request("notify:barrier");
  assertEquals(same.heard, []);
});

Deno.test("updates are accepted from the Computer that took the seat over (spec §9)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const auth = { instance_id: "i" };
  await using agent = await joinRaw(url, "agent", "agent", "office");
  await using old = await joinRaw({ url, auth }, "computer", "pc", "office");
  const gone = old.disconnected();
  await using back = await joinRaw({ url, auth }, "computer", "pc", "office");
  await gone;
  agent.heard.splice(0);
  assertEquals(await back.request(UPDATE_CONFIG_EVENT, { computer: "pc" }), []);
  assertEquals(await agent.next(UPDATE_CONFIG_NOTIFICATION), {
    computer: "pc",
  });
  assertEquals(agent.heard, []);
});

Deno.test("listen() binds to loopback by default (spec §10)", async () => {
  await using server = createSmcpServer();
  const { url, hostname, port } = await server.listen();
  assertEquals([hostname, url], ["127.0.0.1", `http://127.0.0.1:${port}`]);
  const others = Object.values(networkInterfaces()).flat()
    .filter((one) => one && !one.internal && one.family === "IPv4");
  for (const other of others) {
    const answer = await fetch(`http://${other?.address}:${port}/health`)
      .then((response) => response.text(), () => "refused");
    assertEquals(answer, "refused");
  }
});
