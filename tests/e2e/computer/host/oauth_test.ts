import { configure, getTextFormatter, reset } from "@logtape/logtape";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type {
  AuthorizationRequest,
  ServerSettings,
  SmcpComputer,
  SmcpComputerOptions,
} from "../../../../computer/mod.ts";
import { resultMeta } from "../../../../protocol/mod.ts";
import {
  type ComputerOffice,
  startComputer,
} from "../../../support/computer/computer.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { startHttpFixture } from "../../../support/fixtures/mcp_http.ts";
import {
  type OAuthFixture,
  startOAuth,
  visit,
} from "../../../support/computer/oauth.ts";
import { startOffice } from "../../../support/office.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";

const TYPES = ["streamable", "sse"] as const;

/** Lists the tools in the configuration, so that they are known before the first start. */
const settings = (
  type: typeof TYPES[number],
  url: string,
  headers: Record<string, string> = {},
): ServerSettings => ({
  type,
  server_parameters: { url, headers },
  tool_meta: { echo: { auto_apply: true }, slow: { auto_apply: true } },
});

const protectedServer = (
  { origin }: OAuthFixture,
  type: typeof TYPES[number] = "streamable",
) => settings(type, `${origin}/${type === "sse" ? "sse" : "mcp"}`);

async function scratch() {
  const directory = await Deno.makeTempDir();
  return {
    oauth: join(directory, "state", "oauth"),
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}

/** A user whose answers the test controls. */
function person() {
  const asked: AuthorizationRequest[] = [];
  const waiting: ((request: AuthorizationRequest) => void)[] = [];
  return {
    authorize: (request: AuthorizationRequest) => {
      const next = waiting.shift();
      if (next) next(request);
      else asked.push(request);
    },
    /** Resolves with the next request. */
    request: () => {
      const first = asked.shift();
      return first ? Promise.resolve(first) : new Promise<AuthorizationRequest>(
        (resolve) => waiting.push(resolve),
      );
    },
    /** Requests that were not taken yet. */
    asked,
  };
}

/** Restarts at once, any number of times. */
const AT_ONCE = { minDelayMs: 1, maxDelayMs: 20, healthyMs: 0 };

const begin = (
  server: ServerSettings,
  more: Partial<SmcpComputerOptions> = {},
) => startComputer({ a: server }, { restart: AT_ONCE, ...more });

/** Resolves once the server runs, or no longer runs. */
function settled(computer: SmcpComputer, runs: boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () =>
      (computer.status().servers[0]?.state === "running") === runs && resolve();
    computer.on("serverState", check);
    check();
  });
}
const running = (computer: SmcpComputer) => settled(computer, true);
const lost = (computer: SmcpComputer) => settled(computer, false);

async function call(pc: ComputerOffice, tool = "echo") {
  const result = await pc.office.agent.callTool("pc", tool, { text: "hi" });
  return {
    text: result.content[0]?.text ?? "",
    meta: resultMeta(result),
    result,
  };
}

Deno.test({
  name: "an Agent does not repeat a call that was answered 4006 or 4007",
  timeout: 120_000,
}, async () => {
  await using server = await startHttpFixture("streamable");
  await using pc = await begin(settings("streamable", server.url));
  let calls = 0;
  pc.computer.on("callStarted", () => calls++);
  for (const [status, code] of [[401, 4006], [403, 4007]] as const) {
    server.refuse(status);
    assertEquals((await call(pc)).meta.error_code, code);
    await lost(pc.computer);
    server.refuse(undefined);
    await running(pc.computer);
  }
  // It would succeed now; if it had been repeated, this would not be the third call.
  await call(pc);
  assertEquals(calls, 3);
});

