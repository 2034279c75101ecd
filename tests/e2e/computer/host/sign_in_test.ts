import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { configure, getTextFormatter, reset } from "@logtape/logtape";
import { createServer } from "node:net";
import type { ServerSettings } from "../../../../computer/mod.ts";
import type { OAuthClientParameters } from "../../../../protocol/mod.ts";
import { runMain, startMain } from "../../../support/command.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import {
  HI,
  running,
  settings,
  startGuarded,
} from "../../../support/computer/guarded.ts";
import { visit } from "../../../support/computer/oauth.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { startHttpFixture } from "../../../support/fixtures/mcp_http.ts";
import type { Control } from "../../../support/fixtures/oauth_server.ts";
import { startOffice } from "../../../support/office.ts";

type Guarded = Awaited<ReturnType<typeof startGuarded>>;

/** Signs in with a Computer that is gone then. */
async function signInOnce(guarded: Guarded): Promise<void> {
  await using pc = await guarded.begin();
  await visit((await guarded.request()).url);
  await running(pc.computer);
}

/** Lets all tokens expire, and holds the first renewal until all calls are in flight. */
async function renewAtOnce<T>(
  { control }: Guarded,
  calls: readonly (() => Promise<T>)[],
): Promise<T[]> {
  await control({ forget: "access", hold: true });
  const { held } = await control({});
  const ends = calls.map((call) => call());
  while ((await control({})).held === held);
  await control({ hold: false });
  return await Promise.all(ends);
}

Deno.test("Computers that share a directory renew at once: all work, and no refresh token is used twice", async () => {
  await using guarded = await startGuarded();
  await signInOnce(guarded);
  await using one = await guarded.begin();
  await using two = await guarded.begin();
  for (let round = 0; round < 3; round++) {
    const ends = await renewAtOnce(guarded, [
      () => one.call("echo", HI),
      () => two.call("echo", HI),
      () => two.call("echo", HI),
    ]);
    assertEquals(ends.map(({ text }) => text), ["hi", "hi", "hi"]);
  }
  const { reuses, refreshes } = await guarded.control({});
  assertEquals([reuses, refreshes], [0, 3]);
  assertEquals(guarded.asked, []);
});

Deno.test("processes that share --oauth-dir renew at once: both work, also two MCP servers of one resource in each", async () => {
  await using guarded = await startGuarded();
  await signInOnce(guarded);
  await using office = await startOffice();
  const servers = {
    a: guarded.config,
    b: { ...guarded.config, tool_prefix: "b_" },
  };
  await using config = await configFile({ servers });
  const flags = ["--oauth-dir", guarded.directory];
  const names = ["one", "two"];
  const started = names.map((name) =>
    runComputer(office, config.file, { name, flags })
  );
  await using _one = started[0];
  await using _two = started[1];
  await Promise.all(
    started.flatMap((computer) =>
      [/^joined/, /^MCP server a: running/, /^MCP server b: running/]
        .map((line) => computer.line(line))
    ),
  );
  const calls = names.flatMap((name) =>
    ["echo", "b_echo"].map((tool) => async () => {
      const { content } = await office.agent.callTool(name, tool, HI);
      return content[0]?.text;
    })
  );
  assertEquals(await renewAtOnce(guarded, calls), Array(4).fill("hi"));
  assertEquals((await guarded.control({})).reuses, 0);
  assert((await guarded.saved()).tokens);
});

