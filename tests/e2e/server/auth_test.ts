import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { networkInterfaces } from "node:os";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { SmcpAgent, type SmcpAgentOptions } from "../../../agent/mod.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import {
  anyOf,
  type ApiKey,
  apiKeys,
  type Authenticator,
  createSmcpServer,
  jwt,
} from "../../../server/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { startServerCommand } from "../../support/server/server_command.ts";
import { connectRaw, joinRaw } from "../../support/wire/raw_client.ts";

const AGENT_KEY = "agent-key-0123456789";
const LAB_KEY = "lab-key-0123456789";
const SECRET = "0123456789abcdef0123456789abcdef";

const keys = () =>
  apiKeys([
    { id: "planner", key: AGENT_KEY, roles: ["agent"] },
    {
      id: "lab",
      key: LAB_KEY,
      roles: ["computer"],
      offices: ["north", "team-*"],
      names: ["lab-*"],
    },
  ]);

const expiredToken = (secret: string) =>
  new SignJWT({ sub: "ada" }).setProtectedHeader({ alg: "HS256" })
    .setExpirationTime(1).sign(new TextEncoder().encode(secret));

/** Avoids a timer that Engine.IO leaks for a polling client that is closed during its upgrade. */
const WEBSOCKET: ["websocket"] = ["websocket"];

Deno.test("an API key in a header, as auth.api_key or as auth.token admits a client over each transport (protocol §10)", async () => {
  await using server = createSmcpServer({ authenticator: keys() });
  const { url } = await server.listen();
  const places: Partial<SmcpAgentOptions>[] = [
    { headers: { "x-api-key": AGENT_KEY } },
    { auth: { api_key: AGENT_KEY } },
    { auth: { token: AGENT_KEY } }, // like the Python SDK
  ];
  const ways: Partial<SmcpAgentOptions>[] = [
    { transports: ["polling"] },
    { transports: ["websocket"] },
    {},
  ];
  for (const place of places) {
    for (const way of ways) {
      await using agent = new SmcpAgent({ url, name: "a", ...place, ...way });
      await agent.connect();
      await agent.join("north");
      assertEquals((await agent.listRoom()).map(({ name }) => name), ["a"]);
    }
  }
});

Deno.test("any invalid credentials are refused with the same 401 (protocol §10)", async () => {
  const expires = "2020-01-31T00:00:00Z";
  const authenticator = anyOf([
    apiKeys([
      { id: "guest", key: "guest-key", expires },
      { id: "ci", key: "ci-key" },
    ]),
    jwt({ key: { secret: SECRET } }),
  ]);
  await using server = createSmcpServer({ authenticator });
  const { url } = await server.listen();
  const failed = { code: 401, message: "Authentication failed" };
  const expired = (what: string) => ({
    code: 401,
    message: `Authentication failed: the ${what}`,
  });
  const rows: [auth: Record<string, unknown>, refused: object][] = [
    [{}, failed],
    [{ api_key: "unknown" }, failed],
    [{ api_key: "" }, failed],
    [{ api_key: { $ne: null } }, failed],
    [{ token: await expiredToken(SECRET.toUpperCase()) }, failed],
    [{ token: "garbage" }, failed],
    [{ role: "emperor", instance_id: 5 }, failed],
    // Their holders alone get the reason.
    [
      { token: "guest-key" },
      expired("API key expired at 2020-01-31T00:00:00.000Z"),
    ],
    [
      { token: await expiredToken(SECRET) },
      expired("token expired at 1970-01-01T00:00:01.000Z"),
    ],
    // Credentials are checked before the other fields.
    [{ api_key: "ci-key", role: "emperor" }, {
      code: 400,
      message: 'Invalid auth.role: expected "agent" or "computer"',
    }],
  ];
  for (const [auth, refused] of rows) {
    for (const transport of ["polling", "websocket"] as const) {
      const error = await connectRaw(url, { auth, transports: [transport] })
        .catch((error) => error);
      assertEquals(error.data, refused, JSON.stringify(auth));
    }
  }
  assertEquals(server.stats.connections, 0);
});

Deno.test("a client that is refused with 401 rejects with it, and does not retry (protocol §10)", async () => {
  await using server = createSmcpServer({ authenticator: keys() });
  const { url } = await server.listen();
  const headers = { "x-api-key": "no" };
  await using agent = new SmcpAgent({ url, name: "planner", headers });
  const error = await assertRejects(() => agent.connect(), ProtocolError);
  assertEquals([error.code, error.message], [401, "Authentication failed"]);
  assertEquals(agent.state, "closed");
});

