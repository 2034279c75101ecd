import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Ajv2020 } from "ajv/dist/2020.js";
import { SmcpComputer } from "../../../../computer/mod.ts";
import type { Role } from "../../../../protocol/mod.ts";
import {
  apiKeys,
  createMetrics,
  type SmcpServerOptions,
} from "../../../../server/mod.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { signedIn, usedGrant } from "../../../support/server/grants.ts";
import {
  nextRequest,
  operate,
  operated,
} from "../../../support/server/operator_client.ts";
import { connectRaw, joinRaw } from "../../../support/wire/raw_client.ts";

const CALL = {
  agent: "planner",
  req_id: "r1",
  computer: "pc",
  tool_name: "wait",
  params: {},
  timeout: 60,
};
const CALLED = {
  office: "north",
  agent: "planner",
  computer: "pc",
  req_id: "r1",
  request: "client:tool_call",
};
const north = "/offices/north";

/** A server with a Computer "pc" and an Agent "planner" in "north". */
async function served(options?: SmcpServerOptions) {
  const office = await operated(options);
  const computer = await office.join("computer", "pc");
  const agent = await office.join("agent", "planner");
  /** Makes the call; resolves when the Computer has it. */
  const call = async (request = CALL) => {
    const called = nextRequest(computer);
    const answer = agent.ask("client:tool_call", request);
    return { answer, ...await called };
  };
  return { ...office, agent, computer, call };
}

Deno.test("operators see offices, members and calls in flight", async () => {
  await using office = await served();
  const { get, agent, computer } = office;
  await agent.ask("client:tool_call", { ...CALL, computer: "nobody" });
  const { answer, ack } = await office.call();
  assertEquals((await get("/offices")).body.offices, [
    { office: "north", agent: "planner", computers: 1, pending_calls: 1 },
  ]);
  const { members } = (await get(`${north}/members`)).body;
  const counted = {
    office: "north",
    version: "0.2.0",
    address: "127.0.0.1",
    calls: 1,
    pending_calls: 1,
  };
  for (
    const [at, expected] of [
      { role: "agent", name: "planner", id: agent.socket.id, ...counted },
      { role: "computer", name: "pc", id: computer.socket.id, ...counted },
    ].entries()
  ) {
    const { since, bytes, last_error, ...member } = members[at];
    assertEquals(member, expected);
    assertMatch(since, /^\d{4}-.*Z$/);
    assert(bytes.received > 0 && bytes.sent > 0);
    assertEquals(last_error?.outcome, at === 0 ? "error 404" : undefined);
  }
  const calls = async () => (await get(`${north}/calls`)).body.calls;
  const [{ ms, ...call }] = await calls();
  assertEquals([call, ms >= 0], [{ ...CALLED, tool: "wait" }, true]);
  const { offices, members: all, pending_calls, process } =
    (await get("/status")).body;
  assertEquals(
    [offices, all, pending_calls, process.calls, process.connections],
    [1, 2, 1, 1, 2],
  );
  ack({ content: [] });
  await answer;
  assertEquals(await calls(), []);
});

Deno.test("the calls in flight of all offices are those that an operator sees, the oldest first, at most 1,000", async () => {
  const roles = ["operator"] as const;
  await using office = await operated({
    authenticator: apiKeys([
      { id: "clients", key: "key-of-clients", roles: ["agent", "computer"] },
      { id: "south", key: "key-of-south", roles, offices: ["south*"] },
    ]),
    limits: { callsPerAgent: 1001, eventsPerSecond: 2000 },
  });
  await using clients = new AsyncDisposableStack();
  const { url } = office;
  const client = { url, auth: { api_key: "key-of-clients" } };
  const callIn = async (place: string, ids: readonly string[]) => {
    const join = async (role: Role, name: string) =>
      clients.use(await joinRaw(client, role, name, place));
    const computer = await join("computer", "pc");
    const agent = await join("agent", "planner");
    const all = Promise.withResolvers<void>();
    let count = 0;
    computer.handle("client:tool_call", () => {
      if (++count === ids.length) all.resolve();
    });
    for (const req_id of ids) {
      void agent.ask("client:tool_call", { ...CALL, req_id });
    }
    await all.promise;
  };
  const list = async (token?: string) => {
    const { body } = await office.get("/calls", token);
    const ids = body.calls.map((each: Record<string, unknown>) =>
      `${each.office} ${each.req_id}`
    );
    return { ids, partial: body.partial };
  };
  assertEquals(await list(), { ids: [], partial: undefined });
  await callIn("north", ["first"]);
  await callIn("south-1", ["second"]);
  const two = { ids: ["north first", "south-1 second"], partial: undefined };
  assertEquals(await list(), two);
  const south = { ids: ["south-1 second"], partial: undefined };
  assertEquals(await list("key-of-south"), south);
  await callIn("west", Array.from({ length: 1000 }, (_, at) => `${at}`));
  const { ids, partial } = await list();
  assertEquals([ids.length, partial], [1000, true]);
  assertEquals(ids.slice(0, 3), [...two.ids, "west 0"]);
  assertEquals(await list("key-of-south"), south);
});

