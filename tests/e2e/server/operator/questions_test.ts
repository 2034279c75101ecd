import { assertEquals, assertStringIncludes } from "@std/assert";
import { type ConfirmRequest, SmcpComputer } from "../../../../computer/mod.ts";
import { apiKeys, type SmcpServerOptions } from "../../../../server/mod.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { captureLog } from "../../../support/log_capture.ts";
import {
  nextRequest,
  operate,
  operated,
  type OperatorAnswer,
  TOKEN,
} from "../../../support/server/operator_client.ts";
import { startOffice } from "../../../../testing/mod.ts";
import type { RawClient } from "../../../support/wire/raw_client.ts";

const PC = "/offices/north/computers/pc";
const CALL = { tool_name: "wait", params: { a: 1 } };

/** A server with a bare Computer "pc" in "north", and no Agent. */
async function served(options?: SmcpServerOptions) {
  const office = await operated(options);
  const computer = await office.join("computer", "pc");
  return { ...office, computer };
}

/** Answers the next requests, and returns them. */
function answering(computer: RawClient, event: string, answer: unknown) {
  const requests: Record<string, unknown>[] = [];
  computer.handle(event, (payload, ack) => {
    requests.push(payload as Record<string, unknown>);
    ack(answer);
  });
  return requests;
}

/** The status of a problem, and the field that it names. */
function problemIn({ status, type, body }: OperatorAnswer) {
  assertEquals(type, "application/problem+json");
  return [status, body.errors[0].field];
}

Deno.test("an operator asks a Computer without an Agent, as its version has it; the Computer and the audit log have who asks", async () => {
  using log = captureLog();
  await using office = await served({ protocol: "all" });
  const { get, post, computer } = office;
  const tool = {
    name: "wait",
    description: "waits",
    params_schema: { type: "object" },
    return_schema: null,
  };
  const asker = { agent: "operator", operator: "operator", computer: "pc" };
  for (
    const [path, answer] of [
      ["tools", { tools: [tool], req_id: "r" }],
      ["config", { servers: {} }],
      ["desktop", { desktops: [], req_id: "r" }],
    ] as const
  ) {
    const requests = answering(computer, `client:get_${path}`, answer);
    const { status, body } = await get(`${PC}/${path}`);
    assertEquals([status, body], [200, answer]);
    const [{ req_id, ...request } = {}] = requests;
    assertEquals([request, String(req_id).length > 20], [asker, true]);
  }
  const result = { content: [{ type: "text", text: "done" }], isError: true };
  const calls = answering(computer, "client:tool_call", result);
  const called = await post(`${PC}/call`, { ...CALL, timeout_ms: 59_500 });
  assertEquals([called.status, called.body.isError], [200, true]);
  const [{ req_id, ...call } = {}] = calls;
  assertEquals(call, { ...CALL, ...asker, timeout: 60 });
  const lines = log.audit.filter(({ event }) => event === "operator_asked");
  const { ms, ...last } = lines.at(-1) ?? {};
  assertEquals([last, typeof ms, lines.length], [
    {
      event: "operator_asked",
      by: "operator",
      office: "north",
      computer: "pc",
      req_id,
      request: "client:tool_call",
      tool: "wait",
      outcome: "tool error",
    },
    "number",
    4,
  ]);
  const old = await office.join("computer", "old", { version: null });
  const before = { servers: {}, inputs: [] };
  answering(old, "client:get_mcp_config", before);
  assertEquals((await get(`${PC.replace("pc", "old")}/config`)).body, before);
});

Deno.test("what a Computer does not answer well is a problem: none, a bad field, an error, no answer, too many, too late", async () => {
  await using office = await served({
    limits: { callsPerAgent: 1 },
    requestTimeoutMs: 1_000,
  });
  const { get, post, computer } = office;
  const elsewhere = ["/offices/north/computers/no", "/offices/no/computers/pc"];
  for (const path of elsewhere) {
    assertEquals(problemIn(await get(`${path}/tools`)), [404, "computer"]);
  }
  for (
    const [field, body] of [
      ["tool_name", { params: {} }],
      ["timeout_ms", { ...CALL, timeout_ms: 1 }],
    ] as const
  ) assertEquals(problemIn(await post(`${PC}/call`, body)), [400, field]);
  for (
    const answer of [
      { code: 500, message: "broken" },
      { tools: "none", req_id: "r" },
      "text",
    ]
  ) {
    answering(computer, "client:get_tools", answer);
    assertEquals(problemIn(await get(`${PC}/tools`)), [502, "computer"]);
  }
  const called = nextRequest(computer);
  const first = post(`${PC}/call`, CALL);
  const { ack } = await called;
  assertEquals(problemIn(await get(`${PC}/tools`)), [429, "request"]);
  ack({ content: [] });
  assertEquals((await first).status, 200);
  computer.handle("client:get_tools", () => {});
  assertEquals(problemIn(await get(`${PC}/tools`)), [504, "computer"]);
  computer.handle("client:get_tools", () => computer.socket.disconnect());
  assertEquals(problemIn(await get(`${PC}/tools`)), [404, "computer"]);
});

