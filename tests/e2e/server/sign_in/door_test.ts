import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { mcpGateway } from "@a2c-smcp/mcp";
import { createMetrics } from "@a2c-smcp/server";
import { captureLog } from "../../../support/log_capture.ts";
import {
  agentAt,
  callEcho,
  GATEWAY_KEYS,
} from "../../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  LIST_TOOLS,
  modernRequest,
  post,
} from "../../../support/mcp/post.ts";
import {
  bearer,
  SignedInServer,
} from "../../../support/server/signed_in_server.ts";
import { connectRaw } from "../../../support/wire/raw_client.ts";

const LIST = modernRequest("tools/list");

Deno.test("a Server with a sign-in asks for a token at each path of its gateway, whatever the method", async () => {
  await using server = await SignedInServer.start();
  for (const path of ["/mcp/north", "/mcp", "/mcp/", "/mcp/other%20one"]) {
    for (const method of ["GET", "POST", "DELETE", "PUT", "OPTIONS"]) {
      const body = method === "POST" ? INITIALIZE : "";
      const none = await post(server.url + path, { method, body });
      assertEquals(none.status, 401, `${method} ${path}`);
      const metadata = `${server.url}/.well-known/oauth-protected-resource${
        path.replace(/\/$/, "")
      }`;
      assertEquals(
        none.headers["www-authenticate"],
        `Bearer resource_metadata="${metadata}", scope="office"`,
      );
      const wrong = await post(server.url + path, {
        method,
        body,
        headers: bearer("nonsense"),
      });
      assertEquals(wrong.status, 401);
      assertEquals(
        wrong.headers["www-authenticate"],
        `Bearer error="invalid_token", resource_metadata="${metadata}", scope="office"`,
      );
      const described = await (await fetch(metadata)).json();
      assertEquals(described.resource, server.url + path.replace(/\/$/, ""));
      assertEquals(described.authorization_servers, [server.url]);
    }
  }
});

Deno.test("a Server with a sign-in serves its token at the office, and keys beside it", async () => {
  await using server = await SignedInServer.start();
  const { as } = await server.token();
  const url = server.gateway.url;
  for (const headers of [as, { "x-api-key": GATEWAY_KEYS.bob }]) {
    const listed = await post(url, {
      ...LIST,
      headers: { ...LIST.headers, ...headers },
    });
    assertEquals(listed.status, 200, listed.body);
    assertStringIncludes(listed.body, "pc__echo");
  }
});

Deno.test("a token for the gateway's path has its office in it; a key there gets a hint", async () => {
  await using server = await SignedInServer.start();
  const { as } = await server.token({ office: "north" }, "/mcp");
  for (const path of ["/mcp", "/mcp/", "/mcp?tools=all"]) {
    const listed = await post(server.url + path, {
      ...LIST,
      headers: { ...LIST.headers, ...as },
    });
    assertEquals(listed.status, 200, listed.body);
    assertStringIncludes(listed.body, "pc__echo");
  }
  const hinted = await post(`${server.url}/mcp`, {
    ...LIST,
    headers: { ...LIST.headers, "x-api-key": GATEWAY_KEYS.ann },
  });
  assertEquals(hinted.status, 404);
  assertMatch(hinted.body, /name the office, as in \/mcp\/OFFICE/);
});

Deno.test("sign-in #13: a token is good at the one resource that it was asked for", async () => {
  await using server = await SignedInServer.start();
  await using other = await SignedInServer.start();
  const north = await server.token();
  const bare = await server.token({ office: "north" }, "/mcp");
  const team = await server.token({ later: true }, "/mcp/no*");
  const status = async (url: string, { as }: typeof north) =>
    (await post(url, { ...LIST, headers: { ...LIST.headers, ...as } })).status;
  assertEquals(await status(`${server.url}/mcp/north`, north), 200);
  for (const path of ["/mcp/lab", "/mcp", "/mcp/North", "/mcp/north/"]) {
    assertEquals(await status(server.url + path, north) === 200, false, path);
  }
  // The same name in another spelling is the same office.
  assertEquals(await status(`${server.url}/mcp/n%6Frth`, north), 200);
  for (const path of ["/mcp/north", "/mcp/lab"]) {
    assertEquals(await status(server.url + path, bare), 401, path);
  }
  // An office may have a name that is a pattern elsewhere.
  assertEquals(await status(`${server.url}/mcp/north`, team), 401);
  assertEquals(await status(`${server.url}/mcp/no*`, team), 200);
  assertEquals(await status(`${other.url}/mcp/north`, north), 401);
});

