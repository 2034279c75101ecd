import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  ENTER_OFFICE_NOTIFICATION,
  GET_CONFIG_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
} from "../../../../protocol/mod.ts";
import { OPERATOR_AGENT } from "../../../../protocol/payloads/tools.ts";
import { apiKeys } from "../../../../server/mod.ts";
import { runMain } from "../../../support/command.ts";
import { Bus } from "../../../support/cluster/bus.ts";
import {
  openEvents,
  operate,
} from "../../../support/server/operator_client.ts";
import { connectRaw, joinRaw } from "../../../support/wire/raw_client.ts";

const operator = { token: "0123456789abcdef0123456789abcdef" };

/** Two nodes, an Agent on the left one that waits for a Computer on the right one. */
async function officeOfTwo() {
  const bus = new Bus();
  const left = await bus.serve("left", { operator });
  const right = await bus.serve("right", { operator });
  const agent = await joinRaw(left.url, "agent", "planner", "north");
  const computer = await joinRaw(right.url, "computer", "pc", "north");
  await agent.next(ENTER_OFFICE_NOTIFICATION);
  const called = Promise.withResolvers<void>();
  computer.handle(TOOL_CALL_EVENT, () => called.resolve());
  const call = (req_id: string) =>
    agent.ask(TOOL_CALL_EVENT, {
      agent: "planner",
      ...{ req_id, computer: "pc", tool_name: "wait" },
      params: {},
      timeout: 60,
    });
  return {
    bus,
    left: left.url,
    right: right.url,
    agent,
    computer,
    /** Calls, and resolves when the Computer has been called. */
    async called(req_id: string) {
      const answer = call(req_id);
      await called.promise;
      return { answer };
    },
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await computer[Symbol.asyncDispose]();
      await left.server.close();
      await right.server.close();
    },
  };
}

Deno.test("nodes: an operator of any sees offices, members, calls and counters of all", async () => {
  await using two = await officeOfTwo();
  const { answer } = await two.called("r1");
  answer.catch(() => {});
  const get = async (url: string, path: string) =>
    (await operate(url, path, operator)).body;
  for (
    const [url, node, other] of [[two.left, "left", "right"], [
      two.right,
      "right",
      "left",
    ]] as const
  ) {
    assertEquals(await get(url, "/offices"), {
      node,
      offices: [{
        office: "north",
        node: "left", // its home
        agent: "planner",
        computers: 1,
        pending_calls: 1,
      }],
    });
    const { members } = await get(url, "/offices/north/members");
    assertEquals(
      members.map((m: Record<string, unknown>) => [
        m.name,
        m.address,
        m.pending_calls,
        m.calls,
      ]),
      [["planner", "127.0.0.1", 1, 1], ["pc", "127.0.0.1", 1, 1]],
    );
    const { calls } = await get(url, "/offices/north/calls");
    assertEquals(calls.map((c: Record<string, unknown>) => c.req_id), ["r1"]);
    const status = await get(url, "/status");
    assertEquals(
      [status.offices, status.members, status.pending_calls],
      [1, 2, 1],
    );
    assertEquals(
      status.nodes.map((n: Record<string, Record<string, unknown>>) => [
        n.node,
        n.process?.connections,
      ]),
      [[other, 1]],
    );
  }
});

Deno.test("nodes: a call of another node's Agent is cancelled, once", async () => {
  await using two = await officeOfTwo();
  const { answer } = await two.called("r1");
  const path = "/offices/north/calls/cancel";
  const post = { req_id: "r1", reason: "because" };
  const cancel = await operate(two.right, path, { ...operator, post });
  assertEquals(cancel.body, { node: "right", done: 1 });
  assertEquals(await answer, {
    code: 403,
    message: "Cancelled by an operator: because",
  });
  assertEquals(await two.computer.next(CANCEL_TOOL_CALL_NOTIFICATION), {
    agent: "planner",
    req_id: "r1",
    reason: "operator",
  });
  const again = await operate(two.right, path, { ...operator, post });
  assertEquals([again.status, again.body.errors[0].field], [404, "req_id"]);
});

