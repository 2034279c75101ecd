import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { SignJWT } from "jose";
import { INITIALIZE, LIST_TOOLS } from "../../../support/mcp/raw.ts";
import {
  modernRequest,
  post,
  type Posting,
} from "../../../support/mcp/post.ts";
import { startServerCommand } from "../../../support/server/server_command.ts";

const SECRET = "a secret of 32 characters or more";
const ISSUER = "https://id.example.com";
const ANN = "ann-key-0123456789abcdef";
const BOB = "bob-key-0123456789abcdef";
const LAB = "lab-key-0123456789abcdef";
const KEYS = [
  { id: "ann", key: ANN, roles: ["agent"], offices: ["north"], names: ["ann"] },
  { id: "bob", key: BOB, roles: ["agent"] },
  { id: "lab", key: LAB, roles: ["computer"], offices: ["north"] },
];
const PROTOCOL = { timeout: 120_000 };

/** A Server with keys, JWT and MCP, as an operator starts it. */
const startServer = (...flags: string[]) =>
  startServerCommand(
    ["--port=0", "--mcp", `--jwt-issuer=${ISSUER}`, ...flags],
    { SMCP_API_KEYS: JSON.stringify(KEYS), SMCP_JWT_SECRET: SECRET },
  );

const tokenFor = (claims: Record<string, unknown>) =>
  new SignJWT({ sub: "cleo", ...claims }).setProtectedHeader({ alg: "HS256" })
    .setIssuer(ISSUER).setExpirationTime("1h")
    .sign(new TextEncoder().encode(SECRET));

const withKey = (key: string, posting: Posting = { body: INITIALIZE }) => ({
  ...posting,
  headers: { ...posting.headers, "x-api-key": key },
});

const bearer = (token: string) => ({
  body: INITIALIZE,
  headers: { authorization: `Bearer ${token}` },
});

Deno.test({
  name: "who may not use an office over MCP is refused, and the log says who",
  ...PROTOCOL,
}, async () => {
  await using command = await startServer();
  const north = `${command.url}/mcp/north`;
  const statusOf = async (posting: Posting, url = north) => {
    const { status, body } = await post(url, posting);
    assertEquals(typeof JSON.parse(body).error.message, "string", body);
    return status;
  };
  const foreign = await tokenFor({ role: "agent", office_id: "south" });
  const session = String(
    (await post(north, withKey(BOB))).headers["mcp-session-id"],
  );
  const inSession = {
    body: LIST_TOOLS,
    headers: { "mcp-session-id": session },
  };
  assertEquals((await post(north, withKey(BOB, inSession))).status, 200);
  assertEquals(
    {
      "no credentials": await statusOf({ body: INITIALIZE }),
      "unknown key": await statusOf(withKey("unknown-key-0123456789")),
      "unknown token": await statusOf(bearer("unknown-token-0123456789")),
      "wrong office": await statusOf(withKey(ANN), `${command.url}/mcp/south`),
      "wrong office of a token": await statusOf(bearer(foreign)),
      "a Computer's key": await statusOf(withKey(LAB)),
      "foreign origin": await statusOf(
        withKey(ANN, {
          body: INITIALIZE,
          headers: { origin: "https://evil.example" },
        }),
      ),
      "foreign site": await statusOf(
        withKey(ANN, {
          body: INITIALIZE,
          headers: { "sec-fetch-site": "cross-site" },
        }),
      ),
      "foreign host": await statusOf(
        withKey(ANN, { body: INITIALIZE, headers: { host: "evil.example" } }),
      ),
      "session of another": await statusOf(withKey(ANN, inSession)),
      "ending the session of another": await statusOf(
        withKey(ANN, { ...inSession, method: "DELETE" }),
      ),
      "too large": await statusOf(
        // Refused by what it announces: a client that still wrote might miss the answer.
        withKey(ANN, {
          body: "{",
          headers: { "content-length": String(9 * 2 ** 20) },
        }),
      ),
      "too large, without a length": await statusOf(
        withKey(ANN, {
          body: "x".repeat(8 * 2 ** 20 + 1), // refused at its last byte
          headers: { "transfer-encoding": "chunked" },
        }),
      ),
    },
    {
      "no credentials": 401,
      "unknown key": 401,
      "unknown token": 401,
      "wrong office": 403,
      "wrong office of a token": 403,
      "a Computer's key": 403,
      "foreign origin": 403,
      "foreign site": 403,
      "foreign host": 403,
      "session of another": 404,
      "ending the session of another": 404,
      "too large": 413,
      "too large, without a length": 413,
    },
  );
  command.kill("SIGTERM");
  assertEquals(await command.exited, 0);
  const refused = command.log.trim().split("\n").map((line) => JSON.parse(line))
    .filter(({ message }) => message === "handshake_refused")
    .map(({ code, reason, principal, office }) =>
      [code, reason, principal, office].filter((field) => field !== undefined)
    );
  assertEquals(refused.slice(0, 5), [
    [401, "no API key, no token", "north"],
    [401, "unknown API key, no token", "north"],
    [
      401,
      "unknown API key, token refused: it is not a JWT (ERR_JWS_INVALID)",
      "north",
    ],
    [403, "Not allowed to join this office", "key:ann", "south"],
    [403, "Not allowed to join this office", "jwt:cleo", "north"],
  ]);
  for (const secret of [ANN, BOB, LAB, SECRET, foreign, "unknown-"]) {
    assertEquals(command.log.includes(secret), false, secret);
  }
});

