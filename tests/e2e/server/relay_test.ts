import { assertEquals } from "@std/assert";
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  CLIENT_EVENTS,
  ENTER_OFFICE_NOTIFICATION,
  eventOf,
  GET_CONFIG_EVENT,
  GET_TOOLS_EVENT,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  LIST_ROOM_EVENT,
  PROFILES,
  SERVER_EVENTS,
  TOOL_CALL_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { ownNamesAlone } from "../../support/own_names.ts";
import { connectRaw, joinRaw, rawPair } from "../../support/wire/raw_client.ts";
import { slowCluster } from "../../support/server/slow_cluster.ts";

/** Valid for all of them. */
const REQUEST = {
  agent: "agent",
  req_id: "r1",
  computer: "computer",
  tool_name: "echo",
  params: { deep: [{ a: null }], list: [] },
  timeout: 60,
  mcp_server: "files",
  uri: "dpe://host/doc",
  name: "prompt",
  blob_handle: "handle",
  watch: true,
  later_field: { kept: [true] },
};

/** What the Server routes in 0.2. */
const ROUTED = Object.keys(CLIENT_EVENTS)
  .filter((event) => eventOf(PROFILES["0.2"], event) !== undefined);

const UPDATES = Object.entries(SERVER_EVENTS).flatMap(([event, spec]) =>
  spec.from === "computer" && spec.notification
    ? [{ event, notification: spec.notification }]
    : []
);

const codeOf = (answer: unknown) => (answer as { code?: unknown }).code;

Deno.test("the server routes all client events, request and answer unchanged (spec §3, §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  assertEquals(ROUTED.length, 14);
  for (const event of ROUTED) {
    let seen: unknown;
    const answer = { content: [], event, nested: { list: [1, "2", null] } };
    pair.computer.handle(event, (payload, ack) => {
      seen = payload;
      ack(answer, "further arguments", { are: "dropped" });
    });
    assertEquals(await pair.agent.request(event, REQUEST), [answer]);
    assertEquals(seen, REQUEST);
  }
});

Deno.test("binary data passes both ways", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const bytes = new Uint8Array([1, 2, 250]);
  let seen: unknown;
  pair.computer.handle(TOOL_CALL_EVENT, (payload, ack) => {
    seen = (payload as { params: { bytes: Uint8Array } }).params.bytes;
    ack({ content: [], bytes });
  });
  const answer = await pair.agent.ask(TOOL_CALL_EVENT, {
    ...REQUEST,
    params: { bytes },
  }) as { bytes: Uint8Array };
  assertEquals(new Uint8Array(answer.bytes), bytes);
  assertEquals(new Uint8Array(seen as Uint8Array), bytes);
});

Deno.test("a request is checked in the order payload, member, role, agent, target (spec §5)", async () => {
  await using server = createSmcpServer(ownNamesAlone());
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  await using outsider = await connectRaw(url);
  await using _elsewhere = await joinRaw(url, "computer", "hidden", "other");
  const wrong = { ...REQUEST, agent: "somebody", computer: "hidden" };
  for (const event of ROUTED) {
    const invalid = await outsider.ask(event, { ...wrong, req_id: 7 });
    assertEquals(codeOf(invalid), 400, event);
    assertEquals(JSON.stringify(invalid).includes("req_id"), true);
    assertEquals(codeOf(await outsider.ask(event, wrong)), 4103, event);
    assertEquals(codeOf(await pair.computer.ask(event, wrong)), 403, event);
    assertEquals(codeOf(await pair.agent.ask(event, wrong)), 403, event);
    const hidden = await pair.agent.ask(event, {
      ...REQUEST,
      computer: "hidden",
    });
    const nobody = await pair.agent.ask(event, {
      ...REQUEST,
      computer: "nobody",
    });
    assertEquals(codeOf(hidden), 404, event);
    assertEquals(
      JSON.stringify(hidden),
      JSON.stringify(nobody).replaceAll("nobody", "hidden"),
      "the answer does not tell whether another office has it",
    );
  }
});

