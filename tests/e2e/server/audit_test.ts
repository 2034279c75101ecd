import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { SignJWT } from "jose";
import { CLIENT_EVENTS } from "../../../protocol/mod.ts";
import {
  anyOf,
  apiKeys,
  createSmcpServer,
  jwt,
  type SmcpServerOptions,
} from "../../../server/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { exchangePackets } from "../../support/server/polling_session.ts";
import {
  connectRaw,
  joinRaw,
  type RawOptions,
} from "../../support/wire/raw_client.ts";
import { rawHttp, upgradeHead } from "../../support/wire/raw_http.ts";

const KEYS = { planner: "hunter2-planner", lab: "hunter2-lab" };

const as = (key: string): RawOptions => ({ auth: { api_key: key } });

const keys = () =>
  apiKeys([
    { id: "planner", key: KEYS.planner, names: ["ada", "eve", "{socket}"] },
    { id: "lab", key: KEYS.lab, roles: ["computer"] },
  ]);

const request = (over: Record<string, unknown> = {}) => ({
  agent: "ada",
  req_id: "r1",
  computer: "lab-1",
  tool_name: "pay",
  params: { card: "hunter2-card" },
  timeout: 60,
  ...over,
});

/** A server, and what is logged. */
async function served(options: SmcpServerOptions = {}) {
  const stack = new AsyncDisposableStack();
  const log = stack.adopt(captureLog(), (log) => log[Symbol.dispose]());
  const server = stack.use(
    createSmcpServer({ authenticator: keys(), ...options }),
  );
  const { url, port } = await server.listen();
  return {
    server,
    log,
    url,
    port,
    linesOf: (...events: unknown[]) =>
      log.audit.filter(({ event }) => events.includes(event)),
    connect: async (key: string) => stack.use(await connectRaw(url, as(key))),
    /** An Agent "ada" and a Computer "lab-1" in office "north". */
    async pair() {
      const join = async (
        key: string,
        role: "agent" | "computer",
        name: string,
      ) => stack.use(await joinRaw({ url, ...as(key) }, role, name, "north"));
      const agent = await join(KEYS.planner, "agent", "ada");
      return { agent, computer: await join(KEYS.lab, "computer", "lab-1") };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const refused = (url: string, options: RawOptions) =>
  assertRejects(() => connectRaw(url, options));

Deno.test("joins and leaves are audited: office, role, name, principal, address (protocol §10)", async () => {
  await using office = await served();
  const { agent, computer } = await office.pair();
  await agent.request("server:leave_office", { office_id: "north" });
  await computer.request("server:leave_office", { office_id: "north" });
  const { log } = office;
  const base = { office: "north", address: "127.0.0.1" };
  const ada = { role: "agent", name: "ada", principal: "key:planner" };
  const lab = { role: "computer", name: "lab-1", principal: "key:lab" };
  assertEquals(log.audit.map(({ socket: _, ...line }) => line), [
    { event: "joined", ...base, ...ada },
    { event: "joined", ...base, ...lab },
    { event: "left", ...base, ...ada },
    { event: "left", ...base, ...lab },
  ]);
  for (const { socket } of log.audit) assertEquals(typeof socket, "string");
});

Deno.test("refused handshakes are audited with the reason, which the client does not get (protocol §10)", async () => {
  const secret = "0123456789abcdef0123456789abcdef";
  const smcp = jwt({ key: { secret }, audience: "smcp" });
  await using office = await served({
    authenticator: anyOf([keys(), smcp]),
    trustedProxies: 1,
  });
  const { url, port, log } = office;
  const token = (aud: string, expires: number | string) =>
    new SignJWT({ sub: "hunter2", aud }).setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(expires).sign(new TextEncoder().encode(secret));
  const query = "/smcp/?EIO=4&transport=";
  const get = (target: string, ...headers: string[]) =>
    rawHttp(port, [
      `GET ${target} HTTP/1.1`,
      ...["Host: 127.0.0.1", "Connection: close", ...headers],
    ]);
  const upgrade = (rest: string, ...headers: string[]) =>
    rawHttp(port, [...upgradeHead(query + rest), ...headers]);
  const exchange = async (namespace: string, address: string) => {
    const from = [`X-Forwarded-For: ${address}`];
    const [answer] = await exchangePackets(port, [`40${namespace}`], from);
    assertMatch(answer ?? "", /"code":400/);
  };
  const knock = (auth: Record<string, unknown>) => refused(url, { auth });
  const namespace = "Invalid namespace";
  const old = 'Protocol version mismatch: client "0.1.0", server "0.2.0"';
  const evil = "https://evil.example";
  const role = 'Invalid auth.role: expected "agent" or "computer"';
  const aud = "claim aud is not the audience that this server requires";
  const rows: [number, string, () => Promise<unknown>, address?: string][] = [
    [400, "Missing a2c_version query parameter", () => get(`${query}polling`)],
    [4008, old, () => upgrade("websocket&a2c_version=0.1.0")],
    [
      403,
      `Origin not allowed ("${evil}")`,
      () => upgrade("websocket&a2c_version=0.2.0", `Origin: ${evil}`),
    ],
    [
      5,
      "Unsupported protocol version",
      () => get("/smcp/?EIO=3&transport=polling&a2c_version=0.2.0"),
    ],
    [0, "Transport unknown", () => upgrade("pigeon&a2c_version=0.2.0")],
    [401, "no API key, no token", () => refused(url, {})],
    [401, "unknown API key, no token", () => knock({ api_key: "wrong" })],
    [400, role, () => knock({ api_key: KEYS.lab, role: "x" })],
    [
      401,
      `unknown API key, token refused: ${aud}`,
      async () => knock({ token: await token("other", "1h") }),
    ],
    [
      401,
      "unknown API key, token refused: claim exp is past",
      async () => knock({ token: await token("smcp", 1) }),
    ],
    [400, namespace, () => exchange("", "203.0.113.0"), "203.0.113.0"],
    [400, namespace, () => exchange("/made-up,", "203.0.113.1"), "203.0.113.1"],
  ];
  for (const [, , knock] of rows) await knock();
  // Not a handshake: the request of a session that has ended.
  const gone = await get(`${query}polling&a2c_version=0.2.0&sid=gone`);
  assertEquals(gone.status, 400);
  assertEquals(
    log.audit,
    rows.map(([code, reason, , address = "127.0.0.1"]) => ({
      event: "handshake_refused",
      code,
      reason,
      address,
    })),
  );
  assertEquals(log.text.includes("hunter2"), false);
});

Deno.test("client data is never used as a log template: braces in names are logged unchanged", async () => {
  await using office = await served();
  const agent = await office.connect(KEYS.planner);
  await agent.join("agent", "{socket}", "north");
  for (const event of ["client:{socket}", "{*}"]) await agent.ask(event, {});
  await agent.request("notify:{socket}");
  await agent.request("server:leave_office", { office_id: "north" });
  const messages = office.log.records.filter(({ category }) =>
    category.join() === "a2c-smcp,server"
  ).map(({ message }) => message.join(""));
  assertEquals(messages, [
    "Unknown event client:{socket}",
    "Unknown event {*}",
    "A client's own notify:{socket} is not relayed",
  ]);
});

Deno.test("credentials in an authenticator's error are not logged (protocol §10)", async () => {
  await using office = await served({
    authenticator: {
      authenticate({ auth }) {
        throw new Error(`Cannot read the token:\n${auth.token}\nat the end`);
      },
    },
  });
  const { url, log } = office;
  await refused(url, { auth: { token: "hunter2" } });
  assertEquals(/hunter2|at the end/.test(log.text), false);
  const stacks = log.records.map(({ properties }) => properties.stack ?? "");
  assertMatch(stacks.join(""), /^\s+at .*authenticate/);
});

Deno.test("a flood of refused handshakes is one line of the audit log, at any stage; omitted ones are counted at the end (protocol §10)", async () => {
  await using office = await served();
  const { url, port, log } = office;
  const began = performance.now();
  for (let i = 0; i < 5; i++) {
    await rawHttp(port, ["GET /smcp/ HTTP/1.1", "Host: 127.0.0.1"]);
    await refused(url, as("wrong"));
  }
  // One in ten seconds, of which a stalled machine may take more.
  const most = 1 + Math.floor((performance.now() - began) / 10_000);
  const linesOf = (code: number) =>
    log.audit.filter((line) => line.code === code);
  for (const code of [400, 401]) assert(linesOf(code).length <= most);
  await office.server.close();
  for (const code of [400, 401]) {
    const lines = linesOf(code);
    assert(lines.length <= most + 1);
    const omitted = lines.map((line) => Number(line.omitted ?? 0));
    assertEquals(omitted.reduce((a, b) => a + b, lines.length), 5);
  }
});

Deno.test("a flood over a limit is one line of the audit log (protocol §10)", async () => {
  await using office = await served({ limits: { eventsPerSecond: 2 } });
  const client = await office.connect(KEYS.planner);
  await Promise.all(
    Array.from({ length: 50 }, () => client.ask("client:odd", {})),
  );
  const hits = office.linesOf("limit_hit");
  assertEquals(hits.map(({ address, principal }) => [address, principal]), [
    ["127.0.0.1", "key:planner"],
  ]);
});

Deno.test("refused joins, and attempts on other offices and names, are audited (protocol §10)", async () => {
  await using office = await served();
  const { agent, computer } = await office.pair();
  const second = await office.connect(KEYS.planner);
  await second.join("agent", "", "north");
  await second.join("agent", "eve", "north");
  await computer.join("agent", "lab-1", "south");
  const list = { agent: "ada", req_id: "r", office_id: "south" };
  await agent.ask("server:list_room", list);
  await agent.request("server:leave_office", { office_id: "south" });
  await agent.ask("client:tool_call", request({ agent: "eve" }));
  await computer.ask("client:get_tools", request());
  await computer.ask("server:update_desktop", { computer: "lab-2" });
  const lines = office.linesOf("join_refused", "access_refused").map((line) => {
    assert(typeof line.reason === "string" && line.reason !== "");
    return ["request", "code", "office", "name"].map((field) => line[field]);
  });
  assertEquals(lines, [
    [undefined, undefined, undefined, undefined],
    [undefined, undefined, "north", "eve"],
    [undefined, undefined, "south", "lab-1"],
    ["server:list_room", 4104, "north", "ada"],
    ["server:leave_office", 4104, "north", "ada"],
    ["client:tool_call", 403, "north", "ada"],
    ["client:get_tools", 403, "north", "lab-1"],
    ["server:update_desktop", 403, "north", "lab-1"],
  ]);
});

Deno.test("tool calls are audited when they end: who, what, duration, outcome; no payload (protocol §10)", async () => {
  await using office = await served();
  const { agent, computer } = await office.pair();
  const answers = [
    { content: [{ type: "text", text: "hunter2-result" }] },
    { content: [], isError: true, meta: { error_code: 4001 } },
    "nonsense",
  ];
  computer.handle("client:tool_call", (_, ack) => ack(answers.shift()));
  for (const req_id of ["r1", "r2", "r3"]) {
    await agent.ask("client:tool_call", request({ req_id }));
  }
  await agent.ask("client:tool_call", request({ req_id: "r4", computer: "x" }));
  const called = Promise.withResolvers<void>();
  computer.handle("client:tool_call", () => called.resolve());
  agent.socket.emit("client:tool_call", request({ req_id: "r5" }), () => {});
  await called.promise;
  await agent[Symbol.asyncDispose]();
  await computer.next("notify:leave_office");
  const calls = office.linesOf("tool_call");
  for (const { ms } of calls) assert(Number.isInteger(ms));
  assertEquals(
    calls.map(({ ms: _, ...rest }) => rest),
    [
      ["r1", "lab-1", "ok"],
      ["r2", "lab-1", "error 4001"],
      ["r3", "lab-1", "error 500"],
      ["r4", "x", "error 404"],
      ["r5", "lab-1", "agent gone"],
    ].map(([req_id, computer, outcome]) => ({
      event: "tool_call",
      office: "north",
      agent: "ada",
      computer,
      principal: "key:planner",
      tool: "pay",
      req_id,
      outcome,
    })),
  );
  assertEquals(office.log.text.includes("hunter2"), false);
});

Deno.test("auditPayloads adds parameters and results (protocol §10)", async () => {
  await using office = await served({ auditPayloads: true });
  const { agent, computer } = await office.pair();
  computer.handle("client:tool_call", (payload, ack) => {
    const { params } = payload as { readonly params: object };
    ack({ content: [{ type: "text", ...params }] });
  });
  // Large ones are freed when they are sent.
  const texts = ["done", "x".repeat(100_000)];
  for (const text of texts) {
    await agent.ask("client:tool_call", request({ params: { text } }));
  }
  assertEquals(
    office.linesOf("tool_call").map(({ params, result }) => [params, result]),
    texts.map((text) => [{ text }, { content: [{ type: "text", text }] }]),
  );
});

Deno.test("reads of contents are audited when they end, lists are not; the contents only with auditPayloads (protocol §10)", async () => {
  const contents = [{ uri: "note://1", text: "hunter2" }];
  const missing = { code: 4013, message: "No such document", details: {} };
  const uri = "postgres://me:hunter2@db/north?password=hunter2";
  const skill = { name: "pdf", rel_path: "scripts/x.py" };
  const rows: [string, fields: object, answer: object, line?: object][] = [
    ["client:read_resource", { mcp_server: "notes", uri }, { contents }, {
      mcp_server: "notes",
      uri: "postgres://db/north",
      outcome: "ok",
    }],
    ["client:get_dpe", { uri: "dpe://h/d" }, missing, {
      uri: "dpe://h/d",
      outcome: "error 4013",
    }],
    ["client:get_skill", skill, { body: "hunter2" }, {
      skill: "pdf",
      path: "scripts/x.py",
      outcome: "ok",
    }],
    ["client:get_resources", { mcp_server: "notes" }, { resources: [] }],
  ];
  for (const auditPayloads of [false, true]) {
    await using office = await served({ auditPayloads });
    const { agent, computer } = await office.pair();
    for (const [event, fields, answer] of rows) {
      computer.handle(event, (_, ack) => ack(answer));
      const base = { agent: "ada", computer: "lab-1", req_id: "r" };
      await agent.ask(event, { ...base, ...fields });
    }
    const lines = office.log.audit.filter(({ req_id }) => req_id === "r");
    assertEquals(
      lines.map(({ ms: _, result: __, ...rest }) => rest),
      rows.flatMap(([request, , , line]) =>
        line
          ? [{
            event: "read",
            office: "north",
            agent: "ada",
            req_id: "r",
            principal: "key:planner",
            computer: "lab-1",
            request,
            ...line,
          }]
          : []
      ),
    );
    assertEquals(lines[0]?.result, auditPayloads ? { contents } : undefined);
    assertEquals(office.log.text.includes("hunter2"), auditPayloads);
  }
});

Deno.test("no token is ever logged: keys, JWTs and auth in every place, valid and invalid (protocol §10)", async () => {
  const secret = "hunter2-0123456789abcdef0123456789abcdef";
  const token = await new SignJWT({ sub: "ada" })
    .setProtectedHeader({ alg: "HS256" }).setExpirationTime("1h")
    .sign(new TextEncoder().encode(secret));
  const shown = [
    ...[{ api_key: KEYS.lab }, { api_key: "hunter2-wrong" }],
    ...[{ token }, { token: `${token}x` }, { token: "hunter2.a.b" }],
    { password: "hunter2", api_key: KEYS.lab, role: "hunter2" },
    { instance_id: ["hunter2"], token },
  ];
  const ways = shown.flatMap((auth) => [
    { auth, transports: ["polling" as const] },
    { auth, transports: ["websocket" as const] },
  ]);
  for (const way of ways) {
    // A new server for each, since a refusal must not be throttled.
    await using office = await served({
      authenticator: anyOf([keys(), jwt({ key: { secret } })]),
    });
    const { url, port, log } = office;
    await using client = await connectRaw(url, way).catch(() => null);
    if (client !== null) {
      await client.join("agent", "ada", "north");
      for (const event of Object.keys(CLIENT_EVENTS)) {
        await client.ask(event, { agent: "hunter2", token });
        await client.ask(event, request({ agent: "ada", token }));
      }
      await client.ask("server:odd", { token });
    }
    for (const target of ["/smcp/", "/health", "/nothing"]) {
      const query = `?EIO=4&transport=polling&token=${token}&key=hunter2`;
      await rawHttp(port, [
        `GET ${target}${query} HTTP/1.1`,
        ...["Host: 127.0.0.1", `Authorization: Bearer ${token}`],
        ...["X-API-Key: hunter2", "Cookie: session=hunter2"],
      ]);
    }
    assert(log.records.length > 0);
    for (const part of ["hunter2", ...token.split(".")]) {
      assertEquals(log.text.includes(part), false);
    }
  }
});
