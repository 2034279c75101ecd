import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { SignJWT } from "jose";
import { fileURLToPath } from "node:url";
import { start } from "../../support/child.ts";
import { scratch } from "../../support/scratch.ts";
import { argumentsOf } from "../../support/command.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { CLIENTS, type TestClient } from "../../support/mcp/clients.ts";
import { withKey } from "../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  LIST_TOOLS,
  modernRequest,
  post,
  type Posting,
} from "../../support/mcp/post.ts";
import { startProxy } from "../../support/proxy.ts";
import { startServerCommand } from "../../support/server/server_command.ts";

const SECRET = "a secret of 32 characters or more";
const ISSUER = "https://id.example.com";
const ANN = "ann-key-0123456789abcdef";
const BOB = "bob-key-0123456789abcdef";
const LAB = "lab-key-0123456789abcdef";
const SMCP_API_KEYS = JSON.stringify([
  { id: "ann", key: ANN, roles: ["agent"], offices: ["north"], names: ["ann"] },
  { id: "bob", key: BOB, roles: ["agent"] },
  { id: "lab", key: LAB, roles: ["computer"], offices: ["north"] },
]);

/** A Server with keys, JWT and MCP, as an operator starts it. */
const startServer = () =>
  startServerCommand(
    ["--port=0", "--mcp", `--jwt-issuer=${ISSUER}`],
    { SMCP_API_KEYS, SMCP_JWT_SECRET: SECRET },
  );

const tokenFor = (claims: Record<string, unknown>) =>
  new SignJWT({ sub: "cleo", ...claims }).setProtectedHeader({ alg: "HS256" })
    .setIssuer(ISSUER).setExpirationTime("1h")
    .sign(new TextEncoder().encode(SECRET));

/** What opens a session. */
const opening = (headers: Record<string, string> = {}) => ({
  body: INITIALIZE,
  headers,
});

const bearer = (token: string) => opening({ authorization: `Bearer ${token}` });