for (const type of TYPES) {
  Deno.test({
    name:
      `upstream refusals over ${type} have the codes of the spec, at the start and in a call`,
    timeout: 120_000,
  }, async (t) => {
    const rows: [status: number, code: number, action?: string][] = [
      [401, 4006, "configure"],
      [403, 4007, "grant"],
      [500, 4003],
    ];
    for (const [status, code, action] of rows) {
      await t.step(`HTTP ${status}: ${code}`, async () => {
        await using server = await startHttpFixture(type);
        await using pc = await begin(
          settings(type, `${server.url}?key=s3cret`, {
            Authorization: "Bearer s3cret",
          }),
        );
        const refused = async () => {
          const { result, meta, text } = await call(pc);
          assertEquals(result.isError, true);
          assertEquals(meta.error_code, code);
          assertEquals(meta.mcp_server, action && "a");
          const hint = meta.auth_hint as Record<string, string> | undefined;
          assertEquals(hint?.action, action);
          if (hint) assertStringIncludes(text, hint.message ?? "");
          assertEquals(JSON.stringify(result).includes("s3cret"), false);
          assertEquals(JSON.stringify(result).includes("http:"), false);
        };
        server.refuse(status);
        await refused(); // in the call itself
        await lost(pc.computer);
        await refused(); // by the next start, which may still be running
        await pc.computer.stopServer("a");
        await pc.computer.startServer("a");
        assertEquals(pc.computer.status().servers[0]?.state, "failed");
        await refused();
        server.refuse(undefined);
        await running(pc.computer);
        assertEquals((await call(pc)).text, "hi");
      });
    }
  });

  Deno.test({
    name:
      `the user authorizes the Computer for an MCP server over ${type}; earlier calls are 4006`,
    timeout: 120_000,
  }, async () => {
    await using server = await startOAuth();
    await using files = await scratch();
    const { authorize, request, asked } = person();
    const oauth = { directory: files.oauth, authorize };
    let registered = 0;
    {
      await using pc = await begin(protectedServer(server, type), { oauth });
      const { meta, result } = await call(pc);
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
      const { server: name, url } = await request();
      assertEquals(name, "a");
      // A request without the state is not a redirect of the authorization.
      const redirect = new URL(url).searchParams.get("redirect_uri");
      assertStringIncludes(
        await visit(`${redirect}?code=stolen&state=guessed`),
        "not the answer",
      );
      assertEquals((await call(pc)).meta.error_code, 4006);
      assertStringIncludes(await visit(url), "is authorized");
      await running(pc.computer);
      assertEquals((await call(pc)).text, "hi");
      ({ clients: registered } = await server.control({}));
    }
    const [file] = [...Deno.readDirSync(files.oauth)];
    const path = join(files.oauth, file?.name ?? "");
    assertEquals((await stat(path)).mode & 0o777, 0o600);
    assertEquals((await stat(files.oauth)).mode & 0o777, 0o700);
    // A restart of the Computer does not ask again.
    await using pc = await begin(protectedServer(server, type), { oauth });
    assertEquals((await call(pc)).text, "hi");
    assertEquals(asked, []);
    assertEquals((await server.control({})).clients, registered);
  });
}

Deno.test({
  name:
    "an authorization server that redirects to anything but a web page is refused",
  timeout: 120_000,
}, async () => {
  await using server = await startOAuth();
  await using files = await scratch();
  const { authorize, asked } = person();
  await server.control({ page: "file:///usr/bin/program" });
  await using pc = await begin(protectedServer(server), {
    oauth: { directory: files.oauth, authorize },
  });
  const { meta } = await call(pc);
  assertEquals(meta.error_code, 4006);
  assertEquals(
    (meta.auth_hint as Record<string, unknown>).action,
    "configure",
  );
  assertEquals(asked, []);
});

Deno.test({
  name:
    "an expired token is renewed once for all calls; a revoked one is 4007, and the user is asked again",
  timeout: 120_000,
}, async () => {
  await using server = await startOAuth();
  await using files = await scratch();
  const { authorize, request, asked } = person();
  await using pc = await begin(protectedServer(server), {
    oauth: { directory: files.oauth, authorize },
  });
  await visit((await request()).url);
  await running(pc.computer);

  await server.control({ forget: "access" });
  const results = await Promise.all([1, 2, 3, 4, 5].map(() => call(pc)));
  assertEquals(results.map(({ text }) => text), ["hi", "hi", "hi", "hi", "hi"]);
  assertEquals((await server.control({})).refreshes, 1);

  await server.control({ forget: "access", broken: true });
  assertEquals((await call(pc)).meta.error_code, 4003);
  await lost(pc.computer);
  await server.control({ broken: false });
  await running(pc.computer);
  assertEquals((await call(pc)).text, "hi");
  assertEquals(asked, []);

  await server.control({ narrow: true });
  assertEquals((await call(pc)).meta.error_code, 4007);
  await lost(pc.computer);
  await server.control({ narrow: false });
  await running(pc.computer);

  await server.control({ forget: "all" });
  const { meta } = await call(pc);
  assertEquals(meta.error_code, 4007);
  assertEquals(
    (meta.auth_hint as Record<string, unknown>).action,
    "authorize",
  );
  await lost(pc.computer);
  await visit((await request()).url);
  await running(pc.computer);
  assertEquals((await call(pc)).text, "hi");
});

