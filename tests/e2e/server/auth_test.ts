import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { SignJWT } from "jose";
import { SmcpAgent } from "../../../agent/mod.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import {
  anyOf,
  apiKeys,
  type Authenticator,
  createSmcpServer,
  jwt,
} from "../../../server/mod.ts";
import { start } from "../../support/child.ts";
import { scriptedComputer } from "../../support/office.ts";
import { captureLog } from "../../support/log_capture.ts";
import { pollingEnds } from "../../support/wire/polling_ends.ts";
import {
  connectRaw,
  joinRaw,
  RawClient,
} from "../../support/wire/raw_client.ts";
import { startServerCommand } from "../../support/server/server_command.ts";

const AGENT_KEY = "agent-key-0123456789";
const LAB_KEY = "lab-key-0123456789";

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

const header = (key: string) => ({ headers: { "x-api-key": key } });
const inAuth = (key: string) => ({ auth: { api_key: key } });
/** Like the Python SDK. */
const asToken = (key: string) => ({ auth: { token: key } });

for (const transports of [["polling"], ["websocket"], undefined] as const) {
  for (
    const [where, show] of [
      ["header", header],
      ["auth", inAuth],
      ["auth.token", asToken],
    ] as const
  ) {
    Deno.test(`an API key in ${where} admits agent and computer over ${transports ?? "both transports"} (spec §10)`, async () => {
      await using _last = pollingEnds();
      await using server = createSmcpServer({ authenticator: keys() });
      const { url } = await server.listen();
      const way = transports ? { transports: [...transports] } : {};
      await using computer = scriptedComputer({
        url,
        name: "lab-1",
        script: () => ({ content: [{ type: "text", text: "hello" }] }),
        ...show(LAB_KEY),
        ...way,
      });
      await computer.connect();
      await computer.join("north");
      await using agent = new SmcpAgent({
        url,
        name: "planner",
        ...show(AGENT_KEY),
        ...way,
      });
      await agent.connect();
      await agent.join("north");
      const { content } = await agent.callTool("lab-1", "greet", {});
      assertEquals(content, [{ type: "text", text: "hello" }]);
    });
  }
}

Deno.test("any invalid credentials are refused with the same 401 (spec §10)", async () => {
  const secret = "0123456789abcdef0123456789abcdef";
  const expired = await new SignJWT({ sub: "ada" })
    .setProtectedHeader({ alg: "HS256" }).setExpirationTime(1)
    .sign(new TextEncoder().encode("another secret, of 32 characters"));
  const wrong: Record<string, unknown>[] = [
    {},
    { api_key: "unknown" },
    { api_key: "" },
    { api_key: { $ne: null } },
    { token: expired },
    { token: "garbage" },
    { role: "emperor", instance_id: 5 },
  ];
  for (const authenticator of [keys(), jwt({ key: { secret } })]) {
    await using server = createSmcpServer({ authenticator });
    const { url } = await server.listen();
    for (const auth of wrong) {
      for (const transport of ["polling", "websocket"] as const) {
        const error = await assertRejects(
          () => connectRaw(url, { auth, transports: [transport] }),
          Error,
        );
        assertEquals((error as Error & { data: unknown }).data, {
          code: 401,
          message: "Authentication failed",
        });
      }
    }
    assertEquals(server.stats.connections, 0);
  }
});

Deno.test("the holder of credentials that expired gets 401 that says so, and nobody else (spec §10)", async () => {
  const secret = "0123456789abcdef0123456789abcdef";
  const token = await new SignJWT({ sub: "ada" })
    .setProtectedHeader({ alg: "HS256" }).setExpirationTime(1)
    .sign(new TextEncoder().encode(secret));
  const expires = "2020-01-31T00:00:00Z";
  await using server = createSmcpServer({
    authenticator: anyOf([
      apiKeys([{ id: "guest", key: "guest-key", expires }]),
      jwt({ key: { secret } }),
    ]),
  });
  const { url } = await server.listen();
  const messages = {
    "guest-key":
      "Authentication failed: the API key expired at 2020-01-31T00:00:00.000Z",
    [token]:
      "Authentication failed: the token expired at 1970-01-01T00:00:01.000Z",
    "other-key": "Authentication failed",
  };
  for (const [sent, message] of Object.entries(messages)) {
    const error = await assertRejects(
      () => connectRaw(url, { auth: { token: sent } }),
      Error,
    );
    assertEquals(Object(error).data, { code: 401, message });
  }
});

Deno.test("a client that is refused with 401 rejects with it, and does not retry (spec §10)", async () => {
  await using _last = pollingEnds();
  await using server = createSmcpServer({ authenticator: keys() });
  const { url } = await server.listen();
  await using agent = new SmcpAgent({ url, name: "planner", ...header("no") });
  const error = await assertRejects(() => agent.connect(), ProtocolError);
  assertEquals([error.code, error.message], [401, "Authentication failed"]);
  assertEquals(agent.state, "closed");
});