for (const transport of ["polling", "websocket"] as const) {
  Deno.test(`a session ends when its credentials expire, and its client reconnects with new ones over ${transport} (protocol §10)`, async () => {
    using log = captureLog();
    const lives = [500, Infinity]; // milliseconds
    const authenticator: Authenticator = {
      authenticate: ({ auth: { token } }) => ({
        principal: "ada",
        expiresAt: Date.now() + (lives[Number(token)] ?? 0),
      }),
    };
    await using server = createSmcpServer({ authenticator });
    const { url } = await server.listen();
    let token = 0;
    await using agent = new SmcpAgent({
      url,
      name: "ada",
      auth: () => ({ token: `${token++}` }),
      transports: [transport],
    });
    const lost = Promise.withResolvers<boolean>();
    const back = Promise.withResolvers<void>();
    agent.on("disconnected", (way) => lost.resolve(way.reconnecting));
    agent.on("connected", (way) => way.reconnected && back.resolve());
    await agent.connect();
    assertEquals(await lost.promise, true);
    await back.promise;
    await agent.join("north");
    assertEquals([token, server.stats.members], [2, 1]);
    const ended = log.audit.filter(({ event }) => event === "session_expired");
    assertEquals(ended.map(({ principal }) => principal), ["ada"]);
  });
}

Deno.test("an authenticator gets headers, auth and address; its own failure is not a 401", async () => {
  const seen: unknown[] = [];
  let fails = true;
  const authenticator: Authenticator = {
    authenticate({ headers, auth, address }) {
      seen.push([headers["x-extra"], auth.ticket, address]);
      if (fails) throw new Error("the directory is away, password hunter2");
      return { principal: "ada" };
    },
  };
  await using server = createSmcpServer({ authenticator });
  const { url } = await server.listen();
  const options = { url, name: "ada", headers: { "x-extra": "1" } };
  await using agent = new SmcpAgent({ ...options, auth: { ticket: "t" } });
  const error = await assertRejects(() => agent.connect(), ProtocolError);
  assertEquals([error.code, error.message], [500, "Internal error"]);
  fails = false;
  await agent.connect();
  assertEquals(seen, Array(2).fill(["1", "t", "127.0.0.1"]));
});

Deno.test("listen() binds to loopback by default (protocol §10)", async () => {
  await using server = createSmcpServer();
  const { url, hostname, port } = await server.listen();
  assertEquals([hostname, url], ["127.0.0.1", `http://127.0.0.1:${port}`]);
  const others = Object.values(networkInterfaces()).flat()
    .filter((one) => one && !one.internal && one.family === "IPv4");
  for (const other of others) {
    const answer = await fetch(`http://${other?.address}:${port}/health`)
      .then((response) => response.text(), () => "refused");
    assertEquals(answer, "refused");
  }
});

Deno.test("listen() refuses a public address without authentication, unless insecure is set (protocol §10)", async () => {
  const hostname = "0.0.0.0";
  await using open = createSmcpServer();
  await assertRejects(
    () => open.listen({ hostname }),
    TypeError,
    "Cannot listen on 0.0.0.0 without authentication",
  );
  await open.listen({ hostname, insecure: true });
});

Deno.test("listen() warns of a public address with keys and without TLS, and refuses it with requireTls (protocol §10)", async () => {
  using log = captureLog();
  const hostname = "0.0.0.0";
  const warnings = () =>
    log.records.filter(({ level }) => level === "warning")
      .map(({ message }) => message.join(""));
  await using server = createSmcpServer({ authenticator: keys() });
  await assertRejects(
    () => server.listen({ hostname, requireTls: true }),
    TypeError,
    "Cannot listen on 0.0.0.0 without TLS: keys, calls and results can be read in transit; give tls",
  );
  await server.listen({ requireTls: true }); // loopback
  assertEquals(warnings(), []);
  await server.listen({ hostname });
  assertEquals(warnings(), [
    "Listening on 0.0.0.0 without TLS: keys, calls and results can be read in transit",
  ]);
  await using behind = createSmcpServer({
    authenticator: keys(),
    trustedProxies: 1, // which do it
  });
  await behind.listen({ hostname });
  assertEquals(warnings().length, 1);
});

