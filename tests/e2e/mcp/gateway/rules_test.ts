import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { SignJWT } from "jose";
import { mcpGateway } from "../../../../mcp/mod.ts";
import { apiKeys, type Authenticator, jwt } from "../../../../server/mod.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { CLIENTS } from "../../../support/mcp/clients.ts";
import {
  callEcho,
  GATEWAY_KEYS,
  gatewayKeys,
  listTools,
  startGateway,
} from "../../../support/mcp/gateway.ts";
import { modernRequest, post } from "../../../support/mcp/post.ts";
import { refusalOf } from "../../../support/mcp/raw.ts";

const { ann, bob, computer: computerKey } = GATEWAY_KEYS;

/** A `fetch` that shows a key. */
const as = (key: string): typeof fetch => (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set("x-api-key", key);
  return fetch(input, { ...init, headers });
};

Deno.test("400 calls of one client at once are 400 results", async () => {
  // 400 connections begin together in one thread, on a machine that may be busy.
  await using served = await startGateway({
    server: { headerTimeoutMs: 120_000 },
  });
  await using client = await CLIENTS["v2, 2026"]?.(served);
  const texts = Array.from({ length: 400 }, (_, at) => `text ${at}`);
  const results = await Promise.all(
    texts.map((text) => client?.call("pc__echo", { text })),
  );
  assertEquals(results.map((result) => result?.content[0]?.text), texts);
});

Deno.test("calls beyond the limits of the seat wait, whoever makes them", async () => {
  await using served = await startGateway({
    server: {
      authenticator: gatewayKeys(),
      limits: { eventsPerSecond: 40, callsPerAgent: 30 },
    },
    computer: { auth: { api_key: computerKey } },
  });
  const texts = Array.from({ length: 50 }, (_, at) => `text ${at}`);
  const answers = await Promise.all(texts.map(async (text, at) => {
    const { headers, body } = callEcho(text);
    const key = at % 2 ? ann : bob;
    const answer = await post(served.url, {
      body,
      headers: { ...headers, "x-api-key": key },
    });
    return JSON.parse(answer.body).result.content[0].text;
  }));
  assertEquals(answers, texts);
});

Deno.test("rate limits count per principal, and a refusal is a limit_hit of the audit log", async () => {
  await using served = await startGateway({
    server: {
      authenticator: gatewayKeys(),
      limits: { callsPerAgent: 2 },
    },
    computer: { auth: { api_key: computerKey } },
  });
  using log = captureLog();
  const { headers, body } = modernRequest("tools/call", { name: "pc__slow" });
  const call = (key: string) =>
    post(served.url, { body, headers: { ...headers, "x-api-key": key } });
  const running = [call(ann), call(ann)];
  await served.holds(1); // the second one waits for its turn
  const echo = async (key: string) => {
    const { headers, body } = modernRequest("tools/list");
    return await post(served.url, {
      body,
      headers: { ...headers, "x-api-key": key },
    });
  };
  let refused = await echo(ann);
  while (refused.status === 200) refused = await echo(ann); // the second one is on its way
  assertEquals([refused.status, refused.headers["retry-after"]], [429, "1"]);
  assertEquals((await echo(bob)).status, 200);
  served.release();
  await served.holds(1);
  served.release();
  assertEquals((await Promise.all(running)).map(({ status }) => status), [
    200,
    200,
  ]);
  assertEquals(
    log.audit.find(({ event }) => event === "limit_hit"),
    {
      event: "limit_hit",
      limit: "calls_per_agent",
      address: "127.0.0.1",
      principal: "key:ann",
    },
  );
});

Deno.test("the audit log says who calls a tool, and with what program", async () => {
  await using served = await startGateway({
    server: { authenticator: gatewayKeys() },
    computer: { auth: { api_key: computerKey } },
  });
  using log = captureLog();
  for (const [kind, connect] of Object.entries(CLIENTS)) {
    await using client = await connect({
      url: served.url,
      fetch: as(kind.startsWith("v1") ? ann : bob),
    });
    await client.call("pc__echo", { text: kind });
    await client.terminate();
  }
  const calls = log.audit.filter(({ event }) => event === "tool_call");
  assertEquals(
    calls.map(({ office, agent, principal, client, tool, outcome }) =>
      [office, agent, principal, client, tool, outcome].join(", ")
    ),
    [
      "north, mcp, key:ann, test 1.0.0, echo, ok",
      "north, mcp, key:bob, test 1.0.0, echo, ok",
      "north, mcp, key:bob, test 1.0.0, echo, ok",
    ],
  );
  assertEquals(log.text.includes("x-smcp-gateway"), false);
});

