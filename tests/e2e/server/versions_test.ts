import { assert, assertEquals, assertThrows } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import {
  ENTER_OFFICE_NOTIFICATION,
  GET_TOOLS_EVENT,
  LIST_ROOM_EVENT,
  PUT_BLOB_EVENT,
  UPDATE_TOOL_LIST_EVENT,
} from "../../../protocol/mod.ts";
import {
  createMetrics,
  createSmcpServer,
  MemoryRegistry,
} from "../../../server/mod.ts";
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

/** A Server of 0.2 and 0.4 with an Agent and a Computer of each in the office "north". */
async function twoOffices(url: string) {
  const stack = new AsyncDisposableStack();
  const seat = async (role: "agent" | "computer", version: typeof OLD) =>
    stack.use(
      await joinRaw(
        url,
        role,
        role === "agent" ? "agent" : "pc",
        "north",
        version,
      ),
    );
  const old = {
    agent: await seat("agent", OLD),
    computer: await seat("computer", OLD),
  };
  const recent = {
    agent: await seat("agent", NEW),
    computer: await seat("computer", NEW),
  };
  for (const { agent } of [old, recent]) {
    await agent.next(ENTER_OFFICE_NOTIFICATION);
  }
  return { old, recent, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

Deno.test("offices of two versions under one id do not meet (0.4 §18)", async () => {
  await using server = createSmcpServer({ protocol: ["0.4", "0.2"] });
  const { url } = await server.listen();
  await using offices = await twoOffices(url);
  const { old, recent } = offices;
  for (
    const [{ agent, computer }, version] of [[old, OLD], [recent, NEW]] as const
  ) {
    const room = await agent.ask(LIST_ROOM_EVENT, {
      agent: "agent",
      req_id: "1",
      office_id: "north",
    });
    const sessions: { sid: string; a2c_version: string }[] = Reflect.get(
      Object(room),
      "sessions",
    );
    assertEquals(
      sessions.map(({ sid, a2c_version }) => [sid, a2c_version]),
      [[agent.socket.id, version.version], [
        computer.socket.id,
        version.version,
      ]],
    );
  }
  const asked: string[] = [];
  old.computer.handle(
    GET_TOOLS_EVENT,
    (_, ack) => (asked.push("old"), ack(TOOLS)),
  );
  recent.computer.handle(
    GET_TOOLS_EVENT,
    (_, ack) => (asked.push("new"), ack(TOOLS)),
  );
  assertEquals(await recent.agent.ask(GET_TOOLS_EVENT, REQUEST), TOOLS);
  assertEquals(await old.agent.ask(GET_TOOLS_EVENT, REQUEST), TOOLS);
  assertEquals(asked, ["new", "old"]);
  // What one office is told, the other is not.
  await recent.computer.request(UPDATE_TOOL_LIST_EVENT, { computer: "pc" });
  await recent.agent.next("notify:update_tool_list");
  await old.computer[Symbol.asyncDispose]();
  await old.agent.next("notify:leave_office");
  assertEquals([...old.agent.heard, ...recent.agent.heard], []);
  assertEquals(codeOf(await old.agent.ask(GET_TOOLS_EVENT, REQUEST)), 404);
  assertEquals(await recent.agent.ask(GET_TOOLS_EVENT, REQUEST), TOOLS);
  // Each has the events of its version.
  assertEquals(codeOf(await old.agent.ask(PUT_BLOB_EVENT, REQUEST)), 400);
  assertEquals(server.stats, { connections: 3, offices: 2, members: 3 });
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

Deno.test("a session stays with its version: a request for it with another one finds none (0.4 §18)", async () => {
  await using server = createSmcpServer({ protocol: ["0.2", "0.4"] });
  const { url } = await server.listen();
  const get = (query: string) =>
    fetch(`${url}/smcp/?EIO=4&transport=polling${query}`);
  const body = await (await get("&a2c_version=0.2.0")).text();
  const { sid } = JSON.parse(body.slice(body.indexOf("{")));
  const other = await get(`&a2c_version=0.4.0&sid=${sid}`);
  assertEquals([other.status, (await other.json()).code], [400, 1]);
});

Deno.test("the log says once that an office has members of two versions, and names both (0.4 §18)", async () => {
  using log = captureLog();
  await using server = createSmcpServer({ protocol: "all" });
  const { url } = await server.listen();
  const told = () =>
    log.records.filter(({ rawMessage }) =>
      String(rawMessage).includes("do not see each other")
    )
      .map((
        { properties },
      ) => [properties.office, properties.other, properties.version]);
  await using _alone = await joinRaw(url, "computer", "pc", "alone", NEW);
  {
    await using _offices = await twoOffices(url);
    await using _more = await joinRaw(url, "computer", "more", "north", {
      version: "0.3.0",
    });
    assertEquals(told(), [["north", "0.2.0", "0.4.0"]]);
  }
  while (server.stats.members > 1) {
    await new Promise((next) => setTimeout(next, 5));
  }
  await using _offices = await twoOffices(url);
  assertEquals(told().length, 2); // everybody was gone meanwhile
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

Deno.test("/health and /metrics of several versions tell them apart; of one version they are as before (0.4 §18)", async () => {
  await using server = createSmcpServer({
    protocol: ["0.2", "0.4"],
    metrics: createMetrics(),
  });
  const { url } = await server.listen();
  await using _member = await joinRaw(url, "computer", "pc", "north", NEW);
  const one = { connections: 1, offices: 1, members: 1 };
  assertEquals(await (await fetch(`${url}/health`)).json(), {
    status: "ok",
    protocol_version: "0.4.0",
    ...one,
    protocols: {
      "0.2": { connections: 0, offices: 0, members: 0 },
      "0.4": one,
    },
  });
  const text = await (await fetch(`${url}/metrics`)).text();
  for (
    const sample of [
      'smcp_members{protocol="0.2"} 0',
      'smcp_members{protocol="0.4"} 1',
      'smcp_events_total{event="server:join_office",outcome="ok",protocol="0.4"} 1',
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
  await using offices = await twoOffices(url);
  const { old, recent } = offices;
  const ends = [old.agent, old.computer, recent.agent, recent.computer]
    .map((client) => client.disconnected());
  await server.close({ graceMs: 0 });
  await Promise.all(ends);
  assertEquals(server.stats, { connections: 0, offices: 0, members: 0 });
});

Deno.test("createSmcpServer() refuses versions that there are not, and one registry for several", () => {
  for (const protocol of ["0.5", "", [], ["0.2", "x"]]) {
    assertThrows(
      () => Reflect.apply(createSmcpServer, undefined, [{ protocol }]),
      TypeError,
      "expected one or more of",
    );
  }
  assertThrows(
    () =>
      createSmcpServer({
        protocol: ["0.2", "0.4"],
        registry: new MemoryRegistry(),
      }),
    TypeError,
    "with one registry",
  );
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
      protocol === "auto" ? "0.2" : protocol,
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