Deno.test({
  name:
    "the command refuses a public address without authentication; --insecure is one line of warning, and so are keys without TLS (protocol §10)",
  timeout: 120_000,
}, async () => {
  const args = ["--host=0.0.0.0", "--port=0"];
  await using refused = await startServerCommand(args);
  assertEquals([await refused.exited, refused.line], [2, ""]);
  assertEquals(refused.log.trimEnd().split("\n").length, 1);
  assertStringIncludes(refused.log, "without authentication");

  await using insecure = await startServerCommand([...args, "--insecure"]);
  await insecure.logged("INSECURE");
  assertEquals(JSON.parse(insecure.log).level, "warning");

  await using guarded = await startServerCommand(args, {
    SMCP_API_KEYS: JSON.stringify([{ id: "a", key: AGENT_KEY }]),
  });
  assertStringIncludes(guarded.line, "http://0.0.0.0:");
  await guarded.logged("Listening on 0.0.0.0 without TLS: keys, calls");
});

const ADA: ApiKey = { id: "ada", key: "ada-key" };
const LAB: ApiKey = { id: "lab", key: "lab-key" };

const as = ({ key }: ApiKey) => ({ auth: { api_key: key } });

/** A server whose operator changes keys, and a member who keeps its own. */
async function served(first: Authenticator) {
  let keys = first;
  await using stack = new AsyncDisposableStack();
  const server = stack.use(createSmcpServer({
    authenticator: {
      authenticate: (credentials) => keys.authenticate(credentials),
      refresh: (identity) => keys.refresh?.(identity),
    },
  }));
  const { url } = await server.listen();
  const owned = stack.move();
  return {
    url,
    /** Reads keys again. */
    change: (now: Authenticator) => {
      keys = now;
      return server.recheckSessions();
    },
    /** Connects an Agent "ada" that has joined "north", and the events of its end. */
    async ada(auth: SmcpAgentOptions["auth"] = as(ADA).auth) {
      const agent = owned.use(
        new SmcpAgent({ url, name: "ada", transports: WEBSOCKET, auth }),
      );
      const refused = Promise.withResolvers<unknown>();
      const back = Promise.withResolvers<void>();
      agent.on("refused", refused.resolve);
      agent.on("connected", (way) => way.reconnected && back.resolve());
      await agent.connect();
      await agent.join("north");
      return { agent, refused: refused.promise, back: back.promise };
    },
    stats: () => server.stats,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const labAt = (url: string) =>
  joinRaw({ url, ...as(LAB) }, "computer", "lab", "north");

Deno.test("recheckSessions() ends the sessions of a removed key, and no others (protocol §10)", async () => {
  using log = captureLog();
  await using server = await served(apiKeys([ADA, LAB]));
  await using lab = await labAt(server.url);
  lab.handle(
    "client:get_tools",
    (request, ack) => ack({ tools: [], ...Object(request) }),
  );
  const called = Promise.withResolvers<void>();
  lab.handle("client:tool_call", () => called.resolve());
  const { agent, refused } = await server.ada();
  const pending = assertRejects(() => agent.callTool("lab", "wait", {}));
  await called.promise;
  await server.change(apiKeys([LAB]));
  await pending;
  const left = { office_id: "north", agent: "ada" };
  assertEquals(await lab.next("notify:leave_office"), left);
  const error = await refused;
  assertEquals(error instanceof ProtocolError && error.code, 401);
  assertEquals(server.stats(), { connections: 1, offices: 1, members: 1 });
  const revoked = log.audit.filter(({ event }) => event === "session_revoked");
  assertEquals(
    revoked.map(({ principal, reason, office, name }) => [
      ...[principal, reason, office, name],
    ]),
    [["key:ada", "the API key was removed", "north", "ada"]],
  );
});

Deno.test("recheckSessions() ends the sessions of a key that expired, whose client gets that as the reason (protocol §10)", async () => {
  await using server = await served(apiKeys([ADA, LAB]));
  await using lab = await labAt(server.url);
  const { agent, refused } = await server.ada();
  const expires = "2020-01-31T00:00:00Z";
  await server.change(apiKeys([{ ...ADA, expires }, LAB]));
  assertEquals(
    String(await refused),
    "ProtocolError: Authentication failed: the API key expired at 2020-01-31T00:00:00.000Z",
  );
  await lab.next("notify:leave_office");
  assertEquals([agent.state, server.stats().members], ["closed", 1]);
});

Deno.test("a session ends when its key expires, at the time that the last recheck found (protocol §10)", async () => {
  using log = captureLog();
  const expiring = (ms: number) => {
    const expires = new Date(Date.now() + ms).toISOString();
    return apiKeys([{ ...ADA, expires }, LAB]);
  };
  await using server = await served(expiring(3_600_000));
  await using lab = await labAt(server.url);
  await using ada = await connectRaw(server.url, as(ADA));
  const gone = ada.disconnected();
  await server.change(expiring(1000));
  await gone;
  assertEquals(lab.socket.connected, true);
  const ended = log.audit.filter(({ event }) => event === "session_expired");
  assertEquals(ended.map(({ principal }) => principal), ["key:ada"]);
});

Deno.test("recheckSessions() ends the sessions of a replaced key; clients with the new one reconnect (protocol §10)", async () => {
  await using server = await served(apiKeys([ADA]));
  let { key } = ADA;
  const { agent, back } = await server.ada(() => ({ api_key: key }));
  key = "ada-key-2";
  await server.change(apiKeys([{ ...ADA, key }]));
  await back;
  await agent.join("north");
  assertEquals(server.stats().members, 1);
});

Deno.test("recheckSessions() keeps members whose key allows less, and applies it to their next join (protocol §10)", async () => {
  using log = captureLog();
  await using server = await served(apiKeys([ADA]));
  const { url } = server;
  await using ada = await joinRaw({ url, ...as(ADA) }, "agent", "ada", "north");
  await server.change(apiKeys([{ ...ADA, offices: ["south"] }]));
  assertEquals(server.stats().members, 1);
  await ada.request("server:leave_office", { office_id: "north" });
  assertEquals(await ada.join("agent", "ada", "north"), [
    false,
    "Not allowed to join this office",
  ]);
  assertEquals(await ada.join("agent", "ada", "south"), [true, null]);
  const kinds = log.audit.map(({ event }) => event);
  assertEquals(kinds, ["joined", "left", "join_refused", "joined"]);
});

async function issuerKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair("ES256", {
    extractable: true,
  });
  return {
    jwk: { ...await exportJWK(publicKey), kid },
    auth: {
      token: await new SignJWT({ sub: kid })
        .setProtectedHeader({ alg: "ES256", kid }).setExpirationTime("1h")
        .sign(privateKey),
    },
  };
}

Deno.test("recheckSessions() ends sessions whose JWT was signed with a removed key (protocol §10)", async () => {
  const a = await issuerKey("a");
  const b = await issuerKey("b");
  let published: unknown = { keys: [a.jwk, b.jwk] };
  let fetched = 0;
  await using issuer = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => {
      fetched++;
      return published === undefined
        ? new Response("down", { status: 500 })
        : Response.json(published);
    },
  );
  const jwksUrl = `http://127.0.0.1:${issuer.addr.port}/`;
  const keys = () => anyOf([apiKeys([LAB]), jwt({ key: { jwksUrl } })]);
  await using server = await served(keys());
  const { url } = server;
  await using lab = await connectRaw(url, as(LAB));
  await using first = await connectRaw(url, a);
  await using second = await connectRaw(url, b);
  published = undefined;
  using log = captureLog();
  await server.change(keys());
  assertEquals(server.stats().connections, 3);
  const errors = log.records.filter(({ level }) => level === "error");
  assertEquals(errors.map(({ properties }) => properties.sessions), [2]);
  published = { keys: [b.jwk] };
  fetched = 0;
  const gone = first.disconnected();
  await server.change(keys());
  await gone;
  assertEquals(fetched, 1); // for all sessions
  for (const client of [second, lab]) {
    await client.request("notify:barrier");
    assertEquals(client.socket.connected, true);
  }
  await assertRejects(() => connectRaw(url, a));
  const publicKey = JSON.stringify({ keys: [a.jwk] });
  const ended = second.disconnected();
  await server.change(anyOf([apiKeys([LAB]), jwt({ key: { publicKey } })]));
  await ended;
  await lab.request("notify:barrier");
  assertEquals(server.stats().connections, 1);
});

Deno.test("recheckSessions() includes sessions whose handshake is pending (protocol §10)", async () => {
  const asked = Promise.withResolvers<void>();
  const letIn = Promise.withResolvers<void>();
  await using server = await served({
    async authenticate() {
      asked.resolve();
      await letIn.promise;
      return { principal: "late" };
    },
  });
  const client = connectRaw(server.url);
  await asked.promise;
  const gone = () => ({ refused: "gone" });
  await server.change({ authenticate: gone, refresh: gone });
  letIn.resolve();
  await using late = await client;
  await late.disconnected();
});

Deno.test("a join during the removal of its key is refused (protocol §10)", async () => {
  await using server = await served(apiKeys([ADA]));
  await using ada = await connectRaw(server.url, as(ADA));
  const changed = server.change(apiKeys([LAB]));
  const joined = ada.join("agent", "ada", "north");
  const ended = ada.disconnected();
  await changed;
  await ended;
  assertEquals(server.stats().members, 0);
  void joined; // its answer went with the connection
});
