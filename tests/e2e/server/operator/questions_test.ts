import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ConfirmRequest } from "../../../../computer/mod.ts";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_TOOLS_EVENT,
  TOOL_CALL_EVENT,
} from "../../../../protocol/mod.ts";
import { OPERATOR_AGENT } from "../../../../protocol/payloads/tools.ts";
import {
  apiKeys,
  createSmcpServer,
  type SmcpServerOptions,
} from "../../../../server/mod.ts";
import { captureLog } from "../../../support/log_capture.ts";
import {
  openEvents,
  operate,
} from "../../../support/server/operator_client.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { SmcpComputer } from "../../../../computer/mod.ts";
import { joinRaw, type RawClient } from "../../../support/wire/raw_client.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const operator = { token: TOKEN };
const PC = "/offices/north/computers/pc";
const CALL = { tool_name: "wait", params: { a: 1 } };

/** A server with a bare Computer "pc" in "north", and no Agent. */
async function served(options: SmcpServerOptions = {}) {
  const server = createSmcpServer({ operator, ...options });
  const { url } = await server.listen();
  const computer = await joinRaw(url, "computer", "pc", "north");
  return {
    server,
    url,
    computer,
    async [Symbol.asyncDispose]() {
      await computer[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

/** Answers the next requests, and returns them. */
function answering(
  computer: RawClient,
  event: string,
  answer: unknown,
): Record<string, unknown>[] {
  const requests: Record<string, unknown>[] = [];
  computer.handle(event, (payload, ack) => {
    requests.push(payload as Record<string, unknown>);
    ack(answer);
  });
  return requests;
}

const post = (url: string, body: unknown, path = `${PC}/call`) =>
  operate(url, path, { ...operator, post: body });

Deno.test("an operator asks a Computer without an Agent, which hears who asks; the audit log has it", async () => {
  using log = captureLog();
  await using office = await served();
  const { url, computer } = office;
  const tool = {
    name: "wait",
    description: "waits",
    params_schema: { type: "object" },
    return_schema: null,
  };
  const asked = [
    ...[["tools", GET_TOOLS_EVENT, { tools: [tool], req_id: "r" }]],
    ...[["config", GET_CONFIG_EVENT, { servers: {} }]],
    ...[["desktop", GET_DESKTOP_EVENT, { desktops: [], req_id: "r" }]],
  ] as const;
  for (const [path, event, answer] of asked) {
    const requests = answering(computer, String(event), answer);
    const { status, body } = await operate(url, `${PC}/${path}`, operator);
    assertEquals([status, body], [200, answer]);
    const [{ req_id, ...request } = {}] = requests;
    assert(typeof req_id === "string" && req_id.length > 20);
    assertEquals(request, {
      agent: OPERATOR_AGENT,
      operator: "operator",
      computer: "pc",
    });
  }
  const calls = answering(computer, TOOL_CALL_EVENT, {
    content: [{ type: "text", text: "done" }],
    isError: true,
  });
  const called = await post(url, { ...CALL, timeout_ms: 59_500 });
  assertEquals([called.status, called.body.isError], [200, true]);
  const [{ req_id, ...call } = {}] = calls;
  assertEquals(call, {
    ...CALL,
    agent: OPERATOR_AGENT,
    operator: "operator",
    computer: "pc",
    timeout: 60,
  });
  const lines = log.audit.filter(({ event }) => event === "operator_asked");
  assertEquals(lines.map(({ request }) => request), [
    GET_TOOLS_EVENT,
    GET_CONFIG_EVENT,
    GET_DESKTOP_EVENT,
    TOOL_CALL_EVENT,
  ]);
  const { ms, ...last } = lines.at(-1) ?? {};
  assert(typeof ms === "number");
  assertEquals(last, {
    event: "operator_asked",
    by: "operator",
    office: "north",
    computer: "pc",
    req_id,
    request: TOOL_CALL_EVENT,
    tool: "wait",
    outcome: "tool error",
  });
});

Deno.test("the contents of an operator's question are in log and stream only with auditPayloads", async () => {
  for (const auditPayloads of [false, true]) {
    using log = captureLog();
    await using office = await served({ auditPayloads });
    const { url, computer } = office;
    answering(computer, TOOL_CALL_EVENT, { content: [] });
    await using events = await openEvents(url, operator);
    await events.nextOf("open");
    assertEquals((await post(url, CALL)).status, 200);
    const { data: began } = await events.nextOf("call_began");
    const { data: ended } = await events.nextOf("call_ended");
    assertEquals(
      [began.agent, began.principal, began.tool, ended.outcome],
      [OPERATOR_AGENT, "operator", "wait", "ok"],
    );
    const line = log.audit.find(({ event }) => event === "operator_asked");
    const shown = auditPayloads ? [CALL.params, { content: [] }] : [];
    assertEquals(
      [began.params, ended.result].filter((one) => one !== undefined),
      shown,
    );
    assertEquals(
      [line?.params, line?.result].filter((one) => one !== undefined),
      shown,
    );
  }
});

/** Returns the status of a problem, and the field that it names. */
async function problemOf(answer: ReturnType<typeof post>) {
  const { status, type, body } = await answer;
  assertEquals(type, "application/problem+json");
  return [status, body.errors[0].field];
}

Deno.test("a Computer that does not answer in time is a problem", async () => {
  await using office = await served({ requestTimeoutMs: 50 });
  const answer = operate(office.url, `${PC}/tools`, operator);
  assertEquals(await problemOf(answer), [504, "computer"]);
});

Deno.test("problems: no Computer, a bad field, an error, and no answer", async () => {
  await using office = await served();
  const { url, computer } = office;
  const tools = (path: string) => operate(url, path, operator);
  assertEquals(await problemOf(tools("/offices/north/computers/no/tools")), [
    404,
    "computer",
  ]);
  assertEquals(await problemOf(tools("/offices/no/computers/pc/tools")), [
    404,
    "computer",
  ]);
  assertEquals(await problemOf(post(url, { params: {} })), [400, "tool_name"]);
  assertEquals(await problemOf(post(url, { ...CALL, timeout_ms: 1 })), [
    400,
    "timeout_ms",
  ]);
  for (
    const answer of [
      { code: 500, message: "broken" },
      { tools: "none", req_id: "r" },
      "text",
    ]
  ) {
    answering(computer, GET_TOOLS_EVENT, answer);
    assertEquals(await problemOf(tools(`${PC}/tools`)), [502, "computer"]);
  }
  computer.handle(GET_TOOLS_EVENT, () => computer.socket.disconnect());
  assertEquals(await problemOf(tools(`${PC}/tools`)), [404, "computer"]);
});

Deno.test("an operator that goes away cancels its call", async () => {
  using log = captureLog();
  await using office = await served();
  const { url, computer } = office;
  const called = Promise.withResolvers<Record<string, unknown>>();
  computer.handle(
    TOOL_CALL_EVENT,
    (payload) => called.resolve(payload as Record<string, unknown>),
  );
  const leaving = new AbortController();
  const answer = fetch(`${url}/operator/v1${PC}/call`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${TOKEN}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify(CALL),
    signal: leaving.signal,
  }).catch(() => "gone");
  const { req_id } = await called.promise;
  leaving.abort();
  assertEquals(await answer, "gone");
  assertEquals(await computer.next(CANCEL_TOOL_CALL_NOTIFICATION), {
    agent: OPERATOR_AGENT,
    req_id,
    reason: "operator",
  });
  const line = log.audit.find(({ event }) => event === "operator_asked");
  assertEquals([line?.outcome, line?.ended_by], ["cancelled", "operator"]);
});

Deno.test("an operator has as many questions open as an Agent has calls", async () => {
  await using office = await served({ limits: { callsPerAgent: 1 } });
  const { url, computer } = office;
  const called = Promise.withResolvers<(...args: unknown[]) => void>();
  computer.handle(TOOL_CALL_EVENT, (_payload, ack) => called.resolve(ack));
  const first = post(url, CALL);
  const answer = await called.promise;
  const second = await operate(url, `${PC}/tools`, operator);
  assertEquals([second.status, second.body.errors[0].field], [429, "request"]);
  answer({ content: [] });
  assertEquals((await first).status, 200);
});

Deno.test("a question ends with its operator's credentials, and with the Server", async () => {
  let keys = apiKeys([{ id: "ops", key: "ops", roles: ["operator"] }]);
  const server = createSmcpServer({
    operator,
    authenticator: {
      authenticate: (credentials) =>
        credentials.auth.token === "pc"
          ? { principal: "pc" }
          : keys.authenticate(credentials),
      refresh: (identity) =>
        identity.principal === "pc" ? identity : keys.refresh?.(identity),
      hasOperators: () => true,
    },
  });
  const { url } = await server.listen();
  await using computer = await joinRaw(
    { url, auth: { token: "pc" } },
    "computer",
    "pc",
    "north",
  );
  const calls: (() => void)[] = [];
  const called = () => new Promise<void>((resolve) => calls.push(resolve));
  computer.handle(TOOL_CALL_EVENT, () => calls.shift()?.());
  const [first, second] = [called(), called()];
  const lost = operate(url, `${PC}/call`, { token: "ops", post: CALL })
    .catch(() => "cut");
  await first;
  keys = apiKeys([{ id: "other", key: "other" }]);
  await server.recheckSessions();
  assertEquals(await lost, "cut");
  await computer.next(CANCEL_TOOL_CALL_NOTIFICATION);
  const pending = post(url, CALL);
  await second;
  await server.close({ graceMs: 0 });
  const { status, body } = await pending;
  assertEquals([status, body.errors[0].field], [503, "computer"]);
});

Deno.test("an operator asks the Computers of an office as each one's version has it", async () => {
  await using office = await served({ protocol: "all" });
  const { url, computer } = office;
  await using old = await joinRaw(
    { url, version: null },
    "computer",
    "old",
    "north",
  );
  answering(computer, GET_CONFIG_EVENT, { servers: {} });
  answering(old, "client:get_mcp_config", { servers: {}, inputs: [] });
  const now = await operate(url, `${PC}/config`, operator);
  const then = await operate(
    url,
    `${PC.replace(/pc$/, "old")}/config`,
    operator,
  );
  assertEquals([now.body, then.body], [
    { servers: {} },
    { servers: {}, inputs: [] },
  ]);
});

Deno.test("what an operator asks is among the calls on their way, until it is answered or cancelled", async () => {
  await using office = await served();
  const { url, computer } = office;
  const called = Promise.withResolvers<void>();
  computer.handle(TOOL_CALL_EVENT, () => called.resolve());
  const answer = post(url, { ...CALL, req_id: "q1" });
  await called.promise;
  const calls = async () =>
    (await operate(url, "/offices/north/calls", operator)).body.calls;
  const [{ ms: _, ...shown }] = await calls();
  assertEquals(shown, {
    office: "north",
    agent: OPERATOR_AGENT,
    computer: "pc",
    req_id: "q1",
    request: TOOL_CALL_EVENT,
    tool: "wait",
    principal: "operator",
  });
  await operate(url, "/offices/north/calls/cancel", {
    ...operator,
    post: { req_id: "q1", reason: "enough" },
  });
  const { status, body } = await answer;
  assertEquals([status, body.errors[0].field], [403, "computer"]);
  assertEquals(await calls(), []);
});

Deno.test("no Agent can pass for an operator", async () => {
  await using office = await served();
  const { url, computer } = office;
  await using agent = await joinRaw(url, "agent", "planner", "north");
  const requests = answering(computer, GET_CONFIG_EVENT, { servers: {} });
  const request = { agent: "planner", req_id: "r", computer: "pc", more: 1 };
  await agent.ask(GET_CONFIG_EVENT, { ...request, operator: "root" });
  assertEquals(requests, [request]);
});

Deno.test({
  name:
    "an operator's call needs the confirmation that an Agent's needs, and who is asked hears that an operator calls",
  timeout: 120_000,
}, async () => {
  await using server = createSmcpServer({ operator });
  const { url } = await server.listen();
  const asked: ConfirmRequest[] = [];
  const calls: unknown[] = [];
  await using computer = new SmcpComputer({
    url,
    name: "pc",
    servers: { files: fixture({ only: ["echo"] }) },
    transports: ["websocket"],
    confirm(request) {
      asked.push(request);
      return asked.length === 1 ? "no" : "once";
    },
  });
  computer.on("callStarted", ({ agent, operator }) => {
    calls.push({ agent, operator });
  });
  await computer.connect();
  await computer.join("north");
  await computer.serversSettled();
  const tools = await operate(url, `${PC}/tools`, operator);
  assertEquals(
    tools.body.tools.map(({ name }: { name: string }) => name),
    ["echo"],
  );
  const echo = { tool_name: "echo", params: { text: "x" } };
  const refused = await post(url, echo);
  assertEquals(refused.body.meta.error_code, 4005);
  const done = await post(url, echo);
  assertEquals(done.body.content, [{ type: "text", text: "x" }]);
  assertEquals(asked.length, 2);
  assertEquals([asked[0]?.agent, asked[0]?.operator], [
    OPERATOR_AGENT,
    "operator",
  ]);
  assertEquals(calls[0], { agent: OPERATOR_AGENT, operator: "operator" });
});

Deno.test({
  name: "a Computer with refuseOperators answers Agents alone",
  timeout: 120_000,
}, async () => {
  await using server = createSmcpServer({ operator });
  const { url } = await server.listen();
  await using computer = new SmcpComputer({
    url,
    name: "pc",
    servers: {},
    transports: ["websocket"],
    refuseOperators: true,
  });
  await computer.connect();
  await computer.join("north");
  await using config = await configFile({ servers: {} });
  await using command = runComputer({ url }, config.file, {
    name: "pc2",
    flags: ["--refuse-operators"],
  });
  await command.line(/^joined/);
  const second = await operate(url, `${PC}2/tools`, operator);
  assertEquals(second.status, 403);
  for (const path of ["tools", "config", "desktop"]) {
    const { status, body } = await operate(url, `${PC}/${path}`, operator);
    assertEquals([status, body.errors[0].field], [403, "computer"]);
    assertStringIncludes(body.detail, "--refuse-operators");
  }
  assertEquals((await post(url, CALL)).status, 403);
  await using agent = await joinRaw(url, "agent", "planner", "north");
  const request = { agent: "planner", req_id: "r", computer: "pc" };
  assertEquals(await agent.ask(GET_CONFIG_EVENT, request), {
    inputs: [],
    servers: {},
  });
});