Deno.test("the server answers 500 if a computer's answer is not an object (spec §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  for (const odd of [[], [null], ["text"], [[{}]], [true, {}]]) {
    pair.computer.handle(GET_TOOLS_EVENT, (_payload, ack) => ack(...odd));
    const answer = await pair.agent.request(GET_TOOLS_EVENT, REQUEST);
    assertEquals([answer.length, codeOf(answer[0])], [1, 500]);
  }
  const error = { code: 404, message: "no such server", mcp_server: "files" };
  pair.computer.handle(GET_TOOLS_EVENT, (_payload, ack) => ack(error));
  assertEquals(await pair.agent.request(GET_TOOLS_EVENT, REQUEST), [error]);
});

Deno.test("the server answers 408 if a computer does not answer in time; its late answer is dropped (spec §7)", async () => {
  await using server = createSmcpServer({ requestTimeoutMs: 50 });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  let late = () => {};
  pair.computer.handle(GET_TOOLS_EVENT, (_payload, ack) => {
    late = () => ack({ tools: ["late"] });
  });
  assertEquals(codeOf(await pair.agent.ask(GET_TOOLS_EVENT, REQUEST)), 408);
  late();
  pair.computer.handle(GET_TOOLS_EVENT, (_payload, ack) => ack({ tools: [] }));
  let answer: unknown;
  do answer = await pair.agent.ask(GET_TOOLS_EVENT, REQUEST); while (
    codeOf(answer) === 408 // on a busy machine, the answer in time may be late, too
  );
  assertEquals(answer, { tools: [] });
});

for (const way of ["disconnects", "leaves", "switches"] as const) {
  Deno.test(`a computer that ${way} fails its pending requests with 404 immediately (spec §5)`, async () => {
    await using server = createSmcpServer();
    const { url } = await server.listen();
    await using pair = await rawPair(url);
    const { agent, computer } = pair;
    const calls = [TOOL_CALL_EVENT, GET_TOOLS_EVENT, GET_CONFIG_EVENT].map(
      (event) => agent.ask(event, REQUEST),
    );
    await computer.next(GET_CONFIG_EVENT);
    if (way === "disconnects") computer.socket.disconnect();
    if (way === "leaves") {
      await computer.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
    }
    if (way === "switches") {
      await computer.join("computer", "computer", "other");
    }
    for (const answer of await Promise.all(calls)) {
      const { code, message, reason } = answer as Record<string, unknown>;
      assertEquals([code, typeof message, reason], [
        404,
        "string",
        "computer disconnected",
      ]);
    }
    await agent.next(LEAVE_OFFICE_NOTIFICATION);
    assertEquals(codeOf(await agent.ask(TOOL_CALL_EVENT, REQUEST)), 404);
  });
}

Deno.test("a vanished agent is forgotten silently: no crash, no notification of the call (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using computer = await joinRaw(url, "computer", "computer", "office");
  let answer = () => {};
  {
    await using agent = await joinRaw(url, "agent", "agent", "office");
    agent.socket.emit(TOOL_CALL_EVENT, REQUEST, () => {});
    const asked = Promise.withResolvers<void>();
    computer.handle(TOOL_CALL_EVENT, (_payload, ack) => {
      answer = () => ack({ content: [] });
      asked.resolve();
    });
    await asked.promise;
  }
  await computer.next(LEAVE_OFFICE_NOTIFICATION);
  answer();
  await computer.request("notify:barrier");
  assertEquals(computer.heard, []);
});

Deno.test("the pending calls of an agent that left its office are answered 4103 (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const call = pair.agent.ask(TOOL_CALL_EVENT, REQUEST);
  await pair.computer.next(TOOL_CALL_EVENT);
  await pair.agent.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
  assertEquals(codeOf(await call), 4103);
});

Deno.test("a cancel overtakes the call that it cancels, and goes to the whole office, including the caller (spec §3, §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  await using other = await joinRaw(url, "computer", "other", "office");
  await using outsider = await joinRaw(url, "computer", "far", "elsewhere");
  const { agent, computer } = pair;
  const call = agent.ask(TOOL_CALL_EVENT, REQUEST);
  const ack = Promise.withResolvers<(...args: unknown[]) => void>();
  computer.handle(TOOL_CALL_EVENT, (_payload, answer) => ack.resolve(answer));
  const answer = await ack.promise;

  const cancel = { agent: "agent", req_id: "r1" };
  assertEquals(
    await agent.request(CANCEL_TOOL_CALL_EVENT, { ...cancel, more: 1 }),
    [],
  );
  for (const member of [agent, computer, other]) {
    assertEquals(await member.next(CANCEL_TOOL_CALL_NOTIFICATION), cancel);
  }
  answer({ content: [], isError: true });
  assertEquals(await call, { content: [], isError: true });
  await outsider.request("notify:barrier");
  assertEquals(outsider.heard, []);
});

