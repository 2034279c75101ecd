import { assertEquals, assertRejects } from "@std/assert";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { SmcpAgent } from "../../../agent/mod.ts";
import {
  GET_TOOLS_EVENT,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  ProtocolError,
  TOOL_CALL_EVENT,
} from "../../../protocol/mod.ts";
import {
  anyOf,
  type ApiKey,
  apiKeys,
  type Authenticator,
  createSmcpServer,
  jwt,
} from "../../../server/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { connectRaw, joinRaw } from "../../support/wire/raw_client.ts";

const ADA: ApiKey = { id: "ada", key: "ada-key" };
const LAB: ApiKey = { id: "lab", key: "lab-key" };

const as = ({ key }: ApiKey) => ({ auth: { api_key: key } });

/** A server whose operator changes keys. */
async function served(first: Authenticator) {
  let keys = first;
  const server = createSmcpServer({
    authenticator: {
      authenticate: (credentials) => keys.authenticate(credentials),
      refresh: (identity) => keys.refresh?.(identity),
    },
  });
  const { url } = await server.listen();
  return {
    url,
    /** Reads keys again. */
    change: (now: Authenticator) => {
      keys = now;
      return server.recheckSessions();
    },
    stats: () => server.stats,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** Avoids a timer that Engine.IO leaks for a polling client that is closed during its upgrade. */
const WEBSOCKET: ["websocket"] = ["websocket"];

Deno.test("recheckSessions() ends the sessions of a removed key, and no others (spec §10)", async () => {
  using log = captureLog();
  await using server = await served(apiKeys([ADA, LAB]));
  await using computer = await joinRaw(
    { url: server.url, ...as(LAB) },
    "computer",
    "lab",
    "north",
  );
  await using agent = new SmcpAgent({
    url: server.url,
    name: "ada",
    transports: WEBSOCKET,
    headers: { "x-api-key": ADA.key },
  });
  computer.handle(
    GET_TOOLS_EVENT,
    (request, ack) => ack({ tools: [], ...Object(request) }),
  );
  const called = Promise.withResolvers<void>();
  computer.handle(TOOL_CALL_EVENT, () => called.resolve());
  const refused = Promise.withResolvers<unknown>();
  agent.on("refused", refused.resolve);
  await agent.connect();
  await agent.join("north");
  const pending = assertRejects(() => agent.callTool("lab", "wait", {}));
  await called.promise;
  await server.change(apiKeys([LAB]));
  await pending;
  assertEquals(await computer.next(LEAVE_OFFICE_NOTIFICATION), {
    office_id: "north",
    agent: "ada",
  });
  const error = await refused.promise;
  assertEquals(error instanceof ProtocolError && error.code, 401);
  assertEquals(server.stats(), { connections: 1, offices: 1, members: 1 });
  const revoked = log.audit.filter(({ event }) => event === "session_revoked");
  assertEquals(
    revoked.map(({ principal, reason, office, name }) => [
      principal,
      reason,
      office,
      name,
    ]),
    [["key:ada", "the API key is gone", "north", "ada"]],
  );
});

Deno.test("recheckSessions() ends the sessions of a key that expired, whose client gets that as the reason (spec §10)", async () => {
  await using server = await served(apiKeys([ADA, LAB]));
  await using computer = await joinRaw(
    { url: server.url, ...as(LAB) },
    "computer",
    "lab",
    "north",
  );
  await using agent = new SmcpAgent({
    url: server.url,
    name: "ada",
    transports: WEBSOCKET,
    headers: { "x-api-key": ADA.key },
  });
  const refused = Promise.withResolvers<unknown>();
  agent.on("refused", refused.resolve);
  await agent.connect();
  await agent.join("north");
  const expires = "2020-01-31T00:00:00Z";
  await server.change(apiKeys([{ ...ADA, expires }, LAB]));
  assertEquals(
    String(await refused.promise),
    "ProtocolError: Authentication failed: the API key expired at 2020-01-31T00:00:00.000Z",
  );
  await computer.next(LEAVE_OFFICE_NOTIFICATION);
  assertEquals(server.stats().members, 1);
});

Deno.test("a session ends when its key expires, at the time that the last recheck found (spec §10)", async () => {
  using log = captureLog();
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const HOUR_MS = 3_600_000;
  await using server = await served(
    apiKeys([{ ...ADA, expires: at(HOUR_MS) }, LAB]),
  );
  await using lab = await joinRaw(
    { url: server.url, ...as(LAB) },
    "computer",
    "lab",
    "north",
  );
  await using ada = await connectRaw(server.url, as(ADA));
  const gone = ada.disconnected();
  await server.change(apiKeys([{ ...ADA, expires: at(1000) }, LAB]));
  await gone;
  assertEquals(lab.socket.connected, true);
  const ended = log.audit.filter(({ event }) => event === "session_expired");
  assertEquals(ended.map(({ principal }) => principal), ["key:ada"]);
});

Deno.test("recheckSessions() ends the sessions of a replaced key; clients with the new one reconnect (spec §10)", async () => {
  await using server = await served(apiKeys([ADA]));
  let key = ADA.key;
  await using agent = new SmcpAgent({
    url: server.url,
    name: "ada",
    transports: WEBSOCKET,
    auth: () => ({ api_key: key }),
  });
  const back = Promise.withResolvers<void>();
  agent.on("connected", (way) => way.reconnected && back.resolve());
  await agent.connect();
  await agent.join("north");
  key = "ada-key-2";
  await server.change(apiKeys([{ ...ADA, key }]));
  await back.promise;
  await agent.join("north");
  assertEquals(server.stats().members, 1);
});

Deno.test("recheckSessions() keeps members whose key allows less, and applies it to their next join (spec §10)", async () => {
  using log = captureLog();
  await using server = await served(apiKeys([ADA]));
  const { url } = server;
  await using ada = await joinRaw({ url, ...as(ADA) }, "agent", "ada", "north");
  await server.change(apiKeys([{ ...ADA, offices: ["south"] }]));
  assertEquals(server.stats().members, 1);
  const north = { office_id: "north" };
  assertEquals(await ada.request(LEAVE_OFFICE_EVENT, north), [true, null]);
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
    token: await new SignJWT({ sub: kid })
      .setProtectedHeader({ alg: "ES256", kid }).setExpirationTime("1h")
      .sign(privateKey),
  };
}

Deno.test("recheckSessions() ends sessions whose JWT was signed with a removed key (spec §10)", async () => {
  const [a, b] = [await issuerKey("a"), await issuerKey("b")];
  const keys = (...all: (typeof a)[]) => {
    const set = JSON.stringify({ keys: all.map(({ jwk }) => jwk) });
    return anyOf([apiKeys([LAB]), jwt({ key: { publicKey: set } })]);
  };
  await using server = await served(keys(a, b));
  const { url } = server;
  await using first = await connectRaw(url, { auth: { token: a.token } });
  await using second = await connectRaw(url, { auth: { token: b.token } });
  await using lab = await connectRaw(url, as(LAB));
  const gone = first.disconnected();
  await server.change(keys(b));
  await gone;
  for (const client of [second, lab]) {
    await client.request("notify:barrier");
    assertEquals(client.socket.connected, true);
  }
  await assertRejects(() => connectRaw(url, { auth: { token: a.token } }));
});

Deno.test("recheckSessions() fetches a JWK set again; sessions stay while it is unreachable (spec §10)", async () => {
  const [a, b] = [await issuerKey("a"), await issuerKey("b")];
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
  const keys = () => jwt({ key: { jwksUrl } });
  await using server = await served(keys());
  const { url } = server;
  await using first = await connectRaw(url, { auth: { token: a.token } });
  await using second = await connectRaw(url, { auth: { token: b.token } });
  published = undefined;
  using log = captureLog();
  await server.change(keys());
  assertEquals(server.stats().connections, 2);
  const errors = log.records.filter(({ level }) => level === "error");
  assertEquals(errors.map(({ properties }) => properties.sessions), [2]);
  published = { keys: [b.jwk] };
  const gone = first.disconnected();
  fetched = 0;
  await server.change(keys());
  await gone;
  assertEquals(fetched, 1); // for all sessions
  assertEquals(second.socket.connected, true);
});

Deno.test("recheckSessions() includes sessions whose handshake is pending (spec §10)", async () => {
  const asked = Promise.withResolvers<void>();
  const letIn = Promise.withResolvers<void>();
  const old: Authenticator = {
    async authenticate() {
      asked.resolve();
      await letIn.promise;
      return { principal: "late" };
    },
  };
  await using server = await served(old);
  const client = connectRaw(server.url);
  await asked.promise;
  await server.change({
    authenticate: () => ({ refused: "gone" }),
    refresh: () => ({ refused: "gone" }),
  });
  letIn.resolve();
  await using late = await client;
  await late.disconnected();
});

Deno.test("a join during the removal of its key is refused (spec §10)", async () => {
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
