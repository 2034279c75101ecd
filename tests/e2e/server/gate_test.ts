import { assertEquals, assertMatch } from "@std/assert";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { closeServer, listenOn } from "../../../server/http/listen.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { refuseNamespaces } from "../../../server/wire/stock_engine.ts";
import { startBareEngine } from "../../support/server/bare_engine.ts";
import { exchangePackets } from "../../support/server/polling_session.ts";
import {
  connectRaw,
  joinRaw,
  RawClient,
} from "../../support/wire/raw_client.ts";
import {
  type RawAnswer,
  rawHttp,
  upgradeHead,
} from "../../support/wire/raw_http.ts";

const MISSING = '{"code":400,"message":"Missing a2c_version query parameter"}';
const MISMATCH =
  '{"code":4008,"message":"Protocol version mismatch","server_version":"0.2.0","client_version":"0.1.5","min_supported":"0.2.0","max_supported":"0.2.999"}';
const OPENING = "EIO=4&a2c_version=0.2.0&transport";

const get = (port: number, target: string, ...headers: string[]) =>
  rawHttp(port, [`GET ${target} HTTP/1.1`, "Host: 127.0.0.1", ...headers]);

const post = (port: number, target: string, body: string) =>
  rawHttp(port, [
    `POST ${target} HTTP/1.1`,
    "Host: 127.0.0.1",
    `Content-Length: ${body.length}`,
  ], body);

const upgrade = (port: number, target: string, ...headers: string[]) =>
  rawHttp(port, [...upgradeHead(target), ...headers]);

/** The same query over polling GET, polling POST and a WebSocket upgrade. */
const everyWay = async (
  port: number,
  path: string,
  query: string,
): Promise<RawAnswer[]> => [
  await get(port, `${path}?EIO=4&transport=polling${query}`),
  await post(port, `${path}?EIO=4&transport=polling&sid=x${query}`, "40"),
  await upgrade(port, `${path}?EIO=4&transport=websocket${query}`),
];

Deno.test("the gate answers GET, POST and upgrade with the same bytes, on every path (protocol §2)", async () => {
  await using server = createSmcpServer();
  const { port } = await server.listen();
  const twice = "&a2c_version=0.2.0&a2c_version=0.2.0";
  for (const path of ["/smcp/", "/smcp", "/socket.io/", "/socket.io"]) {
    for (const answer of await everyWay(port, path, "")) {
      assertEquals([answer.status, answer.body], [400, MISSING]);
      assertEquals(answer.headers["content-type"], "application/json");
      assertEquals(answer.headers["x-a2c-error-code"], undefined);
    }
    for (const answer of await everyWay(port, path, "&a2c_version=0.1.5")) {
      assertEquals([answer.status, answer.body], [400, MISMATCH]);
      assertEquals(answer.headers["x-a2c-error-code"], "4008");
    }
    for (const answer of await everyWay(port, path, twice)) {
      const { code, message } = JSON.parse(answer.body);
      assertEquals(
        [answer.status, code, message.split(":")[0]],
        [400, 400, "Invalid a2c_version"],
      );
    }
  }
});

Deno.test("later requests of an open session are checked like the first (protocol §2)", async () => {
  await using server = createSmcpServer();
  const { port } = await server.listen();
  const opened = await get(port, `/smcp/?${OPENING}=polling`);
  const { sid } = JSON.parse(opened.body.slice(1));
  const query = `/smcp/?EIO=4&sid=${sid}&transport=`;
  const later = (version: string) =>
    post(port, `${query}polling${version}`, "40/smcp,");
  assertEquals((await later("")).body, MISSING);
  assertEquals((await later("&a2c_version=0.1.5")).body, MISMATCH);
  const upgraded = await upgrade(port, `${query}websocket`);
  assertEquals([upgraded.status, upgraded.body], [400, MISSING]);
  assertEquals((await later("&a2c_version=0.2.3")).status, 200);
});

Deno.test("a polling session refuses every method but GET and POST with 400, and goes on", async () => {
  await using server = createSmcpServer();
  const { port } = await server.listen();
  const opened = await get(port, `/smcp/?${OPENING}=polling`);
  const { sid } = JSON.parse(opened.body.slice(1));
  const target = `/smcp/?${OPENING}=polling&sid=${sid}`;
  for (const method of ["PUT", "DELETE", "PATCH", "QUERY"]) {
    for (const body of ["", "40/smcp,"]) {
      const answer = await rawHttp(port, [
        `${method} ${target} HTTP/1.1`,
        "Host: 127.0.0.1",
        `Content-Length: ${body.length}`,
      ], body);
      assertEquals([answer.status, JSON.parse(answer.body)], [400, {
        code: 400,
        message:
          `A session has no method ${method}: poll with GET, send with POST`,
      }]);
    }
  }
  assertEquals((await post(port, target, "40/smcp,")).status, 200);
  assertMatch((await get(port, target)).body, /^40\/smcp,/);
});