Deno.test("sign-in #14: a token opens no Socket.IO, no metrics and no operator API", async () => {
  await using server = await SignedInServer.start({
    server: { metrics: createMetrics() },
  });
  const { access_token: token, as } = await server.token();
  for (const auth of [{ token }, { api_key: token }]) {
    const error = await assertRejects(() => connectRaw(server.url, { auth }));
    assertStringIncludes(String(error), "Authentication failed");
  }
  for (
    const path of [
      "/metrics",
      "/operator/v1/status",
      "/operator/v1/grants",
      "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0",
    ]
  ) {
    const answer = await fetch(server.url + path, { headers: as });
    const text = await answer.text();
    // Engine.IO opens its connection before it authenticates.
    if (path.startsWith("/smcp/")) continue;
    assertEquals(answer.status, 401, `${path}: ${text}`);
  }
  const asKey = await post(server.gateway.url, {
    ...LIST,
    headers: { ...LIST.headers, "x-api-key": token },
  });
  assertEquals(asKey.status, 401);
});

Deno.test("sign-in #39: the failures of some clients behind an address do not keep the others out", async () => {
  await using server = await SignedInServer.start();
  const tokens = await server.token();
  const client = await server.register();
  for (let i = 0; i < 30; i++) {
    const wrong = await post(server.gateway.url, {
      ...LIST,
      headers: { ...LIST.headers, ...bearer(`nonsense-${i}`) },
    });
    assertEquals(wrong.status, 401);
    const page = await server.openPage(server.ask(client).path);
    await page.send({ key: `wrong-${i}` });
  }
  const listed = await post(server.gateway.url, {
    ...LIST,
    headers: { ...LIST.headers, ...tokens.as },
  });
  assertEquals(listed.status, 200);
  const renewed = await server.renew(tokens);
  assertEquals(renewed.status, 200, await renewed.text());
});

/** Counts the requests that the quick door answers, and those that go the long way. */
function countedGateway(): {
  readonly make: ReturnType<typeof mcpGateway>;
  readonly counts: { quick: number; long: number };
} {
  const counts = { quick: 0, long: 0 };
  const make: ReturnType<typeof mcpGateway> = (host) => {
    const gateway = mcpGateway()(host);
    const handle = gateway.handle.bind(gateway);
    const answer = gateway.answer?.bind(gateway);
    gateway.handle = (...asked) => {
      counts.long++;
      return handle(...asked);
    };
    gateway.answer = async (...asked) => {
      const body = await answer?.(...asked);
      if (body === undefined) counts.quick++;
      return body;
    };
    return gateway;
  };
  return { make, counts };
}

Deno.test("the quick door answers calls with tokens, at an office and at the gateway's path", async () => {
  const { make, counts } = countedGateway();
  await using server = await SignedInServer.start({
    server: { gateway: make },
  });
  const call = callEcho("hello");
  const send = async (path: string, { as }: { readonly as: object }) => {
    const { status, body } = await post(server.url + path, {
      ...call,
      headers: { ...call.headers, ...as },
    });
    assertEquals(status, 200, body);
    assertStringIncludes(body, "hello");
  };
  const north = await server.token();
  const bare = await server.token({ office: "north" }, "/mcp");
  await send("/mcp/north", north); // the first one opens the office
  counts.long = counts.quick = 0;
  await send("/mcp/north", north);
  await send("/mcp", bare);
  await send("/mcp?tools=all", bare);
  assertEquals(counts, { quick: 3, long: 0 });
  const refused = await post(`${server.url}/mcp`, {
    ...call,
    headers: { ...call.headers, ...north.as },
  });
  assertEquals([refused.status, counts], [401, { quick: 3, long: 0 }]);
});