Deno.test("the policy of credentials is checked at each join: role, office, name (spec §10)", async () => {
  await using server = createSmcpServer({ authenticator: keys() });
  const { url } = await server.listen();
  await using lab = await connectRaw(url, inAuth(LAB_KEY));
  const refusals = [
    [
      "agent",
      "lab-1",
      "north",
      "Not allowed to join as agent: the credentials are for computer",
    ],
    ["computer", "lab-1", "south", "Not allowed to join this office"],
    ["computer", "x", "north", 'Not allowed to join under the name "x"'],
  ] as const;
  for (const [role, name, office, reason] of refusals) {
    assertEquals(await lab.join(role, name, office), [false, reason]);
  }
  assertEquals(server.stats, { connections: 1, offices: 0, members: 0 });
  assertEquals(await lab.join("computer", "lab-1", "team-a"), [true, null]);
  assertEquals(await lab.join("computer", "lab-2", "south"), [
    false,
    "Not allowed to join this office",
  ]);
  assertEquals(server.stats.members, 1); // where it was
});

Deno.test("claims of a JWT restrict role, office and name (spec §10)", async () => {
  const secret = "0123456789abcdef0123456789abcdef";
  await using server = createSmcpServer({
    authenticator: jwt({ key: { secret } }),
  });
  const { url } = await server.listen();
  const token = await new SignJWT({
    sub: "ada",
    role: "agent",
    office_id: ["north", "team-*"],
    name: "ada",
  }).setProtectedHeader({ alg: "HS256" }).setExpirationTime("1h")
    .sign(new TextEncoder().encode(secret));
  await using ada = await connectRaw(url, { auth: { token } });
  const joins = [
    ["computer", "ada", "north"],
    ["agent", "ada", "south"],
    ["agent", "eve", "north"],
  ] as const;
  for (const [role, name, office] of joins) {
    assertEquals((await ada.join(role, name, office))[0], false);
  }
  assertEquals(await ada.join("agent", "ada", "team-x"), [true, null]);
});

for (const transport of ["polling", "websocket"] as const) {
  Deno.test(`a session ends when its credentials expire, and its client reconnects with new ones over ${transport} (spec §10)`, async () => {
    await using _last = pollingEnds();
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
    const expired = log.audit.filter(({ event }) =>
      event === "session_expired"
    );
    assertEquals(expired.map(({ principal }) => principal), ["ada"]);
  });
}

Deno.test("a client with expired credentials and no others gets 401, and does not retry (spec §10)", async () => {
  let asked = 0;
  const authenticator: Authenticator = {
    authenticate: () =>
      asked++ === 0
        ? { principal: "ada", expiresAt: Date.now() + 500 }
        : { refused: "expired" },
  };
  await using server = createSmcpServer({ authenticator });
  const { url } = await server.listen();
  await using agent = new SmcpAgent({
    url,
    name: "ada",
    // Engine.IO leaks a timer of a polling client that is closed during its upgrade.
    transports: ["websocket"],
  });
  const refused = Promise.withResolvers<unknown>();
  agent.on("refused", refused.resolve);
  await agent.connect();
  const error = await refused.promise;
  assertEquals(error instanceof ProtocolError && error.code, 401);
  assertEquals([agent.state, server.stats.connections], ["closed", 0]);
});

Deno.test("a seat is only taken over by the same instance of the same principal (spec §9)", async () => {
  const authenticator = apiKeys([
    { id: "a", key: "key-a" },
    { id: "b", key: "key-b" },
  ]);
  await using server = createSmcpServer({ authenticator });
  const { url } = await server.listen();
  const as = (api_key: string) => ({ auth: { api_key, instance_id: "i1" } });
  await using old = await joinRaw(
    { url, ...as("key-a") },
    "agent",
    "x",
    "north",
  );
  await using thief = await connectRaw(url, as("key-b"));
  assertEquals(await thief.join("agent", "x", "north"), [
    false,
    "Room already has an agent",
  ]);
  const gone = old.disconnected();
  await using back = await connectRaw(url, as("key-a"));
  assertEquals(await back.join("agent", "x", "north"), [true, null]);
  assertEquals(await gone, "io server disconnect");
});