Deno.test({
  name:
    "API keys are taken from x-api-key and as a bearer, tokens as a bearer; the name of a key does not matter",
  ...PROTOCOL,
}, async () => {
  await using command = await startServer();
  const north = `${command.url}/mcp/north`;
  const token = await tokenFor({ role: "agent", office_id: "north" });
  for (const posting of [withKey(ANN), bearer(ANN), bearer(token)]) {
    assertEquals((await post(north, posting)).status, 200);
  }
  const request = modernRequest("tools/list");
  const { status, body } = await post(north, withKey(ANN, request));
  assertEquals([status, JSON.parse(body).result.tools], [200, []]);
});

Deno.test({
  name:
    "a client without credentials is told where to get a token: the metadata of RFC 9728",
  ...PROTOCOL,
}, async () => {
  await using command = await startServer();
  const path = "/mcp/my%20office";
  const metadata = `${command.url}/.well-known/oauth-protected-resource${path}`;
  const { headers } = await post(command.url + path, { body: INITIALIZE });
  assertEquals(
    headers["www-authenticate"],
    `Bearer resource_metadata="${metadata}"`,
  );
  const refused = await post(command.url + path, withKey("unknown"));
  assertEquals(
    refused.headers["www-authenticate"],
    `Bearer error="invalid_token", resource_metadata="${metadata}"`,
  );
  const found = await post(metadata, { method: "GET" });
  assertEquals([found.status, JSON.parse(found.body)], [200, {
    resource: command.url + path,
    authorization_servers: [ISSUER],
    bearer_methods_supported: ["header"],
  }]);
});

Deno.test({
  name:
    "without a JWT issuer there is no metadata, and without --mcp nothing at /mcp",
  ...PROTOCOL,
}, async () => {
  await using keyed = await startServerCommand(["--port=0", "--mcp"], {
    SMCP_API_KEYS: JSON.stringify(KEYS),
  });
  assertMatch(keyed.line, /, MCP http:\/\/127\.0\.0\.1:\d+\/mcp\/OFFICE\)$/);
  const refused = await post(`${keyed.url}/mcp/north`, { body: INITIALIZE });
  assertEquals(
    [refused.status, refused.headers["www-authenticate"]],
    [401, "Bearer"],
  );
  const root = `${keyed.url}/.well-known/oauth-protected-resource`;
  assertEquals(
    (await post(`${root}/mcp/north`, { method: "GET" })).status,
    404,
  );
  await using plain = await startServerCommand(["--port=0"]);
  const nothing = await post(`${plain.url}/mcp/north`, { body: INITIALIZE });
  assertEquals(nothing.status, 404);
});

Deno.test({
  name: "--mcp does not lift the bind rule",
  ...PROTOCOL,
}, async () => {
  await using command = await startServerCommand([
    "--port=0",
    "--host=0.0.0.0",
    "--mcp",
  ]);
  assertEquals(await command.exited, 2);
  assertStringIncludes(command.log, "without authentication");
});