Deno.test("who may not use an office over MCP is refused, and the log says who", async () => {
  await using command = await startServer();
  const [north, south] = ["north", "south"].map((office) =>
    `${command.url}/mcp/${office}`
  );
  assert(north && south);
  const foreign = await tokenFor({ role: "agent", office_id: "south" });
  const opened = await post(north, withKey(BOB, opening()));
  const inSession = {
    body: LIST_TOOLS,
    headers: { "mcp-session-id": String(opened.headers["mcp-session-id"]) },
  };
  assertEquals((await post(north, withKey(BOB, inSession))).status, 200);
  for (
    const [name, expected, posting, url = north] of [
      ["no credentials", 401, opening()],
      ["unknown key", 401, withKey("unknown-key-0123456789", opening())],
      ["unknown token", 401, bearer("unknown-token-0123456789")],
      ["wrong office", 403, withKey(ANN, opening()), south],
      ["wrong office of a token", 403, bearer(foreign)],
      ["a Computer's key", 403, withKey(LAB, opening())],
      [
        "foreign origin",
        403,
        withKey(ANN, opening({ origin: "https://evil.example" })),
      ],
      [
        "foreign site",
        403,
        withKey(ANN, opening({ "sec-fetch-site": "cross-site" })),
      ],
      ["foreign host", 403, withKey(ANN, opening({ host: "evil.example" }))],
      ["session of another", 404, withKey(ANN, inSession)],
      ["ending the session of another", 404, {
        ...withKey(ANN, inSession),
        method: "DELETE",
      }],
      // Refused by what it announces: a client that still wrote might miss the answer.
      [
        "too large",
        413,
        withKey(ANN, {
          body: "{",
          headers: { "content-length": String(9 * 2 ** 20) },
        }),
      ],
      // Refused at its last byte.
      [
        "too large, without a length",
        413,
        withKey(ANN, {
          body: "x".repeat(8 * 2 ** 20 + 1),
          headers: { "transfer-encoding": "chunked" },
        }),
      ],
    ] satisfies [string, number, Posting, string?][]
  ) {
    const { status, body } = await post(url, posting);
    assertEquals(typeof JSON.parse(body).error.message, "string", body);
    assertEquals(status, expected, name);
  }
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

Deno.test("API keys are taken from x-api-key and as a bearer, tokens as a bearer; a client without any gets the metadata of RFC 9728", async () => {
  await using command = await startServer();
  const north = `${command.url}/mcp/north`;
  const token = await tokenFor({ role: "agent", office_id: "north" });
  // The name of a key does not matter.
  for (const posting of [withKey(ANN, opening()), bearer(ANN), bearer(token)]) {
    assertEquals((await post(north, posting)).status, 200);
  }
  const request = modernRequest("tools/list");
  const { status, body } = await post(north, withKey(ANN, request));
  assertEquals([status, JSON.parse(body).result.tools], [200, []]);

  const path = "/mcp/my%20office";
  const metadata = `${command.url}/.well-known/oauth-protected-resource${path}`;
  for (
    const [posting, challenge] of [
      [opening(), `Bearer resource_metadata="${metadata}"`],
      [
        withKey("unknown", opening()),
        `Bearer error="invalid_token", resource_metadata="${metadata}"`,
      ],
    ] as const
  ) {
    const { headers } = await post(command.url + path, posting);
    assertEquals(headers["www-authenticate"], challenge);
  }
  const found = await post(metadata, { method: "GET" });
  assertEquals([found.status, JSON.parse(found.body)], [200, {
    resource: command.url + path,
    authorization_servers: [ISSUER],
    bearer_methods_supported: ["header"],
  }]);
});

Deno.test("--public-url is named by the lines of the Server and in the metadata, whatever a request's headers say", async () => {
  const address = "https://smcp.example.com/team";
  await using command = await startServerCommand([
    ...["--port=0", "--mcp", "--trust-proxy", `--public-url=${address}/`],
    `--jwt-issuer=${ISSUER}`,
  ], { SMCP_API_KEYS, SMCP_JWT_SECRET: SECRET });
  assertStringIncludes(command.line, `health ${address}/health`);
  assertStringIncludes(command.line, `, MCP ${address}/mcp/OFFICE)`);
  const path = "/.well-known/oauth-protected-resource/mcp/north";
  for (
    const headers of [
      {},
      { host: "a.example", "x-forwarded-proto": "http" },
      { host: "smcp.example.com", "x-forwarded-proto": "https" },
    ]
  ) {
    const found = await post(command.url + path, { method: "GET", headers });
    assertEquals(JSON.parse(found.body).resource, `${address}/mcp/north`);
    const refused = await post(`${command.url}/mcp/north`, opening(headers));
    assertEquals(
      refused.headers["www-authenticate"],
      `Bearer resource_metadata="${address}${path}"`,
    );
  }
});

Deno.test("without a JWT issuer there is no metadata, and without --mcp nothing at /mcp", async () => {
  await using keyed = await startServerCommand(["--port=0", "--mcp"], {
    SMCP_API_KEYS,
  });
  assertMatch(keyed.line, /, MCP http:\/\/127\.0\.0\.1:\d+\/mcp\/OFFICE\)$/);
  const refused = await post(`${keyed.url}/mcp/north`, opening());
  assertEquals(
    [refused.status, refused.headers["www-authenticate"]],
    [401, "Bearer"],
  );
  const metadata =
    `${keyed.url}/.well-known/oauth-protected-resource/mcp/north`;
  assertEquals((await post(metadata, { method: "GET" })).status, 404);
  await using plain = await startServerCommand(["--port=0"]);
  assertEquals((await post(`${plain.url}/mcp/north`, opening())).status, 404);
});

Deno.test("--mcp does not lift the bind rule", async () => {
  await using command = await startServerCommand(
    ["--port=0", "--host=0.0.0.0", "--mcp"],
  );
  assertEquals(await command.exited, 2);
  assertStringIncludes(command.log, "without authentication");
});

/** The configuration of a Computer whose tools run unasked. */
const config = () =>
  configFile({
    servers: {
      fix: fixture({}, { default_tool_meta: { auto_apply: true } }),
    },
  });

/** Calls `echo` until that succeeds: a Computer or a Server is being restarted. */
async function untilEcho(client: TestClient, text: string): Promise<void> {
  let result;
  do {
    result = await client.call("pc__echo", { text }).catch(() => undefined);
  } while (result?.content[0]?.text !== text);
}

const connect = (url: string) => CLIENTS["v2, 2026"]!({ url: new URL(url) });

Deno.test("a Computer that is killed in a call ends it, and is called again when it is back: no client reconnects", async () => {
  await using server = await startServerCommand(["--port=0", "--mcp"]);
  await using file = await config();
  await using client = await connect(`${server.url}/mcp/north`);
  await client.listening();
  {
    await using computer = runComputer(server, file.file);
    await computer.line(/MCP server fix: running/);
    await untilEcho(client, "hello");
    const slow = client.call("pc__slow");
    await client.call("pc__slow_began");
    computer.signal("SIGKILL");
    const result = await slow;
    assertEquals([result.isError, result._meta?.error_code], [true, 404]);
  }
  await using computer = runComputer(server, file.file);
  await computer.line(/MCP server fix: running/);
  await untilEcho(client, "again");
});

Deno.test("a Server that is killed is replaced by its successor: no client and no Computer is restarted", async () => {
  await using first = await startServerCommand(["--port=0", "--mcp"]);
  await using second = await startServerCommand(["--port=0", "--mcp"]);
  await using proxy = await startProxy(first.url);
  await using file = await config();
  await using computer = runComputer(proxy, file.file);
  await computer.line(/MCP server fix: running/);
  await using client = await connect(`${proxy.url}/mcp/north`);
  await untilEcho(client, "hello");
  proxy.turnTo(second.url);
  Deno.kill(first.pid, "SIGKILL");
  await first.exited;
  await untilEcho(client, "again");
});

const UP = fileURLToPath(new URL("../../../mod.ts", import.meta.url));

/** Starts `smcp up` with a Computer "pc", which keeps its key in a folder. */
const up = (file: string, state: string, ...flags: string[]) =>
  start(Deno.execPath(), [
    ...argumentsOf("computer", []).with(-1, UP),
    ...["up", "--port=0", "--name=pc", "--config", file, ...flags],
  ], { env: { XDG_STATE_HOME: state } });

Deno.test("up prints in six lines how agents and MCP clients get its tools, and they do; by --public-url too, not with --no-mcp", async () => {
  await using state = await scratch();
  await using file = await config();
  {
    await using served = up(file.file, state.path, "--office=my office");
    const [, url = ""] = await served.line(
      /^Claude Code: claude mcp add --transport http office '?(http:\S+?)'?$/,
    );
    assertMatch(url, /\/mcp\/my%20office$/);
    await served.line(/MCP server fix: running/);
    const banner = served.lines.findIndex((line) =>
      /^connected to /.test(line)
    );
    assertEquals(banner, 6, served.lines.join("\n"));
    assertMatch(
      served.lines[0] ?? "",
      /^Serving A2C-SMCP 0\.1 to 0\.4 on http/,
    );
    await served.line(/joined office/);
    const { body } = await post(url, modernRequest("tools/list"));
    assertEquals(body.includes('"pc__echo"'), true);
  }
  {
    const address = "https://smcp.example.com";
    await using served = up(file.file, state.path, `--public-url=${address}`);
    const [, url = ""] = await served.line(/ tools --url (\S+) /);
    await served.line(
      /add --transport http office https:\/\/smcp\.example\.com\/mcp\/home --header "Authorization: Bearer \$SMCP_API_KEY"$/,
    );
    const [, key = ""] = await served.line(/^Key: (\S+)$/);
    await served.line(/^Console: https:\/\/smcp\.example\.com\/console#/);
    await served.line(/MCP server fix: running/);
    await served.line(/joined office/);
    const named = modernRequest("tools/list");
    const asked = (host: string) =>
      post(`${url}/mcp/home`, {
        ...named,
        headers: { ...named.headers, host, authorization: `Bearer ${key}` },
      });
    assertEquals((await asked("smcp.example.com")).status, 200);
    assertEquals((await asked("evil.example")).status, 403);
  }
  await using plain = up(file.file, state.path, "--no-mcp");
  const [url = ""] = await plain.line(/http:\/\/127\.0\.0\.1:\d+/);
  await plain.line(/joined office/);
  assertEquals((await post(`${url}/mcp/home`)).status, 404);
  assertEquals(plain.lines.some((line) => line.includes("claude")), false);
});