Deno.test("a cancel that an agent sent just before it disconnected is delivered (spec §3, §7)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using computer = await joinRaw(url, "computer", "computer", "office");
  const cancel = { agent: "agent", req_id: "r1" };
  for (let round = 0; round < 20; round++) {
    await using agent = await joinRaw(url, "agent", "agent", "office");
    agent.socket.emit(CANCEL_TOOL_CALL_EVENT, cancel);
    agent.socket.disconnect();
    await computer.next(ENTER_OFFICE_NOTIFICATION);
    await computer.heardOf(LEAVE_OFFICE_NOTIFICATION);
    assertEquals(computer.heard.map(({ event }) => event), [
      CANCEL_TOOL_CALL_NOTIFICATION,
      LEAVE_OFFICE_NOTIFICATION,
    ]);
    await computer.next(LEAVE_OFFICE_NOTIFICATION);
  }
});

Deno.test("each update of a computer reaches only the other members of its office (spec §3, §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  await using outsider = await joinRaw(url, "agent", "far", "elsewhere");
  const { agent, computer } = pair;
  assertEquals(UPDATES.length, 6);
  for (const { event, notification } of UPDATES) {
    const payload = { computer: "computer", more: { dropped: true } };
    assertEquals(await computer.request(event, payload), []);
    assertEquals(await agent.next(notification), { computer: "computer" });
  }
  for (const client of [computer, outsider]) {
    await client.request("notify:barrier");
    assertEquals(client.heard, []);
  }
});

Deno.test("updates: only from members, from computers, and about themselves; the ack carries the error (spec §3, §5)", async () => {
  await using server = createSmcpServer(ownNamesAlone());
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  await using outsider = await connectRaw(url);
  for (const { event } of UPDATES) {
    const about = (computer: unknown) => ({ computer });
    assertEquals(codeOf(await outsider.ask(event, about(7))), 400);
    assertEquals(codeOf(await outsider.ask(event, about("x"))), 4103);
    assertEquals(codeOf(await pair.agent.ask(event, about("agent"))), 403);
    assertEquals(codeOf(await pair.computer.ask(event, about("x"))), 403);
  }
  const cancel = { agent: "somebody", req_id: "1" };
  const event = CANCEL_TOOL_CALL_EVENT;
  assertEquals(codeOf(await outsider.ask(event, {})), 400);
  assertEquals(codeOf(await outsider.ask(event, cancel)), 4103);
  assertEquals(codeOf(await pair.computer.ask(event, cancel)), 403);
  assertEquals(codeOf(await pair.agent.ask(event, cancel)), 403);
  await pair.agent.request("notify:barrier");
  assertEquals(pair.agent.heard, []);
});

Deno.test("an agent that gives another name acts under the name of its seat: for the computer, in notifications and in the audit log (spec §5)", async () => {
  using log = captureLog();
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  const claim = { agent: "agent-7", req_id: "r1" };
  for (const event of ROUTED) {
    let seen: unknown;
    computer.handle(event, (payload, ack) => {
      seen = payload;
      ack({ content: [] });
    });
    const answer = await agent.request(event, { ...REQUEST, ...claim });
    assertEquals(answer, [{ content: [] }]);
    assertEquals(seen, REQUEST, event);
  }
  const office_id = "office";
  const { sessions } = await agent.ask(LIST_ROOM_EVENT, {
    ...claim,
    office_id,
  }) as { sessions: { name: string }[] };
  assertEquals(sessions.map(({ name }) => name), ["agent", "computer"]);
  assertEquals(await agent.request(CANCEL_TOOL_CALL_EVENT, claim), []);
  for (const member of [agent, computer]) {
    assertEquals(await member.next(CANCEL_TOOL_CALL_NOTIFICATION), {
      ...claim,
      agent: "agent",
    });
  }
  const calls = log.audit.filter(({ event }) => event === "tool_call");
  assertEquals(calls.map(({ agent }) => agent), ["agent"]);
});