Deno.test("a shutdown lets calls end and their results through, and ends streams", async () => {
  await using served = await startGateway();
  const connect = CLIENTS["v2, 2026"];
  await using client = await connect?.(served);
  await client?.listening();
  const progress = client?.call("pc__slow", {}, { onprogress: () => {} });
  const plain = client?.call("pc__slow");
  await served.holds(2);
  const closing = served.server.close();
  const late = await listTools(served);
  assertEquals(late.status, 503);
  served.release();
  assertEquals((await plain)?.content, [{ type: "text", text: "done" }]);
  assertEquals((await progress)?.content, [{ type: "text", text: "done" }]);
  await closing;
});

Deno.test("a stream ends when its key is revoked, and when its token expires", async () => {
  const secret = "a secret of 32 characters or more";
  const tokens = jwt({ key: { secret } });
  let keys: Authenticator = gatewayKeys();
  const authenticator: Authenticator = {
    authenticate: (credentials) =>
      credentials.headers.authorization === undefined
        ? keys.authenticate(credentials)
        : tokens.authenticate(credentials),
    refresh: (identity) => keys.refresh?.(identity),
  };
  await using served = await startGateway({
    server: { authenticator },
    computer: { auth: { api_key: computerKey } },
  });
  const listen = async (credentials: Record<string, string>) => {
    const { headers, body } = modernRequest("subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    return await fetch(served.url, {
      method: "POST",
      headers: {
        ...headers,
        ...credentials,
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
      },
      body,
    });
  };
  const byKey = await listen({ "x-api-key": ann });
  assertEquals(byKey.status, 200);
  keys = apiKeys([{ id: "bob", key: bob }]);
  await served.server.recheckSessions();
  await assertRejects(() => byKey.text());
  const refused = await post(served.url, {
    body: "{}",
    headers: { "x-api-key": ann },
  });
  assertEquals(refused.status, 401);
  // Expired already, but for the tolerance of clocks: a machine that stalls may use it too late.
  const expiring = async () => {
    const token = await new SignJWT({ sub: "ada", role: "agent" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(Math.floor(Date.now() / 1000) - 1)
      .sign(new TextEncoder().encode(secret));
    return await listen({ authorization: `Bearer ${token}` });
  };
  let byToken = await expiring();
  while (byToken.status === 401) {
    await byToken.body?.cancel();
    byToken = await expiring();
  }
  assertEquals(byToken.status, 200);
  await assertRejects(() => byToken.text());
});

Deno.test("a path that names no possible office is not found, and the answer says why", async () => {
  await using served = await startGateway({
    server: { authorizationServers: ["https://id.example.com"] },
  });
  const { origin } = served.url;
  const why = "1 to 256 characters without control characters";
  for (const name of ["%00", "a%0Ab", "%C2%85", "x".repeat(257)]) {
    for (const method of ["POST", "GET", "DELETE"]) {
      const { status, body } = await post(`${origin}/mcp/${name}`, { method });
      assertEquals(status, 404, body);
      assertStringIncludes(JSON.parse(body).error.message, why);
    }
    const metadata = `${origin}/.well-known/oauth-protected-resource`;
    const response = await fetch(`${metadata}/mcp/${name}`);
    assertEquals(response.status, 404);
    assertStringIncludes(await response.text(), why);
  }
  const longest = await post(`${origin}/mcp/${"x".repeat(256)}`);
  assertEquals(longest.status, 400, longest.body);
});

Deno.test("mcpGateway() refuses what it cannot use, and names it", () => {
  for (
    const [options, message] of [
      [{ seatIdleMs: 0 }, "Cannot use seatIdleMs 0: expected a whole number"],
      [{ maxOffices: 0.5 }, "Cannot use maxOffices 0.5: expected a whole"],
      [{ agentName: "" }, "Cannot use agentName: expected a name"],
      [{ nameLimit: 1 }, "Cannot use nameLimit 1"],
    ] as const
  ) {
    let thrown = "";
    try {
      mcpGateway(options);
    } catch (error) {
      thrown = String(error);
    }
    assertStringIncludes(thrown, message);
  }
});

Deno.test("a page of an allowed origin may call, and ask whether it may", async () => {
  const origin = "https://app.example";
  await using served = await startGateway({ server: { origins: [origin] } });
  const asked = await post(served.url, {
    method: "OPTIONS",
    headers: { origin },
  });
  assertEquals(
    [asked.status, asked.headers["access-control-allow-origin"]],
    [204, origin],
  );
  const { headers, body } = modernRequest("tools/list");
  const response = await post(served.url, {
    body,
    headers: { ...headers, origin },
  });
  assertEquals(
    [response.status, response.headers["access-control-allow-origin"]],
    [200, origin],
  );
  const foreign = await fetch(served.url, {
    method: "POST",
    headers: { origin: "https://evil.example" },
  });
  assertEquals((await refusalOf(foreign)).status, 403);
});