Deno.test("the handshake announces the maximum message size, 8 MiB by default (protocol §10)", async () => {
  for (const maxMessageBytes of [undefined, 5000]) {
    const options = maxMessageBytes === undefined ? {} : { maxMessageBytes };
    await using server = createSmcpServer(options);
    const { port } = await server.listen();
    const { body } = await get(port, `/smcp/?${OPENING}=polling`);
    const { maxPayload } = JSON.parse(body.slice(1));
    assertEquals(maxPayload, maxMessageBytes ?? 8388608);
  }
});

Deno.test("a client on each path, over polling or WebSocket, connects; its version is shown (protocol §2, §4)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const ways = [
    { version: "0.2.7", path: "/socket.io/", transports: ["polling" as const] },
    { transports: ["polling" as const, "websocket" as const] },
  ];
  await using agent = await joinRaw({ url, ...ways[0] }, "agent", "a", "o");
  await using pc = await joinRaw({ url, ...ways[1] }, "computer", "c", "o");
  const list = { agent: "a", req_id: "1", office_id: "o" };
  const { sessions } = Object(await agent.ask("server:list_room", list));
  const member = (client: RawClient, name: string, role: string) => ({
    sid: client.socket.id,
    name,
    role,
    office_id: "o",
  });
  assertEquals(sessions, [
    { ...member(agent, "a", "agent"), a2c_version: "0.2.7" },
    { ...member(pc, "c", "computer"), a2c_version: "0.2.0" },
  ]);
});

Deno.test("CORS: for an allowed origin, refusals carry the headers, and preflight is not version-checked (protocol §2)", async () => {
  const own = "https://app.example";
  const evil = "https://evil.example";
  await using server = createSmcpServer({ origins: [own] });
  const { url } = await server.listen();
  await using without = createSmcpServer();
  const closed = (await without.listen()).url;
  const opening = `${url}/smcp/?${OPENING}=polling`;
  const rows: [method: string, url: string, string, [number, string | null]][] =
    [
      ["GET", `${url}/smcp/`, own, [400, own]],
      ["GET", `${url}/smcp/?a2c_version=0.1.0`, own, [400, own]],
      ["GET", opening, own, [200, own]],
      ["OPTIONS", `${url}/smcp/`, own, [204, own]],
      ["GET", `${url}/smcp/`, evil, [403, null]],
      ["OPTIONS", `${url}/smcp/`, evil, [204, null]],
      // Clients of pages read there which versions the server lets in.
      ["GET", `${url}/health`, own, [200, own]],
      ["OPTIONS", `${url}/health`, own, [204, own]],
      ["GET", `${url}/health`, evil, [200, null]],
      ["OPTIONS", `${closed}/smcp/`, own, [204, null]],
    ];
  for (const [method, url, origin, expected] of rows) {
    const response = await fetch(url, { method, headers: { origin } });
    await response.body?.cancel();
    const allowed = response.headers.get("access-control-allow-origin");
    assertEquals([response.status, allowed], expected, `${method} ${url}`);
  }
});

Deno.test("a page of another origin cannot open a session, over polling or WebSocket; requests without Origin can (protocol §10)", async () => {
  const allowed = "https://app.example";
  await using server = createSmcpServer({ origins: [allowed] });
  const { port } = await server.listen();
  const refused = [
    ...[403, "application/json", '{"code":403,"message":"Origin not allowed"}'],
  ];
  for (const origin of ["https://evil.example", "null", "http://127.0.0.1"]) {
    for (
      const { status, headers, body } of [
        await get(port, `/smcp/?${OPENING}=polling`, `Origin: ${origin}`),
        await upgrade(port, `/smcp/?${OPENING}=websocket`, `Origin: ${origin}`),
      ]
    ) assertEquals([status, headers["content-type"], body], refused);
  }
  for (const head of [[`Origin: ${allowed}`], []]) {
    const opened = await upgrade(port, `/smcp/?${OPENING}=websocket`, ...head);
    assertEquals(opened.status, 101);
  }
});

Deno.test("unknown paths are 404 with a flat error, over HTTP and for upgrades; invalid targets are harmless", async () => {
  await using server = createSmcpServer();
  const { port } = await server.listen();
  const unknown = ["/", "/nothing", "//", "/smcp/deeper", "/socket.iox"];
  const odd = ["*", "http://[/", "/%", "/smcp/?%&a2c_version=%zz", "/\\"];
  for (const target of [...unknown, ...odd]) {
    const answers = [
      await get(port, target, "Connection: close"),
      await upgrade(port, target),
    ];
    for (const { status, body } of answers) {
      if (odd.includes(target)) {
        assertEquals(status === 400 || status === 404, true, target);
        assertEquals(JSON.parse(body).code, status, target);
      } else {
        const notFound = '{"code":404,"message":"Not found"}';
        assertEquals([status, body], [404, notFound], target);
      }
    }
  }
});

