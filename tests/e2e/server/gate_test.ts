import { assertEquals, assertMatch } from "@std/assert";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { closeServer, listenOn } from "../../../server/http/listen.ts";
import { Limiter } from "../../../server/limits/limiter.ts";
import { DEFAULT_LIMITS } from "../../../server/limits/limits.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { refuseNamespace } from "../../../server/doors/session.ts";
import {
  refuseNamespaces,
  StockConnection,
} from "../../../server/wire/stock_engine.ts";
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

const PATHS = ["/smcp/", "/smcp", "/socket.io/", "/socket.io"];

/** The same query over polling GET, polling POST and a WebSocket upgrade. */
const everyWay = async (
  port: number,
  path: string,
  query: string,
): Promise<RawAnswer[]> => [
  await rawHttp(port, [
    `GET ${path}?EIO=4&transport=polling${query} HTTP/1.1`,
    "Host: 127.0.0.1",
  ]),
  await rawHttp(port, [
    `POST ${path}?EIO=4&transport=polling&sid=x${query} HTTP/1.1`,
    "Host: 127.0.0.1",
    "Content-Length: 2",
  ], "40"),
  await rawHttp(
    port,
    upgradeHead(`${path}?EIO=4&transport=websocket${query}`),
  ),
];

Deno.test("the gate answers GET, POST and upgrade with the same bytes, on every path (spec §2)", async () => {
  await using server = createSmcpServer();
  const { port } = await server.listen();
  for (const path of PATHS) {
    for (const answer of await everyWay(port, path, "")) {
      assertEquals([answer.status, answer.body], [400, MISSING]);
      assertEquals(answer.headers["content-type"], "application/json");
      assertEquals(answer.headers["x-a2c-error-code"], undefined);
    }
    for (const answer of await everyWay(port, path, "&a2c_version=0.1.5")) {
      assertEquals([answer.status, answer.body], [400, MISMATCH]);
      assertEquals(answer.headers["x-a2c-error-code"], "4008");
    }
    const twice = "&a2c_version=0.2.0&a2c_version=0.2.0";
    for (const answer of await everyWay(port, path, twice)) {
      assertEquals(answer.status, 400);
      const { code, message } = JSON.parse(answer.body);
      assertEquals([code, message.split(":")[0]], [400, "Invalid a2c_version"]);
    }
  }
});

Deno.test("the gate follows the version table of a 0.2.0 server (spec §2)", async () => {
  await using server = createSmcpServer();
  const { port } = await server.listen();
  const table: [string, number, number | undefined][] = [
    ["0.2.0", 200, undefined],
    ["0.2.1", 200, undefined],
    ["0.3.0", 400, 4008],
    ["0.1.5", 400, 4008],
    ["1.0.0", 400, 4008],
    ["abc", 400, 400],
  ];
  for (const [version, status, code] of table) {
    const answer = await rawHttp(port, [
      `GET /smcp/?EIO=4&transport=polling&a2c_version=${version} HTTP/1.1`,
      "Host: 127.0.0.1",
    ]);
    assertEquals(answer.status, status, version);
    if (code) assertEquals(JSON.parse(answer.body).code, code, version);
  }
});

Deno.test("later requests of an open session are checked like the first (spec §2)", async () => {
  await using server = createSmcpServer();
  const { port } = await server.listen();
  const opened = await rawHttp(port, [
    "GET /smcp/?EIO=4&transport=polling&a2c_version=0.2.0 HTTP/1.1",
    "Host: 127.0.0.1",
  ]);
  const { sid } = JSON.parse(opened.body.slice(1));
  const later = (version: string) =>
    rawHttp(port, [
      `POST /smcp/?EIO=4&transport=polling&sid=${sid}${version} HTTP/1.1`,
      "Host: 127.0.0.1",
      "Content-Length: 8",
    ], "40/smcp,");
  assertEquals((await later("")).body, MISSING);
  assertEquals((await later("&a2c_version=0.1.5")).body, MISMATCH);
  const upgrade = await rawHttp(
    port,
    upgradeHead(`/smcp/?EIO=4&transport=websocket&sid=${sid}`),
  );
  assertEquals([upgrade.status, upgrade.body], [400, MISSING]);
  assertEquals((await later("&a2c_version=0.2.3")).status, 200);
});