Deno.test("nodes: a member of another node is kicked, and its seat is closed on all", async () => {
  await using two = await officeOfTwo();
  const { left, right, computer, agent } = two;
  const kick = await operate(left, `/members/${computer.socket.id}/kick`, {
    ...operator,
    post: { reason: "because" },
  });
  assertEquals(kick.body, { node: "left", done: 1 });
  await agent.next(LEAVE_OFFICE_NOTIFICATION);
  for (const url of [left, right]) {
    await using back = await connectRaw(url);
    assertEquals(
      await back.join("computer", "pc", "north"),
      [false, "Kicked by an operator: because"],
      url,
    );
  }
  const unknown = await operate(left, "/members/nobody/kick", {
    ...operator,
    post: { reason: "because" },
  });
  assertEquals([unknown.status, unknown.body.errors[0].field], [404, "id"]);
});

Deno.test("nodes: a key is revoked on all", async () => {
  const bus = new Bus();
  const serve = (name: string) =>
    bus.serve(name, {
      authenticator: apiKeys([
        { id: "ops", key: "ops-key", roles: ["operator"] },
        { id: "pc", key: "pc-key" },
      ]),
    });
  const left = await serve("left");
  const right = await serve("right");
  await using _left = left.server;
  await using _right = right.server;
  await using computer = await connectRaw(right.url, {
    auth: { api_key: "pc-key" },
  });
  const revoke = await operate(left.url, "/keys/revoke", {
    token: "ops-key",
    post: { principal: "key:pc", reason: "it leaked" },
  });
  assertEquals(revoke.body, { node: "left", done: 2 });
  await computer.disconnected();
});

Deno.test("nodes: a stream has the events of all, each once, with the node of those of others", async () => {
  await using two = await officeOfTwo();
  await using here = await openEvents(two.left, operator);
  await using there = await openEvents(two.right, operator);
  for (const stream of [here, there]) await stream.nextOf("open");
  // The other node is asked as soon as a stream is open; what follows that is told.
  await operate(two.left, "/status", operator);
  await operate(two.right, "/status", operator);
  const { answer } = await two.called("r1");
  answer.catch(() => {});
  await operate(two.right, "/offices/north/calls/cancel", {
    ...operator,
    post: { req_id: "r1", reason: "because" },
  });
  await two.computer.socket.disconnect();
  for (
    const [stream, home] of [[here, undefined], [there, "left"]] as const
  ) {
    const seen: string[] = [];
    const has = (kind: string) => seen.some((event) => event.startsWith(kind));
    // The events of one node come in order; those of two as they arrive.
    while (!has("left") || !has("call_ended")) {
      const { kind, data } = await stream.next();
      seen.push(`${kind} ${data.name ?? data.req_id} ${data.node}`);
    }
    assertEquals(seen.filter((event) => event.includes(" r1 ")), [
      `call_began r1 ${home}`,
      `call_cancelled r1 ${home}`,
      `call_ended r1 ${home}`,
    ]);
    assertEquals(seen.filter((event) => !event.includes(" r1 ")), [
      `left pc ${home}`,
    ]);
  }
});

Deno.test("nodes: one that does not answer is named, and its clients are known at the home of their office", async () => {
  await using two = await officeOfTwo();
  two.bus.isConnected = false;
  const { status, body } = await operate(
    two.left,
    "/offices/north/members",
    operator,
  );
  assertEquals([status, body.unanswered], [200, ["right"]]);
  const [, pc] = body.members;
  assertEquals([pc.name, pc.address], ["pc", "127.0.0.1"]);
  const kick = await operate(two.left, "/members/nobody/kick", {
    ...operator,
    post: { reason: "because" },
  });
  assertEquals([kick.status, kick.body.errors[0].field], [503, "server"]);
  assert(two.computer.socket.connected);
  two.bus.isConnected = true;
});

