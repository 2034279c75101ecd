import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { apiKeys, type SmcpServerOptions } from "../../../../server/mod.ts";
import { Bus } from "../../../support/cluster/bus.ts";
import { runHere, runMain } from "../../../support/command.ts";
import { signedIn, usedGrant } from "../../../support/server/grants.ts";
import {
  nextRequest,
  operate,
  operating,
  TOKEN,
} from "../../../support/server/operator_client.ts";
import { connectRaw } from "../../../support/wire/raw_client.ts";

const CALL = {
  agent: "planner",
  req_id: "r1",
  computer: "pc",
  tool_name: "wait",
  params: {},
  timeout: 60,
};
const ORDER = { reason: "because" };
const CANCEL = "/offices/north/calls/cancel";

/** Two nodes with an operator. */
async function twoNodes(
  onLeft: SmcpServerOptions = { operator: { token: TOKEN } },
  onRight = onLeft,
) {
  const bus = new Bus();
  const stack = new AsyncDisposableStack();
  const serve = async (name: string, options: SmcpServerOptions) => {
    const { server, url } = await bus.serve(name, options);
    stack.use(server);
    return operating(url, stack);
  };
  const left = await serve("left", onLeft);
  const right = await serve("right", onRight);
  return { ...left, bus, left, right };
}

/** Two nodes, and an Agent on the left one whose call waits for a Computer on the right one. */
async function calling() {
  const nodes = await twoNodes();
  const agent = await nodes.left.join("agent", "planner");
  const computer = await nodes.right.join("computer", "pc");
  await agent.next("notify:enter_office");
  const call = async () => {
    const called = nextRequest(computer);
    const answer = agent.ask("client:tool_call", CALL);
    await called;
    return { answer };
  };
  return { ...nodes, agent, computer, call };
}

Deno.test("nodes: an operator of any sees offices, members, calls and counters of all", async () => {
  await using two = await calling();
  await two.call();
  for (const [at, other] of [["left", "right"], ["right", "left"]] as const) {
    const get = async (path: string) => (await two[at].get(path)).body;
    assertEquals(await get("/offices"), {
      node: at,
      offices: [{
        office: "north",
        node: "left", // its home
        agent: "planner",
        computers: 1,
        pending_calls: 1,
      }],
    });
    const { members } = await get("/offices/north/members");
    const seen = members.map((m: Record<string, unknown>) =>
      [m.name, m.address, m.pending_calls, m.calls].join()
    );
    assertEquals(seen, ["planner,127.0.0.1,1,1", "pc,127.0.0.1,1,1"]);
    for (const path of ["/calls", "/offices/north/calls"]) {
      const { calls } = await get(path);
      const ids = calls.map((c: Record<string, unknown>) => c.req_id);
      assertEquals(ids, ["r1"], path);
    }
    const { offices, members: all, pending_calls, nodes } = await get(
      "/status",
    );
    assertEquals([offices, all, pending_calls, nodes.length], [1, 2, 1, 1]);
    const [{ node, process }] = nodes;
    assertEquals([node, process.connections], [other, 1]);
  }
  const at = ["--url", two.right.url, "--token", TOKEN];
  assertMatch(
    (await runHere("server", ["offices", ...at])).stdout,
    /^OFFICE .*NODE.*\nnorth .*left\n$/,
  );
});

Deno.test("nodes: a call of another node's Agent is cancelled, once", async () => {
  await using two = await calling();
  const { answer } = await two.call();
  const order = { req_id: "r1", ...ORDER };
  const cancel = await two.right.post(CANCEL, order);
  assertEquals(cancel.body, { node: "right", done: 1 });
  assertEquals(await answer, {
    code: 403,
    message: "Cancelled by an operator: because",
  });
  assertEquals(
    await two.computer.next("notify:tool_call_cancel"),
    { agent: "planner", req_id: "r1", reason: "operator" },
  );
  const again = await two.right.post(CANCEL, order);
  assertEquals([again.status, again.body.errors[0].field], [404, "req_id"]);
});

