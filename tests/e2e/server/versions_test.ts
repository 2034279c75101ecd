import { assert, assertEquals, assertThrows } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import {
  ENTER_OFFICE_NOTIFICATION,
  GET_TOOLS_EVENT,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  LIST_ROOM_EVENT,
  PUT_BLOB_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../../protocol/mod.ts";
import { createMetrics, createSmcpServer } from "../../../server/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import {
  connectRaw,
  joinRaw,
  RawClient,
} from "../../support/wire/raw_client.ts";
import { rawHttp, upgradeHead } from "../../support/wire/raw_http.ts";
import { startServerCommand } from "../../support/server/server_command.ts";

const OLD = { version: "0.2.0" };
const NEW = { version: "0.4.0" };
const REQUEST = { agent: "agent", req_id: "1", computer: "pc" };
const TOOLS = { tools: [], req_id: "1" };

const codeOf = (answer: unknown) => Reflect.get(Object(answer), "code");

/** An Agent of 0.2, and a Computer of each version, in the office "north" of a Server of 0.2 and 0.4. */
async function mixedOffice(url: string) {
  const stack = new AsyncDisposableStack();
  const agent = stack.use(
    await joinRaw({ url, ...OLD }, "agent", "agent", "north"),
  );
  const old = stack.use(
    await joinRaw({ url, ...OLD }, "computer", "old", "north"),
  );
  const recent = stack.use(
    await joinRaw({ url, ...NEW }, "computer", "pc", "north"),
  );
  for (const computer of ["old", "pc"]) {
    assertEquals(await agent.next(ENTER_OFFICE_NOTIFICATION), {
      office_id: "north",
      computer,
    });
  }
  await old.next(ENTER_OFFICE_NOTIFICATION);
  return {
    ...{ agent, old, recent },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("members of all versions meet in one office, each with its own version (0.4 §18)", async () => {
  await using server = createSmcpServer({ protocol: ["0.4", "0.2"] });
  const { url } = await server.listen();
  await using office = await mixedOffice(url);
  const { agent, old, recent } = office;
  const room = await agent.ask(LIST_ROOM_EVENT, {
    agent: "agent",
    req_id: "1",
    office_id: "north",
  });
  const sessions: { sid: string; a2c_version: string }[] = Object(room)
    .sessions;
  assertEquals(
    sessions.map(({ sid, a2c_version }) => [sid, a2c_version]),
    [agent, old, recent].map(({ socket }, i) => [
      socket.id,
      i === 2 ? NEW.version : OLD.version,
    ]),
  );
  const asked: string[] = [];
  old.handle(GET_TOOLS_EVENT, (_, ack) => (asked.push("old"), ack(TOOLS)));
  recent.handle(GET_TOOLS_EVENT, (_, ack) => (asked.push("new"), ack(TOOLS)));
  assertEquals(await agent.ask(GET_TOOLS_EVENT, REQUEST), TOOLS);
  assertEquals(
    await agent.ask(GET_TOOLS_EVENT, { ...REQUEST, computer: "old" }),
    TOOLS,
  );
  assertEquals(asked, ["new", "old"]);
  await recent.request(UPDATE_TOOL_LIST_EVENT, { computer: "pc" });
  await agent.next("notify:update_tool_list");
  await old.next("notify:update_tool_list");
  // There is one seat for an Agent, whatever it speaks.
  await using second = await connectRaw(url, NEW);
  assertEquals(await second.join("agent", "second", "north"), [
    false,
    "Room already has an agent",
  ]);
  // Each has the events of its version.
  assertEquals(codeOf(await agent.ask(PUT_BLOB_EVENT, REQUEST)), 400);
  await agent.request(LEAVE_OFFICE_EVENT, { office_id: "north" });
  assertEquals(await second.join("agent", "second", "north"), [true, null]);
  const put = { agent: "second", req_id: "2", computer: "old", name: "f" };
  const { code, message } = Object(
    await second.ask(PUT_BLOB_EVENT, {
      ...put,
      ...{ blob_id: "b", chunk: "", chunk_offset: 0, total_size: 0 },
      ...{ eof: true, sha256: "0".repeat(64) },
    }),
  );
  assertEquals(code, 400, message);
  assertEquals(server.stats, { connections: 4, offices: 1, members: 3 });
});

Deno.test("the version table holds against a server of 0.2 and 0.4, over polling and upgrade (0.4 §2, §18)", async () => {
  await using server = createSmcpServer({ protocol: ["0.2", "0.4"] });
  const { port } = await server.listen();
  const mismatch = (client: string) =>
    `{"code":4008,"message":"Protocol version mismatch","server_version":"0.4.0","client_version":"${client}","min_supported":"0.2.0","max_supported":"0.4.999"}`;
  const missing =
    '{"code":400,"message":"Missing a2c_version query parameter"}';
  const table: [query: string, body: string | undefined][] = [
    ["&a2c_version=0.2.0", undefined],
    ["&a2c_version=0.2.1", undefined],
    ["&a2c_version=0.4.0", undefined],
    ["&a2c_version=0.4.9", undefined],
    ...["0.1.5", "0.3.0", "0.5.0", "1.0.0", "1.2.0"].map((version) =>
      [`&a2c_version=${version}`, mismatch(version)] as [string, string]
    ),
    ["", missing],
  ];
  for (const [query, body] of table) {
    const target = (transport: string) =>
      `/smcp/?EIO=4&transport=${transport}${query}`;
    const polled = await rawHttp(port, [
      `GET ${target("polling")} HTTP/1.1`,
      "Host: 127.0.0.1",
    ]);
    const upgraded = await rawHttp(port, upgradeHead(target("websocket")));
    const statuses = [polled.status, upgraded.status];
    if (body === undefined) {
      assertEquals(statuses, [200, 101], query);
      continue;
    }
    assertEquals(statuses, [400, 400], query);
    assertEquals([polled.body, upgraded.body], [body, body], query);
    assertEquals(
      polled.headers["x-a2c-error-code"],
      body === missing ? undefined : "4008",
    );
  }
  for (const invalid of ["abc", "1.2", "0.2.0&a2c_version=0.4.0"]) {
    const { status, body } = await rawHttp(port, [
      `GET /smcp/?EIO=4&transport=polling&a2c_version=${invalid} HTTP/1.1`,
      "Host: 127.0.0.1",
    ]);
    assertEquals([status, JSON.parse(body).code], [400, 400], invalid);
  }
});

Deno.test("a session keeps the version of its first request, whatever its later ones say (0.4 §2)", async () => {
  await using server = createSmcpServer({ protocol: ["0.2", "0.4"] });
  const { url } = await server.listen();
  const at = (query: string) =>
    `${url}/smcp/?EIO=4&transport=polling&a2c_version=${query}`;
  const body = await (await fetch(at("0.2.0"))).text();
  const { sid } = JSON.parse(body.slice(body.indexOf("{")));
  const other = at(`0.4.0&sid=${sid}`);
  const connect = await fetch(other, { method: "POST", body: "40/smcp," });
  await connect.text();
  const join = { role: "computer", name: "pc", office_id: "north" };
  const joined = await fetch(other, {
    method: "POST",
    body: `42/smcp,0${JSON.stringify([JOIN_OFFICE_EVENT, join])}`,
  });
  await joined.text();
  await using agent = await joinRaw({ url, ...NEW }, "agent", "agent", "north");
  let sessions: { a2c_version: string }[] = [];
  while (sessions.length < 2) {
    const list = { agent: "agent", req_id: "1", office_id: "north" };
    sessions = Object(await agent.ask(LIST_ROOM_EVENT, list)).sessions;
  }
  assertEquals(
    sessions.map(({ a2c_version }) => a2c_version),
    ["0.4.0", "0.2.0"],
  );
});

Deno.test("sessions of an address count together, whatever their versions (0.4 §18)", async () => {
  await using server = createSmcpServer({
    protocol: ["0.2", "0.4"],
    limits: { connectionsPerAddress: 2 },
  });
  const { url } = await server.listen();
  await using _first = await connectRaw(url, OLD);
  await using _second = await connectRaw(url, NEW);
  for (const version of [OLD, NEW]) {
    await using third = new RawClient(url, {
      ...version,
      transports: ["polling"],
    });
    const error = await third.connected().catch((error) => error);
    assertEquals(error.context?.status, 429);
  }
});

Deno.test("/health of several versions counts each; of one version it is as before, and so are /metrics (0.4 §18)", async () => {
  await using server = createSmcpServer({
    protocol: ["0.2", "0.4"],
    metrics: createMetrics(),
  });
  const { url } = await server.listen();
  await using _member = await joinRaw(
    { url, ...NEW },
    "computer",
    "pc",
    "north",
  );
  const one = { connections: 1, offices: 1, members: 1 };
  assertEquals(await (await fetch(`${url}/health`)).json(), {
    status: "ok",
    protocol_version: "0.4.0",
    protocol_versions: ["0.2.0", "0.4.0"],
    ...one,
    protocols: {
      "0.2": { connections: 0, offices: 0, members: 0 },
      "0.4": one,
    },
  });
  const text = await (await fetch(`${url}/metrics`)).text();
  for (
    const sample of [
      "smcp_members 1",
      'smcp_events_total{event="server:join_office",outcome="ok"} 1',
    ]
  ) assert(text.includes(sample), text);

  await using alone = createSmcpServer({ metrics: createMetrics() });
  const { url: base } = await alone.listen();
  assertEquals(
    await (await fetch(`${base}/health`)).text(),
    '{"status":"ok","protocol_version":"0.2.0","connections":0,"offices":0,"members":0}',
  );
  const plain = await (await fetch(`${base}/metrics`)).text();
  assert(
    plain.includes("smcp_members 0") && !plain.includes("protocol="),
    plain,
  );
});

Deno.test("a refused version is audited with both versions (0.4 §15.1)", async () => {
  using log = captureLog();
  await using server = createSmcpServer({ protocol: ["0.2", "0.4"] });
  const { url } = await server.listen();
  await using client = new RawClient(url, {
    version: "0.3.1",
    transports: ["polling"],
  });
  await client.connected().catch(() => {});
  assertEquals(
    log.audit.map(({ event, code, reason }) => [event, code, reason]),
    [[
      "handshake_refused",
      4008,
      'Protocol version mismatch: client "0.3.1", server "0.4.0"',
    ]],
  );
});

Deno.test("close() ends the sessions of every version, and their offices hear of it (0.4 §18)", async () => {
  const server = createSmcpServer({ protocol: ["0.2", "0.4"] });
  const { url } = await server.listen();
  await using office = await mixedOffice(url);
  const ends = [office.agent, office.old, office.recent]
    .map((client) => client.disconnected());
  await server.close({ graceMs: 0 });
  await Promise.all(ends);
  assertEquals(server.stats, { connections: 0, offices: 0, members: 0 });
});

Deno.test("createSmcpServer() refuses versions that there are not", () => {
  for (const protocol of ["0.5", "", [], ["0.2", "x"]]) {
    assertThrows(
      () => Reflect.apply(createSmcpServer, undefined, [{ protocol }]),
      TypeError,
      "expected one or more of",
    );
  }
});

Deno.test("this package's clients of each version work at a server of all (0.4 §18)", async () => {
  await using server = createSmcpServer({ protocol: "all" });
  const { url } = await server.listen();
  for (const protocol of ["auto", "0.2", "0.3", "0.4"] as const) {
    await using agent = new SmcpAgent({ url, name: "agent", protocol });
    await agent.connect();
    await agent.join("office");
    const [self, ...others] = await agent.listRoom();
    assertEquals(others, []);
    assertEquals(
      self?.a2c_version?.slice(0, 3),
      protocol === "auto" ? "0.4" : protocol,
    );
  }
});

Deno.test({
  name: "--protocol takes a list, all, and nothing else (0.4 §18)",
  timeout: 120_000,
}, async () => {
  for (
    const [value, versions] of [
      ["0.4", "0.4.0"],
      ["0.4,0.2", "0.2.0, 0.4.0"],
      ["all", "0.1.2, 0.2.0, 0.3.1, 0.4.0"],
    ]
  ) {
    await using command = await startServerCommand([
      "--port=0",
      `--protocol=${value}`,
    ]);
    assertEquals(
      command.line.startsWith(`A2C-SMCP ${versions} server`),
      true,
      command.line,
    );
  }
  for (const value of ["0.2,0.9", "", "0.2;0.4", "0.2,"]) {
    await using command = await startServerCommand([
      "--port=0",
      `--protocol=${value}`,
    ]);
    assertEquals(await command.exited, 2, value);
  }
});