Deno.test("the handshake announces the maximum message size, 8 MiB by default (spec §10)", async () => {
  for (
    const [options, size] of [[{}, 8388608], [
      { maxMessageBytes: 5000 },
      5000,
    ]] as const
  ) {
    await using server = createSmcpServer(options);
    const { url } = await server.listen();
    const opened = await fetch(
      `${url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`,
    );
    assertEquals(JSON.parse((await opened.text()).slice(1)).maxPayload, size);
  }
});

Deno.test("a client on each path, over polling or WebSocket, connects; its version is shown (spec §2, §4)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinRaw(
    { url, version: "0.2.7", path: "/socket.io/", transports: ["polling"] },
    "agent",
    "a",
    "o",
  );
  await using computer = await joinRaw(
    { url, transports: ["polling", "websocket"] },
    "computer",
    "c",
    "o",
  );
  const { sessions } = await agent.ask("server:list_room", {
    agent: "a",
    req_id: "1",
    office_id: "o",
  }) as { sessions: unknown[] };
  assertEquals(sessions, [
    {
      sid: agent.socket.id,
      name: "a",
      role: "agent",
      office_id: "o",
      a2c_version: "0.2.7",
    },
    {
      sid: computer.socket.id,
      name: "c",
      role: "computer",
      office_id: "o",
      a2c_version: "0.2.0",
    },
  ]);
});

Deno.test("CORS: for an allowed origin, refusals carry the headers, and preflight is not version-checked (spec §2)", async () => {
  const origin = "https://app.example";
  await using server = createSmcpServer({ origins: [origin] });
  const { url } = await server.listen();
  const ask = async (method: string, from: string, version = "") => {
    const response = await fetch(
      `${url}/smcp/?EIO=4&transport=polling${version}`,
      { method, headers: { Origin: from } },
    );
    await response.body?.cancel();
    return [
      response.status,
      response.headers.get("access-control-allow-origin"),
    ];
  };
  assertEquals(await ask("GET", origin), [400, origin]);
  assertEquals(await ask("GET", origin, "&a2c_version=0.1.0"), [400, origin]);
  assertEquals(await ask("GET", origin, "&a2c_version=0.2.0"), [200, origin]);
  assertEquals(await ask("OPTIONS", origin), [204, origin]);
  assertEquals(await ask("GET", "https://evil.example"), [403, null]);
  assertEquals(await ask("OPTIONS", "https://evil.example"), [204, null]);
  // Clients of pages read there which versions the server lets in.
  const health = (from: string, method = "GET") =>
    fetch(`${url}/health`, { method, headers: { Origin: from } })
      .then(async ({ status, headers, body }) => {
        await body?.cancel();
        return [status, headers.get("access-control-allow-origin")];
      });
  assertEquals(await health(origin), [200, origin]);
  assertEquals(await health(origin, "OPTIONS"), [204, origin]);
  assertEquals(await health("https://evil.example"), [200, null]);
});

Deno.test("a page of another origin cannot open a session, over polling or WebSocket; requests without Origin can (spec §10)", async () => {
  const allowed = "https://app.example";
  await using server = createSmcpServer({ origins: [allowed] });
  const { port } = await server.listen();
  const query = "/smcp/?EIO=4&a2c_version=0.2.0&transport=";
  const refused = '{"code":403,"message":"Origin not allowed"}';
  const from = (origin: string) => [`Origin: ${origin}`];
  for (const origin of ["https://evil.example", "null", "http://127.0.0.1"]) {
    const get = await rawHttp(port, [
      `GET ${query}polling HTTP/1.1`,
      "Host: 127.0.0.1",
      ...from(origin),
    ]);
    const upgrade = await rawHttp(port, [
      ...upgradeHead(`${query}websocket`),
      ...from(origin),
    ]);
    for (const { status, headers, body } of [get, upgrade]) {
      assertEquals([status, headers["content-type"], body], [
        403,
        "application/json",
        refused,
      ]);
    }
  }
  for (const head of [from(allowed), []]) {
    const upgrade = await rawHttp(port, [
      ...upgradeHead(`${query}websocket`),
      ...head,
    ]);
    assertEquals(upgrade.status, 101);
  }
});

Deno.test("without origins there are no CORS headers, and preflight is still answered", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const response = await fetch(`${url}/smcp/`, { method: "OPTIONS" });
  assertEquals(response.status, 204);
  assertEquals(response.headers.get("access-control-allow-origin"), null);
});