Deno.test("nodes: a member of another node is kicked, and its seat is closed on all", async () => {
  await using two = await calling();
  const { left, right, computer, agent } = two;
  const kick = await left.post(`/members/${computer.socket.id}/kick`, ORDER);
  assertEquals(kick.body, { node: "left", done: 1 });
  await agent.next("notify:leave_office");
  for (const { url } of [left, right]) {
    await using back = await connectRaw(url);
    const refused = [false, "Kicked by an operator: because"];
    assertEquals(await back.join("computer", "pc", "north"), refused, url);
  }
  const unknown = await left.post("/members/nobody/kick", ORDER);
  assertEquals([unknown.status, unknown.body.errors[0].field], [404, "id"]);
});

Deno.test("nodes: a stream has the events of all, each once, with the node of those of others", async () => {
  await using two = await calling();
  const streams = [await two.left.events(), await two.right.events()];
  for (const stream of streams) await stream.nextOf("open");
  // The other node is asked as soon as a stream is open; it has answered before the next question.
  await two.left.get("/status");
  await two.right.get("/status");
  await two.call();
  await two.right.post(CANCEL, { req_id: "r1", ...ORDER });
  two.computer.socket.disconnect();
  for (const [at, stream] of streams.entries()) {
    const home = at === 0 ? undefined : "left";
    const seen: string[] = [];
    const has = (kind: string) => seen.some((event) => event.startsWith(kind));
    // The events of one node come in order; those of two as they arrive.
    while (!has("left") || !has("call_ended")) {
      const { kind, data } = await stream.next();
      seen.push(`${kind} ${data.name ?? data.req_id} ${data.node}`);
    }
    const kinds = ["call_began", "call_cancelled", "call_ended"];
    const calls = kinds.map((kind) => `${kind} r1 ${home}`);
    assertEquals(seen.filter((event) => event.includes(" r1 ")), calls);
    assertEquals(seen.toSorted(), [...calls, `left pc ${home}`]);
  }
});

Deno.test("nodes: one that does not answer is named, and its clients are known at the home of their office", async () => {
  await using two = await calling();
  two.bus.isConnected = false;
  const { status, body } = await two.left.get("/offices/north/members");
  assertEquals([status, body.unanswered], [200, ["right"]]);
  const [, pc] = body.members;
  assertEquals([pc.name, pc.address], ["pc", "127.0.0.1"]);
  const kick = await two.left.post("/members/nobody/kick", ORDER);
  assertEquals([kick.status, kick.body.errors[0].field], [503, "server"]);
  assert(two.computer.socket.connected);
  two.bus.isConnected = true;
});

/** Two nodes with keys; the commands ask the left one. */
async function withKeys(right: SmcpServerOptions = {}) {
  const keys = () => ({
    authenticator: apiKeys([
      { id: "ops", key: "ops-key", roles: ["operator"] },
      { id: "pc", key: "pc-key" },
    ]),
  });
  const nodes = await twoNodes(keys(), { ...keys(), ...right });
  const env = { SMCP_URL: nodes.left.url, SMCP_TOKEN: "ops-key" };
  const run = (...args: string[]) => runMain("server", args, { env });
  const revoke = () => run("key", "revoke", "pc", "--reason", "it leaked");
  return { ...nodes, run, revoke };
}

Deno.test("nodes: a key is revoked on all; where one does not answer the commands name it, and the key is not revoked", async () => {
  await using nodes = await withKeys();
  const { bus, left, right, run, revoke } = nodes;
  const auth = { api_key: "pc-key" };
  await using computer = await connectRaw(right.url, { auth });
  bus.isConnected = false;
  assertEquals(await run("offices"), {
    code: 0,
    stdout: "no office that you may see has members\n",
    stderr:
      "warning: no answer from the node right: its entries are missing from this list\n",
  });
  const { code, stderr } = await revoke();
  assertEquals(code, 1);
  assertStringIncludes(
    stderr,
    "no answer from the node right: all others refuse pc; try again",
  );
  bus.isConnected = true;
  const post = { principal: "key:pc", ...ORDER };
  const done = await operate(left.url, "/keys/revoke", {
    token: "ops-key",
    post,
  });
  assertEquals(done.body, { node: "left", done: 2 });
  await computer.disconnected();
  const again = await revoke();
  assertEquals([again.code, again.stderr], [0, ""]);
});