/** Takes the port of the stored registration. */
async function takeCallback(guarded: Guarded): Promise<AsyncDisposable> {
  const { client } = await guarded.saved();
  const [redirect] = client?.redirect_uris as string[];
  const server = createServer();
  await new Promise<void>((resolve) =>
    server.listen(Number(new URL(redirect!).port), "127.0.0.1", resolve)
  );
  return {
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

Deno.test("a token is renewed with the stored registration while the port of the callback is taken", async () => {
  await using guarded = await startGuarded();
  await signInOnce(guarded);
  const { client } = await guarded.saved();
  await using _ = await takeCallback(guarded);
  await guarded.control({ forget: "access" });
  await using pc = await guarded.begin();
  assertEquals((await pc.call("echo", HI)).text, "hi");
  assertEquals(guarded.asked, []);
  assertEquals((await guarded.control({})).clients, 1);
  assertEquals((await guarded.saved()).client, client);
});

Deno.test("a sign-in while the port of the callback is taken registers again, at another port", async () => {
  await using guarded = await startGuarded();
  await signInOnce(guarded);
  const { client } = await guarded.saved();
  await using _ = await takeCallback(guarded);
  await guarded.control({ forget: "all" });
  await using pc = await guarded.begin();
  await visit((await guarded.request()).url);
  await running(pc.computer);
  assertEquals((await pc.call("echo", HI)).text, "hi");
  assertEquals((await guarded.control({})).clients, 2);
  assert((await guarded.saved()).client?.client_id !== client?.client_id);
});

Deno.test("a sign-in that nobody finishes costs no token, even if it registered again", async () => {
  await using guarded = await startGuarded();
  await signInOnce(guarded);
  const before = await guarded.saved();
  await using _ = await takeCallback(guarded);
  await using pc = await guarded.begin();
  await guarded.control({ needs: "admin" });
  const stop = new AbortController();
  const call = pc.call("echo", HI, { signal: stop.signal }).catch(() => {});
  await guarded.request();
  stop.abort();
  await call;
  assertEquals((await guarded.control({})).clients, 2);
  assertEquals(await guarded.saved(), before);
  await guarded.control({ needs: "tools", forget: "access" });
  assertEquals((await pc.call("echo", HI)).text, "hi");
});

/** Why a sign-in cannot work: what Agents and the user are told. */
const IMPOSSIBLE: readonly {
  readonly name: string;
  readonly control?: (origin: string) => Control;
  readonly oauth?: OAuthClientParameters;
  readonly hint: string;
  readonly values?: RegExp;
}[] = [
  {
    name: "no registration endpoint",
    control: () => ({ metadata: { registration_endpoint: null } }),
    hint:
      'Its authorization server registers no clients (it has no "registration_endpoint"); register the Computer there, and set "client_id" in "oauth" of its server_parameters',
    values: /127\.0\.0\.1/,
  },
  {
    name: "a registration that is refused",
    control: (origin) => ({
      metadata: { registration_endpoint: `${origin}/nowhere` },
    }),
    hint:
      "Its authorization server refused to register the Computer (HTTP 404)",
  },
  {
    name: "another resource",
    control: () => ({ resource: "http://127.0.0.1:9/other" }),
    hint:
      'Its metadata are of another "resource" than its "url"; set "url" to that resource',
    values:
      /http:\/\/127\.0\.0\.1:9\/other, not http:\/\/127\.0\.0\.1:\d+\/mcp/,
  },
  {
    name: "metadata without a field",
    control: () => ({ metadata: { token_endpoint: null } }),
    hint:
      'The metadata of its authorization server are invalid ("token_endpoint")',
  },
  {
    name: "no PKCE",
    control: () => ({
      metadata: { code_challenge_methods_supported: ["plain"] },
    }),
    hint: '"code_challenge_methods_supported"',
  },
  {
    name: "a page that is none",
    control: () => ({
      metadata: { authorization_endpoint: "file:///bin/sh" },
    }),
    hint:
      'The "authorization_endpoint" of its authorization server is not a web page (file:)',
  },
  {
    name: "a document that is not taken",
    oauth: { client_id: "https://example.com/computer.json" },
    hint: 'it has no "client_id_metadata_document_supported"',
  },
];

for (const { name, control, oauth, hint, values = /./ } of IMPOSSIBLE) {
  Deno.test(`a sign-in that cannot work says why: ${name}`, async () => {
    await using guarded = await startGuarded({}, "streamable", oauth);
    await guarded.control(control?.(guarded.origin) ?? {});
    const lines: string[] = [];
    const format = getTextFormatter();
    await configure({
      reset: true,
      sinks: { memory: (record) => void lines.push(format(record)) },
      loggers: [
        { category: ["a2c-smcp"], lowestLevel: "warning", sinks: ["memory"] },
        { category: ["logtape", "meta"], lowestLevel: "error" },
      ],
    });
    await using _log = { [Symbol.asyncDispose]: () => reset() };
    await using pc = await guarded.begin();
    const { meta } = await pc.call("echo", HI);
    const { action, message } = Object(meta.auth_hint);
    assertEquals([meta.error_code, action], [4006, "configure"]);
    assertStringIncludes(message, hint);
    assertStringIncludes(lines.join("\n"), hint.split(";")[0] ?? "");
    assertEquals(/https?:/.exec(message), null, "no URL for Agents");
    assert(values.test(pc.computer.status().servers[0]?.error ?? ""));
    assertEquals(guarded.asked, []);
  });
}

Deno.test("an MCP server without any OAuth is still said to want credentials in its headers", async () => {
  await using server = await startHttpFixture("streamable");
  server.refuse(401);
  await using guarded = await startGuarded();
  await using pc = await guarded.begin(
    undefined,
    settings("streamable", server.url),
  );
  const { meta } = await pc.call("echo", HI);
  assertStringIncludes(Object(meta.auth_hint).message, '"headers"');
});

Deno.test("a client of the configuration signs in without a registration; Agents never see it, and a wrong secret costs no token", async () => {
  const client = {
    client_id: "client-by-hand",
    client_secret: "s3cret-of-the-client",
  };
  await using guarded = await startGuarded(
    { client, metadata: { registration_endpoint: null } },
    "streamable",
    { ...client, scopes: ["read"] },
  );
  {
    await using pc = await guarded.begin();
    await visit((await guarded.request()).url);
    await running(pc.computer);
    assertEquals((await pc.call("echo", HI)).text, "hi");
    const { clients, scopes } = await guarded.control({});
    assertEquals([clients, scopes], [1, "read"]);
    const seen = JSON.stringify(await pc.office.agent.getConfig("pc"));
    assertEquals(/s3cret|by-hand|oauth/.exec(seen), null);
  }
  assertEquals(JSON.stringify(await guarded.saved()).includes("s3cret"), false);

  const wrong = structuredClone(guarded.config) as ServerSettings & {
    server_parameters: { oauth: OAuthClientParameters };
  };
  wrong.server_parameters.oauth.client_secret = "wrong-secret";
  await guarded.control({ forget: "access" });
  {
    await using pc = await guarded.begin(undefined, wrong);
    const { meta } = await pc.call("echo", HI);
    assertStringIncludes(
      Object(meta.auth_hint).message,
      'refuses the client of its "oauth" (invalid_client)',
    );
  }
  await using pc = await guarded.begin();
  assertEquals((await pc.call("echo", HI)).text, "hi");
  assertEquals(guarded.asked, []);
});

Deno.test("the address of a client-id metadata document is the client where the server takes it", async () => {
  const client = { client_id: "https://example.com/computer.json" };
  const metadata = {
    registration_endpoint: null,
    client_id_metadata_document_supported: true,
  };
  await using guarded = await startGuarded(
    { client, metadata },
    "streamable",
    client,
  );
  await signInOnce(guarded);
  await guarded.control({ forget: "access" });
  await using pc = await guarded.begin();
  assertEquals((await pc.call("echo", HI)).text, "hi");
  const { clients, refreshes } = await guarded.control({});
  assertEquals([clients, refreshes], [1, 1]);
});

Deno.test("the port of callback_port is used, and named where it is taken", async () => {
  const server = createServer();
  await new Promise<void>((r) => server.listen(0, "127.0.0.1", r));
  const { port: callback_port } = server.address() as { port: number };
  await using guarded = await startGuarded({}, "streamable", { callback_port });
  await using pc = await guarded.begin();
  const { meta } = await pc.call("echo", HI);
  assertStringIncludes(
    Object(meta.auth_hint).message,
    `The port ${callback_port} of "callback_port"`,
  );
  await new Promise<void>((r) => server.close(() => r()));
  const { url } = await guarded.request();
  assertEquals(
    new URL(url).searchParams.get("redirect_uri"),
    `http://localhost:${callback_port}/callback`,
  );
});

Deno.test("403 insufficient_scope asks for the union of scopes, and the call is repeated once", async () => {
  await using guarded = await startGuarded();
  await using pc = await guarded.begin();
  await visit((await guarded.request()).url);
  await running(pc.computer);
  await guarded.control({ needs: "admin" });
  const call = pc.call("echo", HI);
  await visit((await guarded.request()).url);
  assertEquals((await call).text, "hi");
  assertEquals((await guarded.control({})).scopes, "tools admin");
  assertEquals((await guarded.saved()).tokens?.scope, "tools admin");

  // Granted, and refused all the same: no question, no loop.
  await guarded.control({ stubborn: true });
  const { meta } = await pc.call("echo", HI);
  assertEquals([meta.error_code, Object(meta.auth_hint).action], [
    4007,
    "grant",
  ]);
  assertEquals(guarded.asked, []);
});

Deno.test("a server of 2026-07-28 is signed in to, and asks for more scopes as any other", async () => {
  await using guarded = await startGuarded();
  const url = `${guarded.origin}/mcp/modern`;
  await using pc = await guarded.begin(undefined, settings("streamable", url));
  await visit((await guarded.request()).url);
  await running(pc.computer);
  await guarded.control({ needs: "admin" });
  const call = pc.call("echo", HI);
  await visit((await guarded.request()).url);
  assertEquals((await call).text, "echo hi");
  assertEquals((await guarded.control({})).scopes, "tools admin");
});

Deno.test("a call whose token has expired, and lacks a scope, renews and asks for more", async () => {
  await using guarded = await startGuarded();
  await using pc = await guarded.begin();
  await visit((await guarded.request()).url);
  await running(pc.computer);
  await guarded.control({ forget: "access", needs: "admin" });
  const call = pc.call("echo", HI);
  await visit((await guarded.request()).url);
  assertEquals((await call).text, "hi");
  assertEquals((await guarded.control({})).refreshes, 1);
});

Deno.test("whoever refuses more scopes is not asked again for them, and keeps what was granted", async () => {
  await using guarded = await startGuarded();
  await using pc = await guarded.begin();
  await visit((await guarded.request()).url);
  await running(pc.computer);
  await guarded.control({ needs: "admin", deny: true });
  const call = pc.call("echo", HI);
  await visit((await guarded.request()).url);
  const { meta } = await call;
  assertEquals([meta.error_code, Object(meta.auth_hint).action], [
    4007,
    "authorize",
  ]);
  assertEquals((await pc.call("echo", HI)).meta.error_code, 4007);
  await guarded.control({ needs: "tools" });
  await running(pc.computer);
  assertEquals((await pc.call("echo", HI)).text, "hi");
  assertEquals(guarded.asked, []);
  await guarded.control({ needs: "admin", deny: false });
  assertEquals((await pc.call("echo", HI)).meta.error_code, 4007);
  await pc.computer.stopServer("a");
  await pc.computer.startServer("a");
  const again = pc.call("echo", HI);
  await visit((await guarded.request()).url);
  assertEquals((await again).text, "hi");
});

Deno.test("smcp-computer sign-in waits for the browser, and sign-out revokes and removes what it left", async () => {
  await using guarded = await startGuarded();
  await using config = await configFile({ servers: { a: guarded.config } });
  const flags = ["--config", config.file, "--oauth-dir", guarded.directory];
  {
    await using child = startMain("computer", ["sign-in", "a", ...flags]);
    const [, url = ""] = await child.line(/^ {2}(http\S+)$/);
    await visit(url);
    await child.line(/^a: signed in$/);
    assertEquals((await child.status).code, 0);
  }
  const again = await runMain("computer", ["sign-in", "a", ...flags]);
  assertStringIncludes(again.stdout, "a: signed in already");
  {
    await using pc = await guarded.begin();
    assertEquals((await pc.call("echo", HI)).text, "hi");
  }
  const out = await runMain("computer", ["sign-out", "a", ...flags]);
  assertStringIncludes(out.stdout, "a: signed out");
  assertStringIncludes(out.stdout, "revoked the tokens");
  assertEquals((await guarded.control({})).revoked, 2);
  assertEquals([...Deno.readDirSync(guarded.directory)], []);
  const twice = await runMain("computer", ["sign-out", "a", ...flags]);
  assertStringIncludes(twice.stdout, "a: was not signed in");
});

Deno.test("sign-in and sign-out name what is wrong with their MCP server", async () => {
  const url = "http://127.0.0.1:9/mcp";
  await using config = await configFile({
    servers: {
      tracker: settings("streamable", url),
      program: { type: "stdio", server_parameters: { command: "true" } },
      keyed: settings("streamable", url, {
        headers: { authorization: "Bearer x" },
      }),
    },
  });
  const rows: [string, string][] = [
    ["trakcer", 'did you mean "tracker"?'],
    ["nothing", 'it has "tracker", "program", "keyed"'],
    ["program", "only MCP servers over HTTP have a sign-in"],
    ["keyed", 'has the header "authorization"'],
  ];
  for (const command of ["sign-in", "sign-out"]) {
    for (const [name, text] of rows) {
      const end = await runMain("computer", [
        command,
        name,
        "--config",
        config.file,
      ]);
      assertEquals(end.code, 2);
      assertStringIncludes(end.stderr, text);
    }
  }
});