Deno.test("an authenticator gets headers, auth and address; its own failure is not a 401", async () => {
  await using _last = pollingEnds();
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

Deno.test("auth.token is checked as a key, then as a JWT; the header's key precedes both (spec §10)", async () => {
  using log = captureLog();
  const secret = "0123456789abcdef0123456789abcdef";
  const authenticator = anyOf([keys(), jwt({ key: { secret } })]);
  await using server = createSmcpServer({ authenticator });
  const { url } = await server.listen();
  const token = await new SignJWT({ sub: "ada" })
    .setProtectedHeader({ alg: "HS256" }).setExpirationTime("1h")
    .sign(new TextEncoder().encode(secret));
  const ways: Record<string, unknown>[] = [
    { token: AGENT_KEY },
    { token },
    { token, api_key: AGENT_KEY },
    { token, api_key: "wrong" },
  ];
  for (const auth of ways) {
    await using _ = await joinRaw({ url, auth }, "agent", "ada", "north");
  }
  const joins = log.audit.filter(({ event }) => event === "joined");
  assertEquals(joins.map(({ principal }) => principal), [
    "key:planner",
    "jwt:ada",
    "key:planner",
    "jwt:ada",
  ]);
});

Deno.test("credentials are checked before the other fields of auth", async () => {
  await using server = createSmcpServer({ authenticator: keys() });
  const { url } = await server.listen();
  await using client = new RawClient(url, {
    auth: { role: "emperor", api_key: LAB_KEY },
  });
  const error = await assertRejects(() => client.connected(), Error);
  assertEquals((error as Error & { data: unknown }).data, {
    code: 400,
    message: 'Invalid auth.role: expected "agent" or "computer"',
  });
});

Deno.test("listen() refuses a public address without authentication, unless insecure is set (spec §10)", async () => {
  await using open = createSmcpServer();
  await assertRejects(
    () => open.listen({ hostname: "0.0.0.0" }),
    TypeError,
    "Cannot listen on 0.0.0.0 without authentication",
  );
  await open.listen({ hostname: "0.0.0.0", insecure: true });
  await using guarded = createSmcpServer({ authenticator: keys() });
  await guarded.listen({ hostname: "0.0.0.0" });
});

Deno.test("listen() warns of a public address with keys and without TLS, and refuses it with requireTls (spec §10)", async () => {
  using log = captureLog();
  const hostname = "0.0.0.0";
  const warnings = () =>
    log.records.filter(({ level }) => level === "warning")
      .map(({ message }) => message.join(""));
  await using server = createSmcpServer({ authenticator: keys() });
  await assertRejects(
    () => server.listen({ hostname, requireTls: true }),
    TypeError,
    "Cannot listen on 0.0.0.0 without TLS: keys, calls and results can be read on their way; give tls",
  );
  await server.listen({ requireTls: true }); // loopback
  assertEquals(warnings(), []);
  await server.listen({ hostname });
  assertEquals(warnings(), [
    "Listening on 0.0.0.0 without TLS: keys, calls and results can be read on their way",
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
    "the command refuses a public address without authentication; --insecure is one line of warning, and so are keys without TLS (spec §10)",
  timeout: 120_000,
}, async () => {
  await using refused = await startServerCommand([
    "--host=0.0.0.0",
    "--port=0",
  ]);
  assertEquals([await refused.exited, refused.line], [2, ""]);
  assertEquals(refused.log.trimEnd().split("\n").length, 1);
  assertStringIncludes(refused.log, "without authentication");

  await using insecure = await startServerCommand([
    "--host=0.0.0.0",
    "--port=0",
    "--insecure",
  ]);
  await insecure.logged("INSECURE");
  const { level } = JSON.parse(insecure.log);
  assertEquals(level, "warning");

  await using guarded = await startServerCommand(
    ["--host=0.0.0.0", "--port=0"],
    { SMCP_API_KEYS: JSON.stringify([{ id: "a", key: AGENT_KEY }]) },
  );
  assertStringIncludes(guarded.line, "http://0.0.0.0:");
  await guarded.logged("Listening on 0.0.0.0 without TLS: keys, calls");
});

Deno.test({
  name:
    "the agent's command sends an API key from a flag or the environment, and explains a refusal without one",
  timeout: 120_000,
}, async () => {
  await using server = createSmcpServer({ authenticator: keys() });
  const { url } = await server.listen();
  const run = async (args: string[], env: Record<string, string>) => {
    await using agent = start(Deno.execPath(), [
      ...["run", "-A", "--frozen", "agent/main.ts", "members"],
      ...[`--url=${url}`, "--office=north", ...args],
    ], { cwd: new URL("../../../", import.meta.url), env });
    const { code } = await agent.status;
    return { code, text: agent.lines.join("\n") };
  };
  const none = { SMCP_API_KEY: "", SMCP_TOKEN: "" };
  const byFlag = await run(["--api-key", AGENT_KEY], none);
  const byEnvironment = await run([], { ...none, SMCP_API_KEY: AGENT_KEY });
  for (const { code, text } of [byFlag, byEnvironment]) {
    assertEquals(code, 0, text);
    assertStringIncludes(text, "agent");
  }
  const refused = await run([], none);
  assertEquals(refused.code, 1);
  assertStringIncludes(refused.text, "error: Authentication failed");
});