Deno.test("a taken seat does not look like a refused token", async () => {
  await using server = await SignedInServer.start();
  const { as } = await server.token();
  const { ann } = GATEWAY_KEYS;
  await using agent = await agentAt(server.url, { auth: { api_key: ann } });
  await agent.join("north");
  const opened = await post(server.gateway.url, {
    headers: as,
    body: INITIALIZE,
  });
  assertEquals(opened.status, 200, opened.body);
  assertStringIncludes(opened.body, "No tools can be used now: The office");
  const ask = async (
    headers: Readonly<Record<string, string>>,
    body: string,
  ) => {
    const asked = await post(server.gateway.url, {
      headers: { ...as, ...headers },
      body,
    });
    assertEquals(asked.status, 200, asked.body);
    return asked.body;
  };
  const session = { "mcp-session-id": `${opened.headers["mcp-session-id"]}` };
  assertStringIncludes(await ask(session, LIST_TOOLS), `"tools":[]`);
  const call = callEcho("x");
  assertStringIncludes(
    await ask(call.headers, call.body),
    "is in use by its Agent",
  );
  await agent.leave();
  assertStringIncludes(await ask(LIST.headers, LIST.body), "pc__echo");
});

Deno.test("the audit log names the sign-in beside the holder of the key", async () => {
  using logged = captureLog();
  await using server = await SignedInServer.start();
  const { as } = await server.token();
  const call = callEcho("hello");
  const answer = await post(server.gateway.url, {
    ...call,
    headers: { ...call.headers, ...as },
  });
  assertEquals(answer.status, 200, answer.body);
  const lineOf = (event: string) =>
    logged.audit.find((line) => line.event === event);
  const { principal, grant } = lineOf("tool_call") ?? {};
  assertEquals(principal, "key:ann");
  assertEquals(grant, lineOf("sign_in_allowed")?.grant);
});

Deno.test("the limits of a key are those of all its sign-ins", async () => {
  await using server = await SignedInServer.start({
    server: { limits: { eventsPerSecond: 10 } },
  });
  const first = await server.token();
  const second = await server.token();
  const bob = await server.token({ key: GATEWAY_KEYS.bob });
  const ask = async ({ as }: typeof first) => {
    const { status } = await post(server.gateway.url, {
      ...LIST,
      headers: { ...LIST.headers, ...as },
    });
    return status;
  };
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) => ask(i % 2 ? first : second)),
  );
  assertEquals(new Set(answers), new Set([200, 429]));
  assertEquals(await ask(bob), 200);
});

Deno.test("pages of allowed origins reach the gateway, and pages of all the endpoints but the page itself", async () => {
  const origin = "https://app.example";
  await using server = await SignedInServer.start({
    server: { origins: [origin] },
  });
  const allowed = async (path: string, from: string) => {
    const { headers } = await post(server.url + path, {
      method: "OPTIONS",
      headers: {
        origin: from,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
      },
    });
    return headers["access-control-allow-origin"];
  };
  for (const path of ["/mcp", "/mcp/north"]) {
    assertEquals(await allowed(path, origin), origin);
    assertEquals(await allowed(path, "https://evil.example"), undefined);
  }
  for (const path of ["/token", "/register", "/revoke"]) {
    assertEquals(await allowed(path, "https://evil.example"), "*");
  }
  assertEquals(await allowed("/authorize", origin), undefined);
  const refused = await post(server.gateway.url, {
    ...LIST,
    headers: { ...LIST.headers, origin },
  });
  assertEquals(refused.status, 401);
  assertEquals(refused.headers["access-control-allow-origin"], origin);
  assertMatch(
    String(refused.headers["access-control-expose-headers"]),
    /www-authenticate/i,
  );
  // A navigation from a site of others is how every sign-in begins.
  const { path } = server.ask(await server.register());
  const page = await post(server.url + path, {
    method: "GET",
    headers: {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    },
  });
  assertEquals(page.status, 200);
});

Deno.test("the page shows the Computers of the office, and the Agent that has its seat", async () => {
  await using server = await SignedInServer.start();
  const { ann } = GATEWAY_KEYS;
  const client = await server.register();
  const show = async (office = "north") => {
    const resource = `${server.url}/mcp/${office}`;
    const page = await server.openPage(server.ask(client, { resource }).path);
    return (await page.send({ key: ann })).text;
  };
  assertMatch(await show(), /<span>pc<\/span>/);
  assertEquals((await show("empty")).includes("<span>pc</span>"), false);
  // The gateway's own Agent is that of the program.
  const { as } = await server.token();
  await post(server.gateway.url, {
    ...LIST,
    headers: { ...LIST.headers, ...as },
  });
  assertEquals((await show()).includes("<strong>mcp</strong>"), false);
  await using agent = await agentAt(server.url, { auth: { api_key: ann } });
  await agent.join("south");
  assertStringIncludes(await show("south"), "<strong>planner</strong>");
  assertEquals((await show()).includes("<strong>planner</strong>"), false);
});
