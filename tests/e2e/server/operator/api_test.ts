import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Ajv2020 } from "ajv/dist/2020.js";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  GET_CONFIG_EVENT,
  GET_TOOLS_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  TOOL_CALL_EVENT,
} from "../../../../protocol/mod.ts";
import { SmcpComputer } from "../../../../computer/mod.ts";
import { apiKeys, createSmcpServer } from "../../../../server/mod.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { operate } from "../../../support/server/operator_client.ts";
import { connectRaw, joinRaw } from "../../../support/wire/raw_client.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const operator = { token: TOKEN };

const call = (req_id: string, computer = "pc") => ({
  agent: "planner",
  req_id,
  computer,
  tool_name: "wait",
  params: {},
  timeout: 60,
});

/** A server with an Agent "planner" and a Computer "pc" in "north". */
async function served() {
  const server = createSmcpServer({ operator });
  const { url } = await server.listen();
  const computer = await joinRaw(url, "computer", "pc", "north");
  const agent = await joinRaw(url, "agent", "planner", "north");
  return {
    url,
    agent,
    computer,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await computer[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

Deno.test("operators see offices, members and calls on their way", async () => {
  await using office = await served();
  const { url, agent, computer } = office;
  const called = Promise.withResolvers<(...args: unknown[]) => void>();
  computer.handle(TOOL_CALL_EVENT, (_request, ack) => called.resolve(ack));
  await agent.ask(TOOL_CALL_EVENT, call("no", "nobody"));
  const pending = agent.ask(TOOL_CALL_EVENT, call("r1"));
  const answer = await called.promise;

  assertEquals((await operate(url, "/offices", operator)).body, {
    offices: [{
      office: "north",
      agent: "planner",
      computers: 1,
      pending_calls: 1,
    }],
  });
  const { members } =
    (await operate(url, "/offices/north/members", operator)).body;
  assertEquals(
    members.map((m: Record<string, unknown>) => [
      m.role,
      m.name,
      m.version,
      m.address,
      m.calls,
      m.pending_calls,
      m.id,
    ]),
    [
      ["agent", "planner", "0.2.0", "127.0.0.1", 1, 1, agent.socket.id],
      ["computer", "pc", "0.2.0", "127.0.0.1", 1, 1, computer.socket.id],
    ],
  );
  const [planner] = members;
  assertEquals(planner.last_error.outcome, "error 404");
  assertMatch(planner.since, /^\d{4}-.*Z$/);
  assert(planner.bytes.received > 0 && planner.bytes.sent > 0);
  const { calls } = (await operate(url, "/offices/north/calls", operator)).body;
  assertEquals(
    calls.map(({ ms, ...rest }: { ms: number }) => {
      assert(ms >= 0);
      return rest;
    }),
    [{
      office: "north",
      agent: "planner",
      computer: "pc",
      req_id: "r1",
      request: TOOL_CALL_EVENT,
      tool: "wait",
    }],
  );
  const { body: status } = await operate(url, "/status", operator);
  assertEquals(
    [status.offices, status.members, status.pending_calls],
    [1, 2, 1],
  );
  assertEquals([status.process.calls, status.process.connections], [1, 2]);
  answer({ content: [] });
  await pending;
  assertEquals(
    (await operate(url, "/offices/north/calls", operator)).body.calls,
    [],
  );
});

Deno.test("an operator's cancel ends the call for the Agent, tells the Computer, and is audited", async () => {
  using log = captureLog();
  await using office = await served();
  const { url, agent, computer } = office;
  const called = Promise.withResolvers<void>();
  computer.handle(TOOL_CALL_EVENT, () => called.resolve());
  const pending = agent.ask(TOOL_CALL_EVENT, call("r1"));
  await called.promise;
  const post = { req_id: "r1", reason: "it hangs" };
  const done = await operate(url, "/offices/north/calls/cancel", {
    ...operator,
    post,
  });
  assertEquals([done.status, done.body], [200, { done: 1 }]);
  assertEquals(await pending, {
    code: 403,
    message: "Cancelled by an operator: it hangs",
  });
  assertEquals(await computer.next(CANCEL_TOOL_CALL_NOTIFICATION), {
    agent: "planner",
    req_id: "r1",
    reason: "operator",
  });
  assertEquals(
    log.audit.filter(({ event }) => event === "call_cancelled"),
    [{
      event: "call_cancelled",
      by: "operator",
      reason: "it hangs",
      office: "north",
      agent: "planner",
      computer: "pc",
      req_id: "r1",
      request: TOOL_CALL_EVENT,
    }],
  );
  const again = await operate(url, "/offices/north/calls/cancel", {
    ...operator,
    post,
  });
  assertEquals([again.status, again.type], [404, "application/problem+json"]);
  assertEquals(again.body.errors[0].field, "req_id");
});

Deno.test("a member that is kicked leaves, gets the reason when it rejoins, and stays out for a while", async () => {
  using log = captureLog();
  await using server = createSmcpServer({ operator });
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "planner", "north");
  await using computer = new SmcpComputer({
    url,
    name: "pc",
    servers: [],
    transports: ["websocket"],
  });
  const told = Promise.withResolvers<string>();
  computer.on("rejoinFailed", ({ reason }) => told.resolve(reason));
  await computer.connect();
  await computer.join("north");
  const { members } =
    (await operate(url, "/offices/north/members", operator)).body;
  const { id } = members.find((m: { name: string }) => m.name === "pc");
  const done = await operate(url, `/members/${id}/kick`, {
    ...operator,
    post: { reason: "maintenance" },
  });
  assertEquals([done.status, done.body], [200, { done: 1 }]);
  assertEquals(await agent.next(LEAVE_OFFICE_NOTIFICATION), {
    office_id: "north",
    computer: "pc",
  });
  assertEquals(await told.promise, "Kicked by an operator: maintenance");
  const kicked = log.audit.find(({ event }) => event === "member_kicked");
  assertEquals(
    [kicked?.by, kicked?.reason, kicked?.hold_ms, kicked?.name, kicked?.office],
    ["operator", "maintenance", 60_000, "pc", "north"],
  );
  await using other = await connectRaw(url);
  assertEquals(await other.join("computer", "pc", "south"), [true, null]);
});

Deno.test("the calls of an Agent that is kicked end with the reason, and without a hold it comes back", async () => {
  await using office = await served();
  const { url, agent, computer } = office;
  const called = Promise.withResolvers<void>();
  computer.handle(TOOL_CALL_EVENT, () => called.resolve());
  const pending = agent.ask(TOOL_CALL_EVENT, call("r1"));
  await called.promise;
  const gone = agent.disconnected();
  const { status } = await operate(url, `/members/${agent.socket.id}/kick`, {
    ...operator,
    post: { reason: "too many calls", hold_ms: 0 },
  });
  assertEquals(status, 200);
  assertEquals(await pending, {
    code: 403,
    message: "Kicked by an operator: too many calls",
  });
  await gone;
  await using again = await joinRaw(url, "agent", "planner", "north");
  assert(again.socket.connected);
});

Deno.test("a revoked key ends its sessions and streams, and opens none until the keys are read again", async () => {
  using log = captureLog();
  const keys = [
    { id: "ops", key: "ops-key", roles: ["operator" as const] },
    { id: "lab", key: "lab-key" },
  ];
  let current = apiKeys(keys);
  await using server = createSmcpServer({
    authenticator: {
      authenticate: (credentials) => current.authenticate(credentials),
      refresh: (identity) => current.refresh?.(identity),
      hasOperators: () => current.hasOperators?.() === true,
      revoke: (principal) => current.revoke?.(principal) === true,
    },
  });
  const { url } = await server.listen();
  const lab = { auth: { api_key: "lab-key" } };
  await using computer = await joinRaw(
    { url, ...lab },
    "computer",
    "pc",
    "north",
  );
  const gone = computer.disconnected();
  const revoke = (principal: string) =>
    operate(url, "/keys/revoke", {
      token: "ops-key",
      post: { principal, reason: "leaked" },
    });
  assertEquals((await revoke("key:none")).status, 404);
  assertEquals((await revoke("key:lab")).body, { done: 1 });
  await gone;
  await assertRejects(
    () => connectRaw(url, lab),
    Error,
    "Authentication failed",
  );
  assert(
    log.audit.some(({ event, principal, by }) =>
      event === "key_revoked" && principal === "key:lab" && by === "key:ops"
    ),
  );
  current = apiKeys(keys);
  await server.recheckSessions();
  await using back = await joinRaw({ url, ...lab }, "computer", "pc", "north");
  assert(back.socket.connected);
});

Deno.test("members of several protocol versions are in one office, each with its version", async () => {
  await using server = createSmcpServer({ operator, protocol: "all" });
  const { url } = await server.listen();
  await using old = await joinRaw(url, "computer", "pc", "north");
  await using young = await joinRaw(
    { url, version: "0.4.0" },
    "computer",
    "young",
    "north",
  );
  const { body } = await operate(url, "/offices/north/members", operator);
  assertEquals(
    body.members.map((m: Record<string, unknown>) => [m.version, m.id]),
    [["0.2.0", old.socket.id], ["0.4.0", young.socket.id]],
  );
  const { body: { offices } } = await operate(url, "/offices", operator);
  assertEquals(offices, [
    { office: "north", agent: null, computers: 2, pending_calls: 0 },
  ]);
});

Deno.test("every answer and problem is as the OpenAPI document says", async () => {
  await using office = await served();
  const { url, agent } = office;
  const { body: document } = await operate(url, "/openapi.json", operator);
  assertEquals(document.openapi, "3.1.0");
  const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
  ajv.addSchema({ $id: "doc", ...document });
  const pointer = (path: string) => path.replaceAll("/", "~1");
  const check = async (
    path: string,
    real: string,
    status: number,
    post?: unknown,
  ) => {
    const method = post === undefined ? "get" : "post";
    const answer = await operate(url, real, { ...operator, post });
    assertEquals(answer.status, status, `${method} ${real}`);
    const type = status === 200
      ? "application~1json"
      : "application~1problem+json";
    const validate = ajv.getSchema(
      `doc#/paths/${
        pointer(`/operator/v1${path}`)
      }/${method}/responses/${status}/content/${type}/schema`,
    );
    assert(validate, `${method} ${path} ${status} is not described`);
    assert(validate(answer.body), JSON.stringify(validate.errors));
  };
  await check("/status", "/status", 200);
  await check("/offices", "/offices", 200);
  const members = "/offices/{office}/members";
  await check(members, "/offices/north/members", 200);
  await check(members, "/offices/none/members", 404);
  await check("/offices/{office}/calls", "/offices/north/calls", 200);
  const asked = "/offices/{office}/computers/{computer}";
  const pc = "/offices/north/computers/pc";
  office.computer.handle(GET_CONFIG_EVENT, (_, ack) => ack({ servers: {} }));
  office.computer.handle(TOOL_CALL_EVENT, (_, ack) => ack({ content: [] }));
  office.computer.handle(GET_TOOLS_EVENT, (_, ack) => ack("nothing"));
  await check(`${asked}/config`, `${pc}/config`, 200);
  await check(`${asked}/tools`, `${pc}/tools`, 502);
  await check(`${asked}/desktop`, `${pc}2/desktop`, 404);
  const tool = { tool_name: "wait" };
  await check(`${asked}/call`, `${pc}/call`, 200, tool);
  await check(`${asked}/call`, `${pc}/call`, 400, {});
  const cancel = "/offices/{office}/calls/cancel";
  const reason = "because";
  await check(cancel, "/offices/north/calls/cancel", 404, {
    req_id: "none",
    reason,
  });
  const kick = "/members/{id}/kick";
  await check(kick, "/members/none/kick", 404, { reason });
  await check(kick, "/members/none/kick", 400, { reson: reason });
  await check(kick, "/members/none/kick", 400, "not json");
  await check(kick, "/members/none/kick", 413, "x".repeat(20_000));
  await check("/keys/revoke", "/keys/revoke", 404, {
    principal: "key:none",
    reason,
  });
  await check(kick, `/members/${agent.socket.id}/kick`, 200, {
    reason,
  });
});