Deno.test("an operator's cancel ends the call for the Agent, notifies the Computer, and is audited", async () => {
  using log = captureLog();
  await using office = await served();
  const { answer } = await office.call();
  const order = { req_id: "r1", reason: "it hangs" };
  const done = await office.post(`${north}/calls/cancel`, order);
  assertEquals([done.status, done.body], [200, { done: 1 }]);
  assertEquals(await answer, {
    code: 403,
    message: "Cancelled by an operator: it hangs",
  });
  assertEquals(
    await office.computer.next("notify:tool_call_cancel"),
    { agent: "planner", req_id: "r1", reason: "operator" },
  );
  assertEquals(
    log.audit.filter(({ event }) => event === "call_cancelled"),
    [{
      event: "call_cancelled",
      by: "operator",
      ...CALLED,
      reason: "it hangs",
    }],
  );
  const again = await office.post(`${north}/calls/cancel`, order);
  assertEquals(
    [again.status, again.type, again.body.errors[0].field],
    [404, "application/problem+json", "req_id"],
  );
});

Deno.test("a member that is kicked leaves, gets the reason when it rejoins, and is refused for a minute by default", async () => {
  using log = captureLog();
  await using office = await operated();
  const agent = await office.join("agent", "planner");
  await using computer = new SmcpComputer({
    url: office.url,
    name: "pc",
    servers: [],
    transports: ["websocket"],
  });
  const failed = Promise.withResolvers<string>();
  computer.on("rejoinFailed", ({ reason }) => failed.resolve(reason));
  await computer.connect();
  await computer.join("north");
  const { members } = (await office.get(`${north}/members`)).body;
  const kick = (at: number, order: object) =>
    office.post(`/members/${members[at].id}/kick`, order);
  assertEquals(
    (await kick(1, { reason: "maintenance" })).body,
    { done: 1 },
  );
  assertEquals(
    await agent.next("notify:leave_office"),
    { office_id: "north", computer: "pc" },
  );
  assertEquals(await failed.promise, "Kicked by an operator: maintenance");
  const line = log.audit.find(({ event }) => event === "member_kicked");
  assertEquals(
    [line?.by, line?.reason, line?.hold_ms, line?.name, line?.office],
    ["operator", "maintenance", 60_000, "pc", "north"],
  );
  const gone = agent.disconnected();
  assertEquals((await kick(0, { reason: "x", hold_ms: 0 })).status, 200);
  await gone;
  await office.join("agent", "planner");
});

Deno.test("a revoked key ends its sessions, and opens none until the keys are read again", async () => {
  using log = captureLog();
  const keys = [
    { id: "ops", key: "ops-key", roles: ["operator" as const] },
    { id: "lab", key: "lab-key" },
  ];
  let current = apiKeys(keys);
  await using office = await operated({
    authenticator: {
      authenticate: (credentials) => current.authenticate(credentials),
      refresh: (identity) => current.refresh?.(identity),
      hasOperators: () => current.hasOperators?.() === true,
      revoke: (principal) => current.revoke?.(principal) === true,
    },
  });
  const { url, server } = office;
  const lab = { auth: { api_key: "lab-key" } };
  const gone = (await office.join("computer", "pc", lab)).disconnected();
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
  const line = log.audit.find(({ event }) => event === "key_revoked");
  assertEquals([line?.principal, line?.by], ["key:lab", "key:ops"]);
  current = apiKeys(keys);
  await server.recheckSessions();
  await office.join("computer", "pc", lab);
});

