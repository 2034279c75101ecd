import { configure, getTextFormatter, reset } from "@logtape/logtape";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { ToolHost } from "../../../../computer/mod.ts";
import { resultMeta } from "../../../../protocol/mod.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import {
  HI,
  lost,
  running,
  settings,
  startGuarded,
  TYPES,
} from "../../../support/computer/guarded.ts";
import { AT_ONCE, ONCE } from "../../../support/computer/host.ts";
import { visit } from "../../../support/computer/oauth.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { startHttpFixture } from "../../../support/fixtures/mcp_http.ts";
import type { Control } from "../../../support/fixtures/oauth_server.ts";
import { startOffice } from "../../../support/office.ts";
import vectors from "../../../vectors/authorization.json" with { type: "json" };

for (const type of TYPES) {
  Deno.test(`upstream refusals over ${type} have the codes of the spec, at the start and in a call, which is not repeated`, async () => {
    const rows: [status: number, code: number, action?: string][] = [
      [401, 4006, "configure"],
      [403, 4007, "grant"],
      [500, 4003],
    ];
    for (const [status, code, action] of rows) {
      await using server = await startHttpFixture(type);
      const Authorization = "Bearer s3cret";
      await using pc = await startComputer({
        a: settings(type, `${server.url}?key=s3cret`, {
          headers: { Authorization },
        }),
      }, { restart: AT_ONCE });
      const { computer } = pc;
      let calls = 0;
      computer.on("callStarted", () => calls++);
      const refused = async () => {
        const { result, meta, text } = await pc.call("echo", HI);
        const hint = meta.auth_hint as Record<string, string> | undefined;
        assertEquals(
          [result.isError, meta.error_code, meta.mcp_server, hint?.action],
          [true, code, action && "a", action],
        );
        assertStringIncludes(text, hint?.message ?? "");
        assertEquals(/s3cret|http:/.exec(JSON.stringify(result)), null);
      };
      server.refuse(status);
      await refused(); // in the call itself
      // Any other answer is a sign of life.
      if (action !== undefined) await lost(computer);
      await refused(); // by the next start, which may still be running
      await computer.stopServer("a");
      await computer.startServer("a");
      assertEquals(computer.status().servers[0]?.state, "failed");
      await refused();
      server.refuse(undefined);
      await running(computer);
      assertEquals((await pc.call("echo", HI)).text, "hi");
      assertEquals(calls, 4);
    }
  });

  Deno.test(`the user authorizes the Computer for an MCP server over ${type}; earlier calls are 4006`, async () => {
    await using guarded = await startGuarded({}, type);
    const { directory } = guarded;
    let registered = 0;
    {
      // Nothing but the authorization starts it again.
      await using pc = await guarded.begin(ONCE);
      const { meta, result } = await pc.call("echo", HI);
      assertEquals(meta, {
        error_code: 4006,
        mcp_server: "a",
        auth_hint: {
          action: "authorize",
          message:
            "The Computer is not authorized yet; authorize it in the browser of the Computer, which shows the address",
        },
      });
      assertEquals(JSON.stringify(result).includes("http:"), false);
      const { server, url } = await guarded.request();
      assertEquals(server, "a");
      // A request without the state is not a redirect of the authorization.
      const redirect = new URL(url).searchParams.get("redirect_uri");
      assertStringIncludes(
        await visit(`${redirect}?code=stolen&state=guessed`),
        "not the answer",
      );
      assertEquals((await pc.call("echo", HI)).meta.error_code, 4006);
      assertStringIncludes(await visit(url), "is authorized");
      await running(pc.computer);
      assertEquals((await pc.call("echo", HI)).text, "hi");
      ({ clients: registered } = await guarded.control({}));
    }
    const [file] = [...Deno.readDirSync(directory)];
    const modes = [directory, join(directory, file?.name ?? "")]
      .map(async (path) => (await stat(path)).mode & 0o777);
    assertEquals(await Promise.all(modes), [0o700, 0o600]);
    // A restart of the Computer does not ask again.
    await using pc = await guarded.begin();
    assertEquals((await pc.call("echo", HI)).text, "hi");
    assertEquals(guarded.asked, []);
    assertEquals((await guarded.control({})).clients, registered);
  });
}

Deno.test("an authorization server that redirects to anything but a web page is refused", async () => {
  await using guarded = await startGuarded({
    metadata: { authorization_endpoint: "file:///usr/bin/program" },
  });
  await using pc = await guarded.begin();
  const { meta } = await pc.call("echo", HI);
  assertEquals([meta.error_code, Object(meta.auth_hint).action], [
    4006,
    "configure",
  ]);
  assertEquals(guarded.asked, []);
});

Deno.test("an expired token is renewed once for all calls; a revoked one is 4007, and the user is asked again", async () => {
  await using guarded = await startGuarded();
  await using pc = await guarded.begin();
  const { computer } = pc;
  const { control } = guarded;
  await visit((await guarded.request()).url);
  await running(computer);

  await control({ forget: "access" });
  const results = await Promise.all(
    Array.from({ length: 5 }, () => pc.call("echo", HI)),
  );
  assertEquals(results.map(({ text }) => text), Array(5).fill("hi"));
  assertEquals((await control({})).refreshes, 1);

  const rows: [Control, number, Control][] = [
    [{ forget: "access", broken: true }, 4003, { broken: false }],
    [{ narrow: true }, 4007, { narrow: false }],
  ];
  for (const [change, code, back] of rows) {
    await control(change);
    assertEquals((await pc.call("echo", HI)).meta.error_code, code);
    await lost(computer);
    await control(back);
    await running(computer);
    assertEquals((await pc.call("echo", HI)).text, "hi");
  }
  assertEquals(guarded.asked, []);

  await control({ forget: "all" });
  const { meta } = await pc.call("echo", HI);
  assertEquals([meta.error_code, Object(meta.auth_hint).action], [
    4007,
    "authorize",
  ]);
  await lost(computer);
  await visit((await guarded.request()).url);
  await running(computer);
  assertEquals((await pc.call("echo", HI)).text, "hi");
});

