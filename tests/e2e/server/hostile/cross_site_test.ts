import { assertEquals, assertMatch } from "@std/assert";
import {
  createMetrics,
  createSmcpServer,
  type SmcpServerOptions,
} from "../../../../server/mod.ts";
import { joinRaw } from "../../../support/wire/raw_client.ts";
import { RawPolling } from "../../../support/wire/raw_polling.ts";
import { RawFrames } from "../../../support/wire/raw_frames.ts";
import {
  type RawAnswer,
  rawHttp,
  upgradeHead,
} from "../../../support/wire/raw_http.ts";

const QUERY = "/smcp/?EIO=4&a2c_version=0.2.0&transport=";
const OWN_HOST = "Host: 127.0.0.1";

const get = (port: number, target: string, headers = [OWN_HOST]) =>
  rawHttp(port, [`GET ${target} HTTP/1.1`, ...headers, "Connection: close"]);

const handshake = (port: number, headers: string[] = []) =>
  get(port, `${QUERY}polling`, [OWN_HOST, ...headers]);

const upgrade = (
  port: number,
  headers: string[] = [],
  keeps = (_line: string) => true,
) => {
  const head = upgradeHead(`${QUERY}websocket`).filter(keeps);
  return rawHttp(port, [...head, ...headers]);
};

const errorOf = ({ status, body }: RawAnswer) => [
  status,
  JSON.parse(body).message,
];

Deno.test("resources of a page of another site take no slots: 100 images do not keep this machine's Agent out", async () => {
  await using server = createSmcpServer({
    limits: { connectionsPerAddress: 1 },
  });
  const { url, port } = await server.listen();
  for (const site of ["cross-site", "same-site", "a-later-word"]) {
    const image = [`Sec-Fetch-Site: ${site}`, "Sec-Fetch-Dest: image"];
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => handshake(port, image)),
    );
    for (const answer of [...answers, await upgrade(port, image)]) {
      assertEquals(errorOf(answer), [403, "Origin not allowed"]);
    }
  }
  await using _agent = await joinRaw(url, "agent", "a", "o");
});

Deno.test("pages of allowed origins and of the server's own origin connect, from any site", async () => {
  const origin = "https://app.example";
  const cases: ["*" | string[], string[]][] = [
    [[origin], [`Origin: ${origin}`, "Sec-Fetch-Site: cross-site"]],
    ["*", ["Sec-Fetch-Site: cross-site"]],
    [[], ["Sec-Fetch-Site: same-origin"]],
    [[], ["Sec-Fetch-Site: none"]],
    [[], []],
  ];
  for (const [origins, headers] of cases) {
    await using server = createSmcpServer({ origins });
    const { port } = await server.listen();
    assertEquals((await handshake(port, headers)).status, 200);
    assertEquals((await upgrade(port, headers)).status, 101);
  }
});

Deno.test("JSONP is refused, which would let any page load the open packet as a script", async () => {
  await using server = createSmcpServer({ origins: "*" });
  const { port } = await server.listen();
  const off = 'JSONP is not supported: leave out the query parameter "j"';
  for (const query of ["&j=0", "&j", "&j=0&j=1", "&sid=x&j=0"]) {
    const answer = await get(port, `${QUERY}polling${query}`);
    assertEquals(errorOf(answer), [400, off], query);
  }
});

/** Engine.IO alone would release the slot of a silent client only after these. */
const NO_PINGS = { intervalMs: 3_600_000, timeoutMs: 3_600_000 };

/** Resolves when a new session gets a slot; limited by the test's own timeout. */
async function untilFree(port: number): Promise<void> {
  while ((await handshake(port)).status === 429);
}

Deno.test("an abandoned handshake releases its slot, over polling and WebSocket", async () => {
  await using server = createSmcpServer({
    limits: { connectionsPerAddress: 1 },
    heartbeat: NO_PINGS,
    connectTimeoutMs: 1_000, // time for a second handshake on a busy machine
  });
  const { url, port } = await server.listen();
  assertEquals((await handshake(port)).status, 200);
  assertEquals((await handshake(port)).status, 429);
  await untilFree(port);
  await untilFree(port);
  while (true) {
    const raw = await RawFrames.open(url).catch(() => undefined);
    if (raw === undefined) continue; // the last handshake still has the slot
    await raw.closed;
    break;
  }
  await untilFree(port);
});