Deno.test("members of several protocol versions are in one office, each with its version", async () => {
  await using office = await operated({ protocol: "all" });
  const old = await office.join("computer", "pc");
  const young = await office.join("computer", "young", { version: "0.4.0" });
  const { members } = (await office.get(`${north}/members`)).body;
  assertEquals(
    members.map((m: Record<string, unknown>) => [m.version, m.id]),
    [["0.2.0", old.socket.id], ["0.4.0", young.socket.id]],
  );
  assertEquals((await office.get("/offices")).body.offices, [
    { office: "north", agent: null, computers: 2, pending_calls: 0 },
  ]);
});

Deno.test("every answer and problem is as the OpenAPI document says", async () => {
  await using office = await served(await signedIn([usedGrant()]));
  const { computer } = office;
  const { body: document } = await office.get("/openapi.json");
  assertEquals(document.openapi, "3.1.0");
  const described = JSON.stringify(document);
  for (const word of ["ended_by", "agent gone"]) {
    assert(described.includes(word), word);
  }
  const ajv = new Ajv2020({ strict: false, formats: { "date-time": true } });
  ajv.addSchema({ $id: "doc", ...document });
  computer.handle("client:get_config", (_, ack) => ack({ servers: {} }));
  computer.handle("client:tool_call", (_, ack) => ack({ content: [] }));
  computer.handle("client:get_tools", (_, ack) => ack("nothing"));
  const asked = "/offices/{office}/computers/{computer}";
  const pc = `${north}/computers/pc`;
  const kick = "/members/{id}/kick";
  const reason = "because";
  const rows: [status: number, path: string, real: string, post?: unknown][] = [
    [200, "/status", "/status"],
    [200, "/offices", "/offices"],
    [200, "/offices/{office}/members", `${north}/members`],
    [404, "/offices/{office}/members", "/offices/none/members"],
    [200, "/offices/{office}/calls", `${north}/calls`],
    [200, `${asked}/config`, `${pc}/config`],
    [502, `${asked}/tools`, `${pc}/tools`],
    [404, `${asked}/desktop`, `${pc}2/desktop`],
    [200, `${asked}/call`, `${pc}/call`, { tool_name: "wait" }],
    [400, `${asked}/call`, `${pc}/call`, {}],
    [404, "/offices/{office}/calls/cancel", `${north}/calls/cancel`, {
      req_id: "none",
      reason,
    }],
    [404, kick, "/members/none/kick", { reason }],
    [400, kick, "/members/none/kick", { reson: reason }],
    [400, kick, "/members/none/kick", "not json"],
    [413, kick, "/members/none/kick", "x".repeat(20_000)],
    [200, "/grants", "/grants?office=home"],
    [400, "/grants/end", "/grants/end", { reason }],
    [404, "/grants/end", "/grants/end", { id: "none", reason }],
    [200, "/grants/end", "/grants/end", { office: "home", reason }],
    [404, "/keys/revoke", "/keys/revoke", { principal: "key:none", reason }],
    [400, "/offices/{office}/members", "/offices/%ED%A0%80/members"],
    [400, "/offices/{office}/calls", `${north}/calls?office=%ED%A0%80`],
    [200, kick, `/members/${office.agent.socket.id}/kick`, { reason }],
  ];
  for (const [status, path, real, post] of rows) {
    const answer =
      await (post === undefined ? office.get(real) : office.post(real, post));
    assertEquals(answer.status, status, real);
    const pointer = `/operator/v1${path}`.replaceAll("/", "~1");
    const method = post === undefined ? "get" : "post";
    const type = status === 200 ? "json" : "problem+json";
    const validate = ajv.getSchema(
      `doc#/paths/${pointer}/${method}/responses/${status}/content/application~1${type}/schema`,
    );
    assert(validate, `${method} ${path} ${status} is not described`);
    assert(validate(answer.body), JSON.stringify(validate.errors));
  }
});