Deno.test("an operator that goes away cancels its call", async () => {
  using log = captureLog();
  await using office = await served();
  const called = nextRequest(office.computer);
  const leaving = new AbortController();
  const answer = office.post(`${PC}/call`, CALL, leaving.signal)
    .catch(() => "gone");
  const events = await office.events();
  const { req_id } = (await called).payload;
  leaving.abort();
  assertEquals(await answer, "gone");
  assertEquals(await office.computer.next("notify:tool_call_cancel"), {
    agent: "operator",
    req_id,
    reason: "operator",
  });
  const { data } = await events.nextOf("call_ended");
  const line = log.audit.find(({ event }) => event === "operator_asked");
  for (const { outcome, ended_by } of [data, line ?? {}]) {
    assertEquals([outcome, ended_by], ["cancelled", "operator"]);
  }
});

Deno.test("a question ends with its operator's credentials, and with the Server", async () => {
  let keys = apiKeys([{ id: "ops", key: "ops", roles: ["operator"] }]);
  await using office = await operated({
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
  const { url, server } = office;
  const computer = await office.join("computer", "pc", {
    auth: { token: "pc" },
  });
  const first = nextRequest(computer);
  const lost = operate(url, `${PC}/call`, { token: "ops", post: CALL })
    .catch(() => "cut");
  await first;
  keys = apiKeys([{ id: "other", key: "other" }]);
  await server.recheckSessions();
  assertEquals(await lost, "cut");
  await computer.next("notify:tool_call_cancel");
  const second = nextRequest(computer);
  const pending = office.post(`${PC}/call`, CALL);
  await second;
  await server.close({ graceMs: 0 });
  assertEquals(problemIn(await pending), [503, "computer"]);
});

Deno.test("what an operator asks is among the calls in flight, until it is answered or cancelled", async () => {
  await using office = await served();
  const called = nextRequest(office.computer);
  const answer = office.post(`${PC}/call`, { ...CALL, req_id: "q1" });
  await called;
  const calls = async () =>
    (await office.get("/offices/north/calls")).body.calls;
  const [{ ms: _, ...shown }] = await calls();
  assertEquals(shown, {
    office: "north",
    agent: "operator",
    principal: "operator",
    computer: "pc",
    req_id: "q1",
    request: "client:tool_call",
    tool: "wait",
  });
  const order = { req_id: "q1", reason: "enough" };
  await office.post("/offices/north/calls/cancel", order);
  assertEquals(problemIn(await answer), [403, "computer"]);
  assertEquals(await calls(), []);
});

Deno.test("no Agent can pass for an operator", async () => {
  await using office = await served();
  const agent = await office.join("agent", "planner");
  const requests = answering(office.computer, "client:get_config", {});
  const request = { agent: "planner", req_id: "r", computer: "pc", more: 1 };
  await agent.ask("client:get_config", { ...request, operator: "root" });
  assertEquals(requests, [request]);
});

Deno.test({
  name:
    "an operator's call needs the confirmation that an Agent's needs, and the person is asked in the operator's name",
  timeout: 120_000,
}, async () => {
  const asked: ConfirmRequest[] = [];
  const calls: unknown[] = [];
  await using office = await startOffice({
    officeId: "north",
    server: { operator: { token: TOKEN } },
    computers: {
      pc: {
        servers: { files: fixture({ only: ["echo"] }) },
        confirm(request) {
          asked.push(request);
          return asked.length === 1 ? "no" : "once";
        },
      },
    },
  });
  office.computer("pc").on("callStarted", ({ agent, operator }) => {
    calls.push({ agent, operator });
  });
  const call = (params: object) =>
    operate(office.url, `${PC}/call`, {
      token: TOKEN,
      post: { tool_name: "echo", params },
    });
  const refused = await call({ text: "x" });
  assertEquals(refused.body.meta.error_code, 4005);
  const done = await call({ text: "x" });
  assertEquals(done.body.content, [{ type: "text", text: "x" }]);
  const who = { agent: "operator", operator: "operator" };
  const names = asked.map(({ agent, operator }) => ({ agent, operator }));
  assertEquals([names, calls[0]], [[who, who], who]);
});

Deno.test({
  name: "a Computer with refuseOperators answers Agents alone",
  timeout: 120_000,
}, async () => {
  await using office = await operated();
  const { url } = office;
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
  for (
    const answer of [
      await office.get(`${PC}/tools`),
      await office.get(`${PC}/config`),
      await office.get(`${PC}/desktop`),
      await office.post(`${PC}/call`, CALL),
      await office.get(`${PC}2/tools`),
    ]
  ) {
    assertEquals(problemIn(answer), [403, "computer"]);
    assertStringIncludes(answer.body.detail, "--refuse-operators");
  }
  const agent = await office.join("agent", "planner");
  const request = { agent: "planner", req_id: "r", computer: "pc" };
  const answer = await agent.ask("client:get_config", request);
  assertEquals(answer, { inputs: [], servers: {} });
});