Deno.test("a user who refuses is not asked again before the server is started manually", async () => {
  await using guarded = await startGuarded({ bare: true });
  {
    await using pc = await guarded.begin();
    await visit((await guarded.request()).url);
    await running(pc.computer);
  }
  await guarded.control({ deny: true, forget: "access" });
  await using pc = await guarded.begin();
  const { computer } = pc;
  assertStringIncludes(
    await visit((await guarded.request()).url),
    "was refused",
  );
  for (let attempt = 0; attempt < 2; attempt++) {
    await new Promise<void>((resolve) => {
      const off = computer.on("serverState", ({ state }) => {
        if (state !== "failed") return;
        off();
        resolve();
      });
    });
  }
  assertEquals((await pc.call("echo", HI)).meta.error_code, 4007);
  assertEquals(guarded.asked, []);
  await guarded.control({ deny: false });
  await computer.startServer("a");
  await visit((await guarded.request()).url);
  await running(computer);
});

Deno.test("no token, code, state or client id of an authorization is in any log, event or ack", async () => {
  await using guarded = await startGuarded();
  const heard: string[] = [];
  const hear = (value: unknown) => void heard.push(JSON.stringify(value));
  const format = getTextFormatter();
  await configure({
    reset: true,
    sinks: { memory: (record) => void heard.push(format(record)) },
    loggers: [{ category: [], lowestLevel: "trace", sinks: ["memory"] }],
  });
  try {
    const secrets: string[] = [];
    {
      await using pc = await guarded.begin();
      const { computer, office: { agent } } = pc;
      computer.on("serverState", hear);
      const hearAll = async () => {
        hear(await pc.call("echo", HI));
        hear(await agent.getConfig("pc"));
        hear(await agent.getTools("pc"));
        hear(computer.status());
      };
      await hearAll();
      const { searchParams } = new URL((await guarded.request()).url);
      for (const name of ["state", "client_id", "code_challenge"]) {
        secrets.push(searchParams.get(name) ?? "");
      }
      await visit(`${guarded.origin}/authorize?${searchParams}`);
      await running(computer);
      await hearAll();
      for (const forget of ["access", "all"] as const) {
        await guarded.control({ forget });
        await hearAll();
      }
    }
    for (const { name } of Deno.readDirSync(guarded.directory)) {
      const text = await Deno.readTextFile(join(guarded.directory, name));
      secrets.push(
        ...text.match(/(access|refresh|client)-[0-9a-f-]{36}/g) ?? [],
      );
    }
    assert(secrets.length >= 4 && heard.length > 20);
    const all = heard.join("\n");
    for (const secret of secrets) assertEquals(all.includes(secret), false);
    assertEquals(/(access|refresh|client|code)-[0-9a-f]{8}-/.test(all), false);
  } finally {
    await reset();
  }
});

Deno.test("smcp-computer run shows the page on its terminal, and continues after the redirect", async () => {
  await using guarded = await startGuarded();
  await using office = await startOffice();
  await using config = await configFile({ servers: { a: guarded.config } });
  await using computer = runComputer(office, config.file, {
    flags: ["--oauth-dir", guarded.directory],
  });
  await computer.line(/^MCP server a: authorize this Computer in a browser/);
  const [, url = ""] = await computer.line(/^ {2}(http\S+)$/);
  await visit(url);
  await computer.line(/^MCP server a: running/);
  await computer.line(/^joined/);
  const { content } = await office.agent.callTool("pc", "echo", HI);
  assertEquals(content[0]?.text, "hi");
});

Deno.test("protocol §6: refusals of a call are about authorization as in the vectors: 401, 403, and 400 with WWW-Authenticate", async () => {
  const challenge = 'Bearer error="invalid_request"';
  const rows: [string, number, string | null | undefined, number][] = [
    ...vectors.vectors.map(({ transport, upstream, expected }) =>
      [
        transport,
        upstream.status,
        upstream.www_authenticate,
        expected.error_code,
      ] satisfies typeof rows[number]
    ),
    ["streamable", 400, challenge, 4006],
    ...[400, 500, 502, 503].map((status) =>
      ["streamable", status, null, 4003] satisfies typeof rows[number]
    ),
  ];
  for (const [transport, status, www_authenticate, code] of rows) {
    const type = transport.startsWith("sse") ? "sse" : "streamable";
    await using server = await startHttpFixture(type);
    await using host = new ToolHost({
      servers: {
        "my server": {
          ...settings(type, server.url),
          default_tool_meta: { auto_apply: true },
        },
      },
    });
    await host.start();
    server.refuse(status, {
      ...(www_authenticate && { "www-authenticate": www_authenticate }),
    });
    // The timeout is far above that of the test, so a call that hangs is seen.
    const result = await host.callTool("echo", {}, { timeoutMs: 3_600_000 });
    const { error_code, mcp_server, auth_hint } = resultMeta(result);
    const isAbout = code !== 4003;
    assertEquals(
      [error_code, result.isError, mcp_server, typeof auth_hint],
      [
        code,
        true,
        ...isAbout ? ["my server", "object"] : [undefined, "undefined"],
      ],
      `${type} ${status}`,
    );
    const isQuoted = status !== 401 && www_authenticate == null &&
      !(transport === "streamable" && status === 404);
    assertEquals(
      JSON.stringify(result).includes("refused by the fixture"),
      isQuoted,
      `${type} ${status}`,
    );
  }
});