const CANCEL = { agent: "planner", req_id: "r1" };
const LATE = { ...CANCEL, reason: "timeout" };
const CANCELLED = {
  content: [],
  isError: true,
  meta: { a2c_cancelled: true, a2c_cancel_reason: "agent_requested" },
};
const ENOUGH = { req_id: "r1", reason: "enough" };

type Calling = Awaited<ReturnType<typeof served>>;

/** What ends a call, with its answer or without. */
type Act = (
  office: Calling,
  ack: (answer: unknown) => void,
) => unknown;

const leave: Act = ({ agent }) =>
  agent.request("server:leave_office", { office_id: "north" });

/** How calls end: whether as an error of the Computer, and with which code for the Agent. */
const ENDS: Readonly<
  Record<string, [end: string, act: Act, isError?: boolean, code?: number]>
> = {
  "its Agent cancels": ["cancelled agent", async ({ agent }, ack) => {
    await agent.request("server:tool_call_cancel", CANCEL);
    ack(CANCELLED);
  }],
  "its Computer cancels": ["cancelled computer", (_, ack) => ack(CANCELLED)],
  "late for its Agent, which leaves": [
    "timeout agent",
    async (office, ack) => {
      await office.agent.request("server:tool_call_cancel", LATE);
      await leave(office, ack);
    },
    false,
    4103,
  ],
  "late for its Agent, which is lost": [
    "timeout agent",
    async ({ agent, computer }) => {
      await agent.request("server:tool_call_cancel", LATE);
      assertEquals(await computer.next("notify:tool_call_cancel"), LATE);
      await agent[Symbol.asyncDispose]();
    },
  ],
  "its Agent leaves": ["agent gone", leave, false, 4103],
  "late at its Computer": [
    "timeout computer",
    (_, ack) => ack({ content: [], isError: true, meta: { error_code: 4004 } }),
    true,
  ],
  "a request that is not answered": [
    "timeout server",
    ({ agent, computer }) => {
      computer.handle("client:get_desktop", () => {});
      const request = { agent: "planner", req_id: "r2", computer: "pc" };
      return agent.ask("client:get_desktop", request);
    },
    true,
  ],
  "an operator cancels": [
    "cancelled operator",
    ({ post }) => post(`${north}/calls/cancel`, ENOUGH),
    false,
    403,
  ],
  "an operator kicks its Agent": [
    "cancelled operator",
    ({ post, agent: { socket } }) =>
      post(`/members/${socket.id}/kick`, { reason: "enough" }),
    false,
    403,
  ],
};

Deno.test("the end of a call is the same in log, stream, metrics and at its Computer, whoever ends it", async () => {
  for (
    const [name, [end, act, isError = false, code]] of Object.entries(ENDS)
  ) {
    using log = captureLog();
    await using office = await served({
      metrics: createMetrics(),
      requestTimeoutMs: 20,
    });
    const call = await office.call();
    const events = await office.events();
    await events.nextOf("open");
    await act(office, call.ack);
    if (code) assertEquals(Object(await call.answer).code, code, name);
    const { data } = await events.nextOf("call_ended");
    const line = log.audit.find(({ event }) =>
      event === "tool_call" || event === "read"
    );
    const { body } = await office.get(`${north}/members`);
    const pc = body.members.find((m: { name: string }) => m.name === "pc");
    for (const one of [data, line, ...isError ? [pc.last_error] : []]) {
      const { outcome, ended_by } = one ?? {};
      assertEquals([outcome, ended_by].join(" ").trim(), end, name);
    }
    if (!isError) assertEquals(pc.last_error, undefined, name);
    const [outcome, by] = data.ended_by ? end.split(" ") : [end];
    const labels = `outcome="${outcome}"${by ? `,ended_by="${by}"` : ""}`;
    assertStringIncludes(
      await (await fetch(`${office.url}/metrics`)).text(),
      `smcp_events_total{event="${data.request}",${labels}} 1\n`,
    );
  }
});