Deno.test("calls of an agent that gives another name belong to its seat: binary data passes, its own limit counts (spec §5, §10)", async () => {
  await using server = createSmcpServer({ limits: { callsPerAgent: 1 } });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const { agent, computer } = pair;
  const asked = Promise.withResolvers<{ bytes: Uint8Array }>();
  const answer = Promise.withResolvers<void>();
  computer.handle(TOOL_CALL_EVENT, (payload, ack) => {
    const { agent, params } = payload as {
      agent: string;
      params: { bytes: Uint8Array };
    };
    assertEquals(agent, "agent");
    asked.resolve(params);
    answer.promise.then(() => ack({ content: [] }));
  });
  const bytes = new Uint8Array([1, 2, 250]);
  const call = (name: string) =>
    agent.ask(TOOL_CALL_EVENT, {
      ...REQUEST,
      agent: name,
      params: { bytes },
    });
  const first = call("agent-7");
  assertEquals(new Uint8Array((await asked.promise).bytes), bytes);
  assertEquals(codeOf(await call("agent-8")), 429);
  answer.resolve();
  assertEquals(await first, { content: [] });
});

Deno.test("a client's own notify: event is never relayed and gets an empty ack (spec §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  for (const event of ["notify:update_config", "notify:enter_office"]) {
    assertEquals(await pair.computer.request(event, { computer: "x" }), []);
  }
  await pair.agent.request("notify:barrier");
  assertEquals(pair.agent.heard, []);
});

Deno.test("unknown events of every prefix are acked 400 (spec §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using client = await connectRaw(url);
  const events = [
    "client:nope",
    "server:nope",
    "hello",
    "",
    "toString",
    "__proto__",
    "client:tool_call ",
    "CLIENT:tool_call",
  ];
  for (const event of events) {
    assertEquals(codeOf(await client.ask(event, {})), 400, event);
    client.socket.emit(event);
  }
});

Deno.test("offices that take a while to join make no difference for calls", async () => {
  await using server = createSmcpServer({ cluster: slowCluster() });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  pair.computer.handle(
    TOOL_CALL_EVENT,
    (payload, ack) =>
      ack({ content: [], echo: (payload as { req_id: string }).req_id }),
  );
  const answers = await Promise.all(
    Array.from(
      { length: 20 },
      (_, i) => pair.agent.ask(TOOL_CALL_EVENT, { ...REQUEST, req_id: `${i}` }),
    ),
  );
  assertEquals(
    answers.map((answer) => (answer as { echo: string }).echo),
    answers.map((_, i) => `${i}`),
  );
  // Sent while its agent is still leaving: refused, and never forwarded.
  const left = pair.agent.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
  const after = pair.agent.ask(TOOL_CALL_EVENT, REQUEST);
  assertEquals(await left, [true, null]);
  assertEquals(codeOf(await after), 4103);
});

Deno.test("a failing cluster causes an error answer without details (spec §6)", async () => {
  let failing = false;
  const cluster = slowCluster(() => {
    if (failing) throw new Error("redis://user:secret@10.0.0.1 is gone");
  });
  await using server = createSmcpServer({ cluster });
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  pair.computer.handle(TOOL_CALL_EVENT, (_payload, ack) => ack({ ok: 1 }));
  const list = { agent: "agent", office_id: "office", req_id: "r1" };
  failing = true;
  await using late = await connectRaw(url);
  assertEquals(await late.join("computer", "late", "office"), [
    false,
    "Internal error",
  ]);
  // Those who have joined go on.
  assertEquals(await pair.agent.ask(TOOL_CALL_EVENT, REQUEST), { ok: 1 });
  failing = false;
  const answer = await pair.agent.ask(LIST_ROOM_EVENT, list);
  assertEquals((answer as { sessions: unknown[] }).sessions.length, 2);
});

Deno.test("events without acks take effect, too (spec §3)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  pair.agent.socket.emit(TOOL_CALL_EVENT, REQUEST);
  assertEquals(await pair.computer.next(TOOL_CALL_EVENT), REQUEST);
  pair.agent.socket.emit(LEAVE_OFFICE_EVENT, { office_id: "office" });
  await pair.computer.next(LEAVE_OFFICE_NOTIFICATION);
  pair.computer.socket.emit(UPDATE_TOOL_LIST_EVENT, { computer: "x" });
  assertEquals(await pair.computer.request("notify:barrier"), []);
});