Deno.test("a refused upgrade gets its answer, and is closed even if its client never closes", async () => {
  await using smcp = createSmcpServer();
  const server = createServer();
  smcp.attach(server);
  const over: Promise<unknown>[] = [];
  server.on("connection", (socket) => over.push(once(socket, "close")));
  const { port } = await listenOn(server, {});
  const refused = {
    "404 Not Found": upgradeHead("/nothing"),
    "400 Bad Request": upgradeHead("/smcp/"),
    "400 Bad Request\r\nConnection: close\r\nSec-WebSocket-Version":
      upgradeHead(`/smcp/?${OPENING}=websocket`).slice(0, -1), // without a key
  };
  const clients = await Promise.all(
    Object.entries(refused).map(async ([start, head]) => {
      const options = { port, host: "127.0.0.1", allowHalfOpen: true };
      const client = connect(options);
      let answer = "";
      client.on("error", () => {});
      client.on("data", (chunk) => answer += chunk);
      client.write([...head, "", ""].join("\r\n"));
      await once(client, "end");
      assertMatch(answer, new RegExp(`^HTTP/1.1 ${start}[^]*\r\n\r\n.`));
      return client;
    }),
  );
  assertEquals(over.length, 3);
  await Promise.all(over);
  for (const client of clients) client.destroy();
  await Promise.all(clients.map((each) => each.closed || once(each, "close")));
  await closeServer(server);
});

Deno.test("sockets on any namespace but /smcp are refused, independent of the version gate (protocol §2)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  for (const namespace of ["/", "/smcp2", "/socket.io"]) {
    await using client = new RawClient(url, { namespace });
    const { message, data } = await client.connected().catch((e) => e);
    assertEquals(message, "Invalid namespace", namespace);
    assertEquals(data, { code: 400, message: "Invalid namespace" }, namespace);
  }
});

Deno.test("namespaces that clients make up are refused, forgotten, and never many at once", async () => {
  let names = (): string[] => [];
  let most = 0;
  await using engine = await startBareEngine((io) => {
    refuseNamespaces(io, () => new Error("Invalid namespace"));
    names = () => [...io._nsps.keys()];
    io.on("new_namespace", () => most = Math.max(most, names().length));
  });
  const packets = Array.from({ length: 300 }, (_, i) => `40/made-up-${i},`);
  const answers = await exchangePackets(engine.port, packets);
  assertEquals(
    answers.map((answer) => answer.split(",")[0]).sort(),
    packets.map((packet) => `44${packet.slice(2, -1)}`).sort(),
  );
  assertEquals([most, names()], [100, ["/"]]);
});

Deno.test("auth.role: optional, an invalid one is refused, a declared one must equal the join's (protocol §2)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const error = await connectRaw(url, { auth: { role: "boss" } })
    .catch((error) => error);
  assertEquals(error.data, {
    code: 400,
    message: 'Invalid auth.role: expected "agent" or "computer"',
  });
  await using client = await connectRaw(url, { auth: { role: "agent" } });
  const [ok, reason] = await client.join("computer", "c", "o");
  assertEquals([ok, typeof reason], [false, "string"]);
  assertEquals(await client.join("agent", "a", "o"), [true, null]);
});

Deno.test("the app works inside an existing Hono app and HTTP server, with other upgrades", async () => {
  const smcp = createSmcpServer({ paths: ["/smcp"] });
  const app = new Hono();
  app.get("/", (c) => c.text("my own page"));
  app.route("/", smcp.app);
  const server = createServer(
    getRequestListener(app.fetch, { overrideGlobalObjects: false }),
  );
  smcp.attach(server);
  server.on("upgrade", (request, socket) => {
    if (request.url === "/mine") {
      socket.end("HTTP/1.1 418 Mine\r\nContent-Length: 0\r\n\r\n");
    }
  });
  const { url, port } = await listenOn(server, {});
  try {
    assertEquals((await get(port, "/")).body, "my own page");
    assertEquals((await get(port, "/smcp/")).body, MISSING);
    assertEquals((await upgrade(port, "/mine")).status, 418);
    await using client = await joinRaw(
      { url, transports: ["polling", "websocket"] },
      "agent",
      "a",
      "o",
    );
    assertEquals(client.socket.connected, true);
    await smcp.close();
    assertEquals((await get(port, "/")).body, "my own page");
  } finally {
    await smcp.close();
    await closeServer(server);
  }
});

Deno.test("the app explains what is missing when it is served without node:http", async () => {
  await using smcp = createSmcpServer();
  const refused = await smcp.app.request("/smcp/?a2c_version=0.1.5");
  assertEquals(await refused.text(), MISMATCH);
  const passed = await smcp.app.request("/smcp/?a2c_version=0.2.0");
  assertEquals([passed.status, (await passed.json()).code], [500, 500]);
});

Deno.test("listen() rejects when the port is in use", async () => {
  await using first = createSmcpServer();
  const { port } = await first.listen();
  await using second = createSmcpServer();
  const error = await second.listen({ port }).catch((error) => error);
  assertEquals(error.code, "EADDRINUSE");
});