Deno.test("nodes: the commands name one that does not answer, and a key that may count there is not revoked", async () => {
  const bus = new Bus();
  const authenticator = apiKeys([
    { id: "ops", key: "ops-key", roles: ["operator"] },
    { id: "pc", key: "pc-key" },
  ]);
  const left = await bus.serve("left", { authenticator });
  const right = await bus.serve("right", { authenticator });
  await using _left = left.server;
  await using _right = right.server;
  bus.isConnected = false;
  const env = { SMCP_URL: left.url, SMCP_TOKEN: "ops-key" };
  const offices = await runMain("server", ["offices"], { env });
  assertEquals(offices, {
    code: 0,
    stdout: "nobody is in any office that you may see\n",
    stderr:
      "warning: no answer came from the node right: what is there is missing here\n",
  });
  const revoke = await runMain("server", [
    ...["key", "revoke", "pc", "--reason", "it leaked"],
  ], { env });
  assertEquals(revoke.code, 1);
  assertStringIncludes(
    revoke.stderr,
    "no answer came from the node right: pc is refused by all others; try again",
  );
  bus.isConnected = true;
  const again = await runMain("server", [
    ...["key", "revoke", "pc", "--reason", "it leaked"],
  ], { env });
  assertEquals([again.code, again.stderr], [0, ""]);
});

Deno.test("nodes: one that was started with --no-operator is named, and a key that may count there is not revoked", async () => {
  const bus = new Bus();
  const authenticator = apiKeys([
    { id: "ops", key: "ops-key", roles: ["operator"] },
    { id: "pc", key: "pc-key" },
  ]);
  const left = await bus.serve("left", { authenticator });
  const right = await bus.serve("right", { authenticator, operator: false });
  await using _left = left.server;
  await using _right = right.server;
  const { body } = await operate(left.url, "/offices", { token: "ops-key" });
  assertEquals(body, { node: "left", not_operated: ["right"], offices: [] });
  const env = { SMCP_URL: left.url, SMCP_TOKEN: "ops-key" };
  const offices = await runMain("server", ["offices"], { env });
  assertEquals(
    offices.stderr,
    "warning: operators cannot ask, because of --no-operator, the node right: what is there is missing here\n",
  );
  const revoke = await runMain("server", [
    ...["key", "revoke", "pc", "--reason", "it leaked"],
  ], { env });
  assertEquals(revoke.code, 1);
  assertStringIncludes(revoke.stderr, "the node right: pc is refused by all");
});

Deno.test("nodes: a stream ends when events of another node are missing, and says so when it goes on", async () => {
  await using two = await officeOfTwo();
  await using stream = await openEvents(two.left, operator);
  const open = await stream.nextOf("open");
  await operate(two.left, "/status", operator);
  two.bus.lose("left", "right");
  const { data } = await stream.nextOf("end");
  assertEquals(data.reason, "events of the node right were missed");
  await using again = await openEvents(two.left, {
    ...operator,
    lastEventId: open.id,
  });
  assertEquals((await again.nextOf("open")).data, { missed: true });
});

Deno.test("nodes: an operator asks a Computer of another node, and cancels there", async () => {
  const bus = new Bus();
  const PC = "/offices/north/computers/pc";
  const left = await bus.serve("left", { operator });
  const right = await bus.serve("right", { operator });
  await using _left = left.server;
  await using _right = right.server;
  await using computer = await joinRaw(right.url, "computer", "pc", "north");
  computer.handle(GET_CONFIG_EVENT, (_request, ack) => ack({ servers: {} }));
  const config = await operate(left.url, `${PC}/config`, operator);
  assertEquals([config.status, config.body], [200, { servers: {} }]);
  const called = Promise.withResolvers<Record<string, unknown>>();
  computer.handle(
    TOOL_CALL_EVENT,
    (payload) => called.resolve(payload as Record<string, unknown>),
  );
  const leaving = new AbortController();
  const answer = fetch(`${left.url}/operator/v1${PC}/call`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${operator.token}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({ tool_name: "wait", params: {} }),
    signal: leaving.signal,
  }).catch(() => "gone");
  const { req_id } = await called.promise;
  await using events = await openEvents(left.url, operator);
  await events.nextOf("open");
  await operate(left.url, "/status", operator); // behind the question for events
  await computer.request(TOOL_CALL_PROGRESS_EVENT, {
    agent: OPERATOR_AGENT,
    computer: "pc",
    req_id,
    progress: 0,
    waiting: "confirmation",
  });
  const { data } = await events.nextOf("call_waiting");
  assertEquals([data.req_id, data.computer, data.waiting], [
    req_id,
    "pc",
    "confirmation",
  ]);
  leaving.abort();
  await answer;
  assertEquals(await computer.next(CANCEL_TOOL_CALL_NOTIFICATION), {
    agent: OPERATOR_AGENT,
    req_id,
    reason: "operator",
  });
});
