import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { SignJWT } from "jose";
import {
  CLIENT_EVENTS,
  GET_DPE_EVENT,
  GET_RESOURCES_EVENT,
  GET_SKILL_EVENT,
  GET_TOOLS_EVENT,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  LIST_ROOM_EVENT,
  READ_RESOURCE_EVENT,
  TOOL_CALL_EVENT,
  UPDATE_DESKTOP_EVENT,
} from "../../../protocol/mod.ts";
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
import { startServerCommand } from "../../support/server/server_command.ts";

const KEYS = { planner: "hunter2-planner", lab: "hunter2-lab" };

const as = (key: string): RawOptions => ({ auth: { api_key: key } });

const authenticator = () =>
  apiKeys([
    { id: "planner", key: KEYS.planner },
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

/** An Agent "ada" and a Computer "lab-1" in office "north". */
async function pair(url: string) {
  const agent = await joinRaw(
    { url, ...as(KEYS.planner) },
    "agent",
    "ada",
    "north",
  );
  const computer = await joinRaw(
    { url, ...as(KEYS.lab) },
    "computer",
    "lab-1",
    "north",
  );
  return {
    agent,
    computer,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await computer[Symbol.asyncDispose]();
    },
  };
}

const refused = (url: string, options: RawOptions) =>
  assertRejects(() => connectRaw(url, options));

async function served(options: SmcpServerOptions = {}) {
  const server = createSmcpServer({
    authenticator: authenticator(),
    ...options,
  });
  return { server, ...await server.listen() };
}

Deno.test("joins and leaves are audited: office, role, name, principal, address (spec §10)", async () => {
  using log = captureLog();
  const { server, url } = await served();
  {
    await using _ = server;
    await using members = await pair(url);
    await members.agent.request(LEAVE_OFFICE_EVENT, { office_id: "north" });
  }
  const lines = log.audit.map(({ event, office, role, name, principal }) => [
    ...[event, office, role, name, principal],
  ]);
  const ada = ["north", "agent", "ada", "key:planner"];
  const lab = ["north", "computer", "lab-1", "key:lab"];
  assertEquals(lines, [
    ["joined", ...ada],
    ["joined", ...lab],
    ["left", ...ada],
    ["left", ...lab],
  ]);
  for (const { address, socket } of log.audit) {
    assertEquals([address, typeof socket], ["127.0.0.1", "string"]);
  }
});

Deno.test("refused handshakes are audited with the reason, which the client does not get (spec §10)", async () => {
  using log = captureLog();
  const query = "/smcp/?EIO=4&transport=";
  const knocks: [
    number,
    string,
    (at: { url: string; port: number }) => Promise<unknown>,
  ][] = [
    [
      400,
      "Missing a2c_version query parameter",
      ({ port }) =>
        rawHttp(port, [`GET ${query}polling HTTP/1.1`, "Host: 127.0.0.1"]),
    ],
    [
      4008,
      'Protocol version mismatch: client "0.1.0", server "0.2.0"',
      ({ port }) =>
        rawHttp(port, upgradeHead(`${query}websocket&a2c_version=0.1.0`)),
    ],
    [
      403,
      'Origin not allowed ("https://evil.example")',
      ({ port }) =>
        rawHttp(port, [
          ...upgradeHead(`${query}websocket&a2c_version=0.2.0`),
          "Origin: https://evil.example",
        ]),
    ],
    [
      5,
      "Unsupported protocol version",
      ({ port }) =>
        rawHttp(port, [
          "GET /smcp/?EIO=3&transport=polling&a2c_version=0.2.0 HTTP/1.1",
          ...["Host: 127.0.0.1", "Connection: close"],
        ]),
    ],
    [
      0,
      "Transport unknown",
      ({ port }) =>
        rawHttp(port, upgradeHead(`${query}pigeon&a2c_version=0.2.0`)),
    ],
    [401, "no API key", ({ url }) => refused(url, {})],
    [401, "unknown API key", ({ url }) => refused(url, as("wrong"))],
    [
      400,
      'Invalid auth.role: expected "agent" or "computer"',
      ({ url }) => refused(url, { auth: { api_key: KEYS.lab, role: "x" } }),
    ],
  ];
  for (const [, , knock] of knocks) {
    const { server, ...at } = await served();
    await using _ = server;
    await knock(at);
  }
  const address = "127.0.0.1";
  const event = "handshake_refused";
  assertEquals(
    log.audit,
    knocks.map(([code, reason]) => ({ event, code, reason, address })),
  );
});

Deno.test("requests of ended sessions are not audited as refused handshakes", async () => {
  using log = captureLog();
  const { server, port } = await served();
  await using _ = server;
  const { status } = await rawHttp(port, [
    "GET /smcp/?EIO=4&transport=polling&a2c_version=0.2.0&sid=gone HTTP/1.1",
    ...["Host: 127.0.0.1", "Connection: close"],
  ]);
  assertEquals([status, log.audit], [400, []]);
});

Deno.test("sockets on another namespace are audited with the client's own address (spec §10)", async () => {
  using log = captureLog();
  const { server, port } = await served({ trustedProxies: 1 });
  await using _ = server;
  const namespaces = ["", "/made-up,"];
  for (const [i, namespace] of namespaces.entries()) {
    const from = [`X-Forwarded-For: 203.0.113.${i}`];
    const [answer] = await exchangePackets(port, [`40${namespace}`], from);
    assertMatch(answer ?? "", /"code":400/);
  }
  assertEquals(
    log.audit,
    namespaces.map((_, i) => ({
      event: "handshake_refused",
      code: 400,
      reason: "Invalid namespace",
      address: `203.0.113.${i}`,
    })),
  );
});

Deno.test("invalid joins, and joins during shutdown, are audited (spec §10)", async () => {
  using log = captureLog();
  const { server, url } = await served();
  await using _ = server;
  await using members = await pair(url);
  await using late = await connectRaw(url, as(KEYS.planner));
  const invalid = { role: "agent", name: "", office_id: "north" };
  await late.request(JOIN_OFFICE_EVENT, invalid);
  const asked = Promise.withResolvers<(answer: unknown) => void>();
  members.computer.handle(TOOL_CALL_EVENT, (_p, ack) => asked.resolve(ack));
  const call = members.agent.ask(TOOL_CALL_EVENT, request());
  const answer = await asked.promise;
  const closed = server.close();
  await late.join("computer", "late", "south");
  answer({ content: [] });
  await call;
  await closed;
  const refused = log.audit.filter(({ event }) => event === "join_refused")
    .map(({ principal, office, name, reason }) => [
      ...[principal, office, name],
      /^(Invalid payload: name|The server is shutting down)/.test(`${reason}`),
    ]);
  assertEquals(refused, [
    ["key:planner", undefined, undefined, true],
    ["key:planner", "south", "late", true],
  ]);
});

Deno.test("client data is never used as a log template: braces in names are logged unchanged", async () => {
  using log = captureLog();
  const { server, url } = await served();
  await using _ = server;
  const key = as(KEYS.planner);
  await using agent = await joinRaw(
    { url, ...key },
    "agent",
    "{socket}",
    "north",
  );
  for (const event of ["client:{socket}", "{*}"]) await agent.ask(event, {});
  await agent.request("notify:{socket}");
  await agent.request(LEAVE_OFFICE_EVENT, { office_id: "north" });
  const messages = log.records.filter(({ category }) =>
    category.join() === "a2c-smcp,server"
  ).map(({ message }) => message.join(""));
  assertEquals(messages, [
    "Unknown event client:{socket}",
    "Unknown event {*}",
    "A client's own notify:{socket} is not relayed",
  ]);
});

Deno.test("credentials in an authenticator's error are not logged (spec §10)", async () => {
  using log = captureLog();
  const { server, url } = await served({
    authenticator: {
      authenticate({ auth }) {
        throw new Error(`Cannot read the token:\n${auth.token}\nat the end`);
      },
    },
  });
  await using _ = server;
  await refused(url, { auth: { token: "hunter2" } });
  assertEquals(/hunter2|at the end/.test(log.text), false);
  const stacks = log.records.flatMap(({ properties }) =>
    properties.stack ?? []
  );
  assertMatch(String(stacks), /^\s+at .*authenticate/);
});

Deno.test("a flood of refused handshakes is one line of the audit log, at any stage; omitted ones are counted at the end (spec §10)", async () => {
  using log = captureLog();
  const { server, url, port } = await served();
  await using _ = server;
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
  await server.close();
  for (const code of [400, 401]) {
    const lines = linesOf(code);
    assert(lines.length <= most + 1);
    const omitted = lines.reduce(
      (sum, line) => sum + Number(line.omitted ?? 0),
      0,
    );
    assertEquals(lines.length + omitted, 5);
  }
});

Deno.test("refusals of one address for other reasons are separate lines, and those of a JWT name the claim (spec §10)", async () => {
  using log = captureLog();
  const secret = "0123456789abcdef0123456789abcdef";
  const { server, url } = await served({
    authenticator: jwt({ key: { secret }, audience: "smcp" }),
  });
  await using _ = server;
  const token = (aud: string, expires: number | string) =>
    new SignJWT({ sub: "hunter2", aud }).setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(expires).sign(new TextEncoder().encode(secret));
  for (
    const auth of [
      {},
      { token: await token("other", "1h") },
      { token: await token("smcp", 1) },
      { token: await token("smcp", 1) },
    ]
  ) await refused(url, { auth });
  assertEquals(log.audit.map(({ reason }) => reason), [
    "no token",
    "token refused: claim aud is not the audience that this server requires",
    "token refused: claim exp is past",
  ]);
  assertEquals(log.text.includes("hunter2"), false);
});

Deno.test("refused joins, and attempts on other offices and names, are audited (spec §10)", async () => {
  using log = captureLog();
  const { server, url } = await served({
    authenticator: apiKeys([
      { id: "planner", key: KEYS.planner, names: ["ada", "eve"] },
      { id: "lab", key: KEYS.lab },
    ]),
  });
  await using _ = server;
  await using members = await pair(url);
  const { agent, computer } = members;
  await using second = await connectRaw(url, as(KEYS.planner));
  await second.join("agent", "eve", "north");
  await computer.join("agent", "lab-1", "south");
  const base = { agent: "ada", req_id: "r" };
  await agent.ask(LIST_ROOM_EVENT, { ...base, office_id: "south" });
  await agent.request(LEAVE_OFFICE_EVENT, { office_id: "south" });
  await agent.ask(TOOL_CALL_EVENT, request({ agent: "eve" }));
  await computer.ask(GET_TOOLS_EVENT, request());
  await computer.ask(UPDATE_DESKTOP_EVENT, { computer: "lab-2" });
  const refused = log.audit.filter(({ event }) =>
    String(event).endsWith("_refused")
  ).map(({ event, request, code, office, name, reason }) => {
    assert(typeof reason === "string" && reason !== "");
    return [event, request, code, office, name];
  });
  assertEquals(refused, [
    ["join_refused", undefined, undefined, "north", "eve"],
    ["join_refused", undefined, undefined, "south", "lab-1"],
    ["access_refused", LIST_ROOM_EVENT, 4104, "north", "ada"],
    ["access_refused", LEAVE_OFFICE_EVENT, 4104, "north", "ada"],
    ["access_refused", TOOL_CALL_EVENT, 403, "north", "ada"],
    ["access_refused", GET_TOOLS_EVENT, 403, "north", "lab-1"],
    ["access_refused", UPDATE_DESKTOP_EVENT, 403, "north", "lab-1"],
  ]);
});

Deno.test("tool calls are audited when they end: who, what, duration, outcome; no payload (spec §10)", async () => {
  using log = captureLog();
  const { server, url } = await served();
  await using _ = server;
  await using members = await pair(url);
  const { agent, computer } = members;
  const answers = [
    { content: [{ type: "text", text: "hunter2-result" }] },
    { content: [], isError: true, meta: { error_code: 4001 } },
    "nonsense",
  ];
  computer.handle(TOOL_CALL_EVENT, (_payload, ack) => ack(answers.shift()));
  await agent.ask(TOOL_CALL_EVENT, request());
  await agent.ask(TOOL_CALL_EVENT, request({ req_id: "r2" }));
  await agent.ask(TOOL_CALL_EVENT, request({ req_id: "r3" }));
  await agent.ask(TOOL_CALL_EVENT, request({ req_id: "r4", computer: "x" }));
  const calls = log.audit.filter(({ event }) => event === "tool_call");
  assertEquals(
    calls.map(({ ms: _, ...rest }) => rest),
    [
      ["r1", "lab-1", "ok"],
      ["r2", "lab-1", "error 4001"],
      ["r3", "lab-1", "error 500"],
      ["r4", "x", "error 404"],
    ].map(([req_id, computer, outcome]) => ({
      event: "tool_call",
      office: "north",
      agent: "ada",
      principal: "key:planner",
      computer,
      tool: "pay",
      req_id,
      outcome,
    })),
  );
  for (const { ms } of calls) assert(Number.isInteger(ms));
  assertEquals(/hunter2/.test(log.text), false);
});

Deno.test("reads of contents are audited when they end, lists are not; the contents only with auditPayloads (spec §10)", async () => {
  for (const auditPayloads of [false, true]) {
    using log = captureLog();
    const { server, url } = await served({ auditPayloads });
    await using _ = server;
    await using members = await pair(url);
    const { agent, computer } = members;
    const base = { agent: "ada", computer: "lab-1" };
    const contents = [{ uri: "note://1", text: "hunter2" }];
    computer.handle(READ_RESOURCE_EVENT, (_payload, ack) => ack({ contents }));
    computer.handle(GET_DPE_EVENT, (_payload, ack) => {
      ack({ code: 4013, message: "No such document", details: {} });
    });
    computer.handle(GET_SKILL_EVENT, (_p, ack) => ack({ body: "hunter2" }));
    computer.handle(GET_RESOURCES_EVENT, (_p, ack) => ack({ resources: [] }));
    await agent.ask(READ_RESOURCE_EVENT, {
      ...base,
      req_id: "r1",
      mcp_server: "notes",
      uri: "postgres://me:hunter2@db/north?password=hunter2",
    });
    await agent.ask(GET_DPE_EVENT, { ...base, req_id: "r2", uri: "dpe://h/d" });
    await agent.ask(GET_SKILL_EVENT, {
      ...base,
      req_id: "r4",
      name: "pdf",
      rel_path: "scripts/x.py",
    });
    await agent.ask(GET_RESOURCES_EVENT, {
      ...base,
      req_id: "r3",
      mcp_server: "notes",
    });
    const lines = log.audit.filter(({ event, req_id }) =>
      event === "read" || req_id === "r3"
    );
    const common = {
      event: "read",
      office: "north",
      agent: "ada",
      principal: "key:planner",
      computer: "lab-1",
    };
    assertEquals(lines.map(({ ms: _, result: __, ...rest }) => rest), [
      {
        ...common,
        req_id: "r1",
        request: READ_RESOURCE_EVENT,
        mcp_server: "notes",
        uri: "postgres://db/north",
        outcome: "ok",
      },
      {
        ...common,
        req_id: "r2",
        request: GET_DPE_EVENT,
        uri: "dpe://h/d",
        outcome: "error 4013",
      },
      {
        ...common,
        req_id: "r4",
        request: GET_SKILL_EVENT,
        skill: "pdf",
        path: "scripts/x.py",
        outcome: "ok",
      },
    ]);
    assertEquals(lines[0]?.result, auditPayloads ? { contents } : undefined);
    assertEquals(log.text.includes("hunter2"), auditPayloads);
  }
});

Deno.test("a call whose agent vanished is audited too", async () => {
  using log = captureLog();
  const { server, url } = await served();
  await using _ = server;
  await using members = await pair(url);
  const call = members.agent.ask(TOOL_CALL_EVENT, request());
  void call; // never answered
  const asked = await members.computer.next(TOOL_CALL_EVENT);
  assertEquals(asked, request());
  await members.agent[Symbol.asyncDispose]();
  await members.computer.next("notify:leave_office");
  const call_ = log.audit.find(({ event }) => event === "tool_call");
  assertEquals(call_?.outcome, "agent gone");
});

Deno.test("a flood over a limit is one line of the audit log (spec §10)", async () => {
  using log = captureLog();
  const { server, url } = await served({ limits: { eventsPerSecond: 2 } });
  await using _ = server;
  await using client = await connectRaw(url, as(KEYS.planner));
  const flood = Array.from({ length: 50 }, () => client.ask("client:odd", {}));
  await Promise.all(flood);
  const hits = log.audit.filter(({ event }) => event === "limit_hit");
  assertEquals(hits.map(({ address, principal }) => [address, principal]), [
    ["127.0.0.1", "key:planner"],
  ]);
});

Deno.test("auditPayloads adds parameters and results (spec §10)", async () => {
  using log = captureLog();
  const { server, url } = await served({ auditPayloads: true });
  await using _ = server;
  await using members = await pair(url);
  // Large ones are freed when they are sent.
  const texts = ["done", "x".repeat(100_000)];
  members.computer.handle(
    TOOL_CALL_EVENT,
    (payload, ack) => {
      const { params } = payload as { readonly params: object };
      ack({ content: [{ type: "text", ...params }] });
    },
  );
  for (const text of texts) {
    await members.agent.ask(TOOL_CALL_EVENT, request({ params: { text } }));
  }
  assertEquals(
    log.audit.filter(({ event }) => event === "tool_call")
      .map(({ params, result }) => [params, result]),
    texts.map((text) => [{ text }, { content: [{ type: "text", text }] }]),
  );
});

Deno.test("no token is ever logged: keys, JWTs and auth in every place, valid and invalid (spec §10)", async () => {
  using log = captureLog();
  const secret = "hunter2-0123456789abcdef0123456789abcdef";
  const token = await new SignJWT({ sub: "ada" })
    .setProtectedHeader({ alg: "HS256" }).setExpirationTime("1h")
    .sign(new TextEncoder().encode(secret));
  const options = {
    authenticator: anyOf([authenticator(), jwt({ key: { secret } })]),
  };
  const shown = [
    ...[{ api_key: KEYS.lab }, { api_key: "hunter2-wrong" }],
    ...[{ token }, { token: `${token}x` }, { token: "hunter2.a.b" }],
    { password: "hunter2", api_key: KEYS.lab, role: "hunter2" },
    { instance_id: ["hunter2"], token },
  ];
  for (const auth of shown) {
    for (const transport of ["polling", "websocket"] as const) {
      // A new server for each, since a refusal must not be throttled.
      const { server, url } = await served(options);
      await using _ = server;
      try {
        await using client = await connectRaw(url, {
          auth,
          transports: [transport],
        });
        await client.join("agent", "ada", "north");
        for (const event of Object.keys(CLIENT_EVENTS)) {
          await client.ask(event, { agent: "hunter2", token });
          await client.ask(event, request({ agent: "ada", token }));
        }
        await client.ask("server:odd", { token });
      } catch {
        // refused
      }
    }
  }
  const { server, port } = await served(options);
  await using _ = server;
  for (const target of ["/smcp/", "/health", "/nothing"]) {
    const query = `?EIO=4&transport=polling&token=${token}&key=hunter2`;
    await rawHttp(port, [
      `GET ${target}${query} HTTP/1.1`,
      ...["Host: 127.0.0.1", `Authorization: Bearer ${token}`],
      ...["X-API-Key: hunter2", "Cookie: session=hunter2"],
    ]);
  }
  assert(log.records.length > 20);
  assertEquals(/hunter2/.test(log.text), false);
  for (const part of token.split(".")) {
    assertEquals(log.text.includes(part), false);
  }
});

Deno.test({
  name:
    "the command writes one line per event, as JSON or for people, regardless of names (spec §10)",
  timeout: 120_000,
}, async () => {
  for (const format of ["json", "pretty"] as const) {
    await using command = await startServerCommand([
      "--port=0",
      `--log-format=${format}`,
    ]);
    const name = `a"b {x} \u2028 €`;
    await using agent = await joinRaw(command.url, "agent", name, "north");
    await agent.ask("client:odd\r\nforged\u001b[2J", {});
    await command.logged("forged");
    const lines = command.log.trimEnd().split("\n");
    assertEquals(lines.length, 2, command.log);
    if (format === "json") {
      const [joined] = lines.map((line) => JSON.parse(line));
      assertEquals(
        [joined.level, joined.logger, joined.message, joined.name],
        ["info", "a2c-smcp.audit", "joined", name],
      );
      assertMatch(joined.time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    } else {
      assertMatch(
        lines[0] ?? "",
        /^\S+Z INFO audit: joined .*name="a\\"b \{x\} \\u2028 €"/,
      );
    }
  }
});

Deno.test({
  name: "--log-level omits lower levels",
  timeout: 120_000,
}, async () => {
  await using command = await startServerCommand([
    "--port=0",
    "--log-level=warning",
  ]);
  await using agent = await joinRaw(command.url, "agent", "ada", "north");
  await agent.join("computer", "ada", "north");
  await command.logged("join_refused");
  assertEquals(command.log.includes('"joined"'), false);
});

Deno.test({
  name:
    "--log-file receives the log instead of stderr, is appended to, and is reopened at SIGHUP",
  timeout: 120_000,
}, async () => {
  const dir = await Deno.makeTempDir();
  const file = `${dir}/smcp.log`;
  await Deno.writeTextFile(file, "before\n");
  {
    await using command = await startServerCommand(
      ["--port=0", `--log-file=${file}`],
      {},
      [`--allow-write=${dir}`],
    );
    await using agent = await joinRaw(command.url, "agent", "ada", "north");
    await Deno.rename(file, `${file}.1`); // like a tool that rotates logs
    command.kill("SIGHUP");
    while (!await Deno.stat(file).catch(() => undefined)) {
      await agent.ask(GET_TOOLS_EVENT, {});
    }
    await agent.request(LEAVE_OFFICE_EVENT, { office_id: "north" });
    assertEquals(command.log, "");
  }
  const [old, now] = await Promise.all(
    [`${file}.1`, file].map((each) => Deno.readTextFile(each)),
  );
  assertMatch(old ?? "", /^before\n\{.*"joined".*\}\n$/);
  assertStringIncludes(now ?? "", '"left"');
  await Deno.remove(dir, { recursive: true });
});