Deno.test("unknown paths are 404 with a flat error, over HTTP and for upgrades; invalid targets are harmless", async () => {
  await using server = createSmcpServer();
  const { port } = await server.listen();
  const notFound = '{"code":404,"message":"Not found"}';
  for (const target of ["/", "/nothing", "//", "/smcp/deeper", "/socket.iox"]) {
    const get = await rawHttp(port, [
      `GET ${target} HTTP/1.1`,
      "Host: 127.0.0.1",
    ]);
    assertEquals([get.status, get.body], [404, notFound], target);
    const upgrade = await rawHttp(port, upgradeHead(target));
    assertEquals([upgrade.status, upgrade.body], [404, notFound], target);
  }
  const odd = ["*", "http://[/", "/%", "/smcp/?%&a2c_version=%zz", "/\\"];
  for (const target of odd) {
    const get = await rawHttp(port, [
      `GET ${target} HTTP/1.1`,
      "Host: 127.0.0.1",
      "Connection: close",
    ]);
    const upgrade = await rawHttp(port, upgradeHead(target));
    for (const { status, body } of [get, upgrade]) {
      assertEquals(status === 400 || status === 404, true, target);
      assertEquals(JSON.parse(body).code, status, target);
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
  const opening = "/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0";
  const refused = {
    "404 Not Found": upgradeHead("/nothing"),
    "400 Bad Request": upgradeHead("/smcp/"),
    "400 Bad Request\r\nConnection: close\r\nSec-WebSocket-Version":
      upgradeHead(opening).slice(0, -1), // without a key
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

Deno.test("GET /health returns ok, the protocol version and counts", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const health = async () => await (await fetch(`${url}/health`)).json();
  assertEquals(await health(), {
    status: "ok",
    protocol_version: "0.2.0",
    connections: 0,
    offices: 0,
    members: 0,
  });
  await using _agent = await joinRaw(url, "agent", "a", "o");
  await using _computer = await joinRaw(url, "computer", "c", "o");
  await using _other = await connectRaw(url);
  assertEquals(await health(), {
    status: "ok",
    protocol_version: "0.2.0",
    connections: 3,
    offices: 1,
    members: 2,
  });
});

Deno.test("sockets on any namespace but /smcp are refused, independent of the version gate (spec §2)", async () => {
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
    const limiter = new Limiter(DEFAULT_LIMITS, undefined);
    refuseNamespaces(
      io,
      ({ conn }) =>
        refuseNamespace(new StockConnection(conn), { limiter, proxies: 0 }),
    );
    names = () => [...io._nsps.keys()];
    io.on("new_namespace", () => most = Math.max(most, names().length));
  });
  const packets = Array.from({ length: 300 }, (_, i) => `40/made-up-${i},`);
  const answers = await exchangePackets(engine.port, packets);
  assertEquals(
    answers.map((answer) => answer.split(",")[0]).sort(),
    packets.map((packet) => `44${packet.slice(2, -1)}`).sort(),
  );
  assertEquals(most, 100);
  assertEquals(names(), ["/"]);
});

Deno.test("the gate precedes the connect handler: an incompatible version always gets 4008 (spec §2)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using client = new RawClient(url, {
    auth: { role: "boss" },
    version: "0.1.5",
    transports: ["polling"],
  });
  // The client empties the response as soon as its listeners have run.
  const body = await new Promise((resolve) =>
    client.socket.once(
      "connect_error",
      (error) =>
        resolve(
          "context" in error
            ? (error.context as { responseText: string }).responseText
            : error.message,
        ),
    )
  );
  assertEquals(body, MISMATCH);
});

Deno.test("auth.role: optional, an invalid one is refused, a declared one must equal the join's (spec §2)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using refused = new RawClient(url, { auth: { role: "boss" } });
  const error = await refused.connected().then(() => undefined, (e) => e);
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
  await new Promise<void>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve())
  );
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const url = `http://127.0.0.1:${port}`;
  try {
    assertEquals(await (await fetch(url)).text(), "my own page");
    assertEquals(await (await fetch(`${url}/smcp/`)).text(), MISSING);
    assertEquals((await rawHttp(port, upgradeHead("/mine"))).status, 418);
    await using client = await joinRaw(
      { url, transports: ["polling", "websocket"] },
      "agent",
      "a",
      "o",
    );
    assertEquals(client.socket.connected, true);
    await smcp.close();
    assertEquals(await (await fetch(url)).text(), "my own page");
  } finally {
    await smcp.close();
    await new Promise((resolve) => server.close(resolve));
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
  const code = await second.listen({ port }).then(
    () => undefined,
    (error) => error.code,
  );
  assertEquals(code, "EADDRINUSE");
});