Deno.test({
  name:
    "a user who refuses is not asked again before the server is started manually",
  timeout: 120_000,
}, async () => {
  await using server = await startOAuth();
  await using files = await scratch();
  const { authorize, request, asked } = person();
  await using pc = await begin(protectedServer(server), {
    oauth: { directory: files.oauth, authorize },
  });
  await server.control({ deny: true });
  assertStringIncludes(await visit((await request()).url), "was refused");
  const attempt = () =>
    new Promise<void>((resolve) => {
      const off = pc.computer.on("serverState", ({ state }) => {
        if (state !== "failed") return;
        off();
        resolve();
      });
    });
  await attempt();
  await attempt();
  assertEquals((await call(pc)).meta.error_code, 4007);
  assertEquals(asked, []);
  await server.control({ deny: false });
  await pc.computer.startServer("a");
  await visit((await request()).url);
  await running(pc.computer);
});

Deno.test({
  name:
    "no token, code, state or client id of an authorization is in any log, event or ack",
  timeout: 120_000,
}, async () => {
  await using server = await startOAuth();
  await using files = await scratch();
  const { authorize, request } = person();
  const heard: string[] = [];
  const format = getTextFormatter();
  await configure({
    reset: true,
    sinks: { memory: (record) => void heard.push(format(record)) },
    loggers: [
      { category: [], lowestLevel: "trace", sinks: ["memory"] },
    ],
  });
  try {
    const secrets: string[] = [];
    {
      await using pc = await begin(protectedServer(server), {
        oauth: { directory: files.oauth, authorize },
      });
      pc.computer.on("serverState", (s) => heard.push(JSON.stringify(s)));
      const hear = async () => {
        heard.push(JSON.stringify(await call(pc)));
        heard.push(JSON.stringify(await pc.office.agent.getConfig("pc")));
        heard.push(JSON.stringify(await pc.office.agent.getTools("pc")));
        heard.push(JSON.stringify(pc.computer.status()));
      };
      await hear();
      const { searchParams } = new URL((await request()).url);
      secrets.push(
        ...["state", "client_id", "code_challenge"].map((name) =>
          searchParams.get(name) ?? ""
        ),
      );
      await visit(`${server.origin}/authorize?${searchParams}`);
      await running(pc.computer);
      await hear();
      for (const forget of ["access", "all"] as const) {
        await server.control({ forget });
        await hear();
      }
    }
    for (const { name } of Deno.readDirSync(files.oauth)) {
      secrets.push(
        ...(await Deno.readTextFile(join(files.oauth, name)))
          .match(/(access|refresh|client)-[0-9a-f-]{36}/g) ?? [],
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

Deno.test({
  name:
    "smcp-computer run shows the page on its terminal, and continues after the redirect",
  timeout: 120_000,
}, async () => {
  await using server = await startOAuth();
  await using files = await scratch();
  await using office = await startOffice();
  await using config = await configFile({
    servers: { a: protectedServer(server) },
  });
  await using computer = runComputer(office, config.file, {
    flags: ["--oauth-dir", files.oauth],
  });
  await computer.line(/^MCP server a: authorize this Computer in a browser/);
  const [, url = ""] = await computer.line(/^ {2}(http\S+)$/);
  await visit(url);
  await computer.line(/^MCP server a: running/);
  await computer.line(/^joined/);
  const { content: [block] } = await office.agent.callTool("pc", "echo", {
    text: "hi",
  });
  assertEquals(block?.text, "hi");
});