Deno.test("a client that requests a session in time gets one, however long authentication takes", async () => {
  const letIn = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  await using server = createSmcpServer({
    connectTimeoutMs: 1_000,
    handshakeTimeoutMs: 120_000,
    limits: { connectionsPerAddress: 2 },
    authenticator: {
      async authenticate() {
        asked.resolve();
        await letIn.promise;
        return { principal: "p" };
      },
    },
  });
  const { url } = await server.listen();
  await using patient = await RawFrames.open(url);
  patient.send("40/smcp,");
  await asked.promise;
  await using silent = await RawFrames.open(url); // comes later, and is closed first
  await silent.closed;
  letIn.resolve();
  assertMatch(await patient.frame("4"), /^40\/smcp,/);
});

Deno.test("a refused client that stops polling releases its slot after the handshake timeout", async () => {
  await using server = createSmcpServer({
    heartbeat: NO_PINGS,
    authenticator: { authenticate: () => ({ refused: "no" }) },
    limits: { connectionsPerAddress: 1 },
    handshakeTimeoutMs: 300,
  });
  const { port, url } = await server.listen();
  await (await RawPolling.open(url)).post("40/smcp,");
  await untilFree(port);
});

Deno.test("a page of a rebound name reads nothing over loopback: health, metrics, open packet", async () => {
  const metrics = createMetrics();
  await using server = createSmcpServer({ metrics });
  const { port } = await server.listen();
  const { port: metricsPort } = await server.listenMetrics();
  const evil = ["Host: evil.example:8787", "Sec-Fetch-Site: same-origin"];
  const asked = [
    get(port, "/health", evil),
    get(port, "/ready", evil),
    get(port, "/metrics", evil),
    get(port, `${QUERY}polling`, evil),
    get(port, "http://evil.example/health", [OWN_HOST]),
    get(metricsPort, "/metrics", evil),
    rawHttp(port, [`OPTIONS ${QUERY}polling HTTP/1.1`, ...evil]),
    upgrade(port, evil, (line) => line !== OWN_HOST),
  ];
  for (const answer of await Promise.all(asked)) {
    assertEquals(answer.status, 403);
    assertMatch(JSON.parse(answer.body).message, /^Host not allowed: /);
  }
  const ours = [
    get(port, "/health", ["Host: localhost"]),
    get(port, "http://[::1]:8787/health", ["Host: [::1]:8787"]),
    get(port, "/metrics", [`Host: 127.0.0.1:${port}`]),
    get(metricsPort, "/metrics", ["Host: LOCALHOST:1"]),
  ];
  for (const { status } of await Promise.all(ours)) assertEquals(status, 200);
  // Requests without a host are allowed, since browsers never send them.
  const old = await rawHttp(port, ["GET /health HTTP/1.0"]);
  assertEquals(errorOf(old), [400, "Invalid request"]);
});

Deno.test("an operator's names, and a trusted proxy, let other hosts through", async () => {
  const host = ["Host: smcp.example.com"];
  const open: SmcpServerOptions[] = [
    { hosts: ["SMCP.example.com"] },
    { hosts: "*" },
    { trustedProxies: 1 },
    { publicUrl: "https://smcp.example.com" },
  ];
  for (const options of open) {
    await using server = createSmcpServer(options);
    const { port } = await server.listen();
    assertEquals((await get(port, "/health", host)).status, 200);
    assertEquals((await get(port, `${QUERY}polling`, host)).status, 200);
  }
  await using server = createSmcpServer({
    hosts: ["smcp.example.com"],
    trustedProxies: 1,
  });
  const { port } = await server.listen();
  assertEquals((await get(port, "/health", ["Host: a.example"])).status, 403);
});