Deno.test("nodes: one that was started with --no-operator is named, and a key that may count there is not revoked", async () => {
  await using nodes = await withKeys({ operator: false });
  const { body } = await nodes.left.get("/offices", "ops-key");
  assertEquals(body, { node: "left", not_operated: ["right"], offices: [] });
  assertEquals(
    (await nodes.run("offices")).stderr,
    "warning: the operator API is off, by --no-operator, on the node right: its entries are missing from this list\n",
  );
  const { code, stderr } = await nodes.revoke();
  assertEquals(code, 1);
  assertStringIncludes(stderr, "the node right: all others refuse pc");
});

Deno.test("nodes: a stream ends when events of another node are missing, and says so when it goes on", async () => {
  await using nodes = await twoNodes();
  const { left, bus } = nodes;
  const stream = await left.events();
  const { id } = await stream.nextOf("open");
  await left.get("/status");
  bus.lose("left", "right");
  const { data } = await stream.nextOf("end");
  assertEquals(data.reason, "events of the node right were missed");
  const again = await left.events({ lastEventId: id });
  assertEquals((await again.nextOf("open")).data, { missed: true });
});

Deno.test("nodes: an operator asks a Computer of another node, and cancels there", async () => {
  await using nodes = await twoNodes();
  const { left, right } = nodes;
  const pc = "/offices/north/computers/pc";
  const computer = await right.join("computer", "pc");
  computer.handle("client:get_config", (_, ack) => ack({ servers: {} }));
  const config = await left.get(`${pc}/config`);
  assertEquals([config.status, config.body], [200, { servers: {} }]);
  const called = nextRequest(computer);
  const leaving = new AbortController();
  const call = { tool_name: "wait", params: {} };
  const answer = left.post(`${pc}/call`, call, leaving.signal)
    .catch(() => "gone");
  const { req_id } = (await called).payload;
  const events = await left.events();
  await events.nextOf("open");
  await left.get("/status"); // behind the question for events
  const about = { agent: "operator", computer: "pc", req_id };
  await computer.request("server:tool_call_progress", {
    ...about,
    progress: 0,
    waiting: "confirmation",
  });
  const { data } = await events.nextOf("call_waiting");
  assertEquals(
    [data.req_id, data.computer, data.waiting],
    [req_id, "pc", "confirmation"],
  );
  const { body } = await left.get("/calls");
  const [listed] = body.calls;
  assertEquals(
    [listed.req_id, listed.computer, listed.waiting],
    [req_id, "pc", "confirmation"],
  );
  assert(listed.waiting_ms >= 0 && listed.waiting_ms <= listed.ms);
  leaving.abort();
  await answer;
  assertEquals(
    await computer.next("notify:tool_call_cancel"),
    { agent: "operator", req_id, reason: "operator" },
  );
});

Deno.test("nodes: any lists the sign-ins of all, and ends them", async () => {
  await using two = await twoNodes({
    operator: { token: TOKEN },
    ...await signedIn([usedGrant()]),
  });
  const { left, right } = two;
  for (const [node, { get }] of Object.entries({ left, right })) {
    const { body } = await get("/grants");
    assertEquals([body.node, body.grants.length], [node, 1]);
  }
  const { body } = await right.post("/grants/end", { id: "g1", ...ORDER });
  assertEquals([body.node, body.ended.length], ["right", 1]);
  assertEquals((await left.get("/grants")).body.grants, []);
});
