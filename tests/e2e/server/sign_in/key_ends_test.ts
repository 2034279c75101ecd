import { assertEquals, assertStringIncludes } from "@std/assert";
import type { ApiKey } from "@a2c-smcp/server";
import { captureLog } from "../../../support/log_capture.ts";
import { GATEWAY_KEYS } from "../../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  LIST_TOOLS,
  modernRequest,
  post,
} from "../../../support/mcp/post.ts";
import {
  bearer,
  KEYS,
  SignedInServer,
} from "../../../support/server/signed_in_server.ts";

const LIST = modernRequest("tools/list");

/** Opens a session with a stream for what is notified; returns what reads it to its end. */
async function openStream(
  server: SignedInServer,
  headers: Readonly<Record<string, string>>,
) {
  const opened = await post(server.gateway.url, { headers, body: INITIALIZE });
  assertEquals(opened.status, 200, opened.body);
  const session = String(opened.headers["mcp-session-id"]);
  const left = new AbortController();
  const stream = await fetch(server.gateway.url, {
    signal: left.signal,
    headers: {
      ...headers,
      "mcp-session-id": session,
      accept: "text/event-stream",
    },
  });
  assertEquals(stream.status, 200);
  const ended = stream.text().then(() => true, () => true);
  return {
    session,
    ended,
    async [Symbol.asyncDispose]() {
      left.abort();
      await ended;
    },
  };
}

/** What ends the sign-ins of a key. */
const ENDS: Readonly<
  Record<string, (server: SignedInServer) => Promise<unknown>>
> = {
  removed: (server) =>
    server.replaceKeys(KEYS.filter(({ id }) => id !== "ann")),
  "restricted to other offices": (server) =>
    server.replaceKeys(changed({ offices: ["lab"] })),
  "restricted to another role": (server) =>
    server.replaceKeys(changed({ roles: ["computer"] })),
  "made to expire": (server) =>
    server.replaceKeys(changed({ expires: "2020-01-31T00:00:00Z" })),
  replaced: (server) => server.replaceKeys(changed({ key: "another-key" })),
  "revoked by an operator": async (server) => {
    const answer = await fetch(`${server.url}/operator/v1/keys/revoke`, {
      method: "POST",
      headers: {
        ...bearer("ops-key-0123456789"),
        "content-type": "application/json",
      },
      body: JSON.stringify({ principal: "key:ann", reason: "lost" }),
    });
    assertEquals(await answer.json(), { done: 1 });
  },
};

const changed = (change: Partial<ApiKey>): ApiKey[] =>
  KEYS.map((key) => key.id === "ann" ? { ...key, ...change } : key);

for (const [how, end] of Object.entries(ENDS)) {
  Deno.test(`sign-in #33: a grant ends with its key, which is ${how}`, async () => {
    using logged = captureLog();
    await using server = await SignedInServer.start();
    const tokens = await server.token();
    await using stream = await openStream(server, tokens.as);
    await end(server);
    await stream.ended;
    const refused = await post(server.gateway.url, {
      ...LIST,
      headers: { ...LIST.headers, ...tokens.as },
    });
    assertEquals(refused.status, 401);
    assertStringIncludes(
      String(refused.headers["www-authenticate"]),
      'error="invalid_token"',
    );
    const renewed = await server.renew(tokens);
    assertEquals(
      await renewed.json().then(({ error }) => error),
      "invalid_grant",
    );
    const lines = logged.audit.filter(({ event }) => event === "grant_ended");
    assertEquals(lines.map(({ why, principal }) => [why, principal]), [
      ["key", "key:ann"],
    ]);
  });
}

Deno.test("sign-in #33: other sign-ins stay when a key goes", async () => {
  await using server = await SignedInServer.start();
  const { as } = await server.token({ key: GATEWAY_KEYS.bob });
  await using stream = await openStream(server, as);
  await server.replaceKeys(KEYS.filter(({ id }) => id !== "ann"));
  const listed = await post(server.gateway.url, {
    ...LIST,
    headers: { ...LIST.headers, ...as },
  });
  assertEquals(listed.status, 200);
  let hasEnded = false;
  void stream.ended.then(() => hasEnded = true);
  const again = await post(server.gateway.url, {
    headers: { ...as, "mcp-session-id": stream.session },
    body: LIST_TOOLS,
  });
  assertEquals([again.status, hasEnded], [200, false]);
});

Deno.test("sign-in #34: a revoked token ends its streams and its session, and no other", async () => {
  await using server = await SignedInServer.start();
  const first = await server.token();
  const second = await server.token();
  await using stream = await openStream(server, first.as);
  await using other = await openStream(server, second.as);
  const revoked = await server.post("/revoke", { token: first.refresh_token });
  assertEquals([revoked.status, await revoked.text()], [200, ""]);
  await stream.ended;
  const answers = await Promise.all([
    post(server.gateway.url, { headers: first.as, body: INITIALIZE }),
    post(server.gateway.url, {
      headers: { ...second.as, "mcp-session-id": other.session },
      body: LIST_TOOLS,
    }),
  ]);
  assertEquals(answers.map(({ status }) => status), [401, 200]);
});
