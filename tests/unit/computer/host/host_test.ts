import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { backoff } from "../../../../client/wire.ts";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import {
  failuresAfterLoss,
  RESTART_POLICY,
} from "../../../../computer/host/hosted_server.ts";
import type { McpConnection } from "../../../../computer/host/mcp/mcp_connection.ts";
import {
  EventScanner,
  fetchWithTimeouts,
  requestIdOf,
} from "../../../../computer/host/mcp/limited_fetch.ts";
import { OAuthSession } from "../../../../computer/host/oauth/authorizations.ts";
import {
  authorizationAnswer,
  type AuthorizationError,
  classifyRefusal,
  credentialsWanted,
  toAuthorize,
} from "../../../../computer/host/oauth/authorized_fetch.ts";
import { listenForRedirect } from "../../../../computer/host/oauth/redirect_listener.ts";
import { TokenStore } from "../../../../computer/host/oauth/token_store.ts";
import { classifyFailure } from "../../../../computer/host/server_status.ts";
import { ToolHost } from "../../../../computer/mod.ts";
import { statePath } from "../../../../computer/util/defaults.ts";
import {
  inheritedVariables,
  urlCredentials,
} from "../../../../computer/util/secrets.ts";
import { NETWORK_VARIABLES } from "../../../../shared/net/network_variables.ts";
import { hostOf } from "../../../support/computer/host.ts";
import { mcpTool } from "../../../support/computer/server_view.ts";
import { scratch } from "../../../support/scratch.ts";
import { collectGarbage } from "../../../support/server/memory.ts";

Deno.test("classifyFailure() goes by class and code of an error and its causes, not by the text", () => {
  const coded = (code: string | number) =>
    Object.assign(new Error("exited with code 404, fetch failed, 401"), {
      code,
    });
  const rows: [error: unknown, failure: string | undefined][] = [
    [coded(401), "refused"],
    [coded(404), "not_found"],
    [coded(500), undefined],
    [coded("EACCES"), "not_executable"],
    [new Error("Cannot start", { cause: coded("EACCES") }), "not_executable"],
    [new TypeError("x", { cause: coded("ECONNREFUSED") }), "unreachable"],
    [new TypeError("error sending request"), "unreachable"],
    [new Error("exited with code 1; not ready within; EACCES"), undefined],
    ["exited with code 1", undefined],
  ];
  for (const [error, failure] of rows) {
    assertEquals(classifyFailure(error), failure, String(error));
  }
  const round = new Error("its own cause");
  round.cause = round;
  assertEquals(classifyFailure(round), undefined);
});

Deno.test("an MCP server that cannot start says what kind of failure it is", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "program");
  await Deno.writeTextFile(file, "", { mode: 0o644 });
  await using web = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    ({ url }) => new Response("no", { status: Number(url.slice(-3)) }),
  );
  const over = (
    port: number,
    path: string,
  ): [string, Record<string, unknown>][] =>
    ["streamable", "sse"].map((
      type,
    ) => [type, { url: `http://127.0.0.1:${port}/${path}` }]);
  const rows: [string, [type: string, Record<string, unknown>][]][] = [
    ["ended", [["stdio", {
      command: Deno.execPath(),
      args: ["eval", "Deno.exit(7)"],
    }]]],
    ["not_executable", [["stdio", { command: file }]]],
    ["unreachable", over(1, "mcp")],
    ["not_found", over(web.addr.port, "404")],
    ["refused", over(web.addr.port, "403")],
  ];
  for (const [expected, settings] of rows) {
    for (const [type, server_parameters] of settings) {
      const { servers } = parseComputerConfig({
        servers: { a: { type, server_parameters } },
      });
      await using host = new ToolHost({ servers });
      const failed = new Promise<string | undefined>((resolve) =>
        host.on(
          "serverState",
          ({ state, failure }) => state === "failed" && resolve(failure),
        )
      );
      host.start();
      assertEquals(await failed, expected, type);
    }
  }
});

Deno.test("an MCP server that announces other tools while it starts is listed again once it runs", async () => {
  let announce = (_method: string) => {};
  let lists = 0;
  const connection: Partial<McpConnection> = {
    offices: [],
    capabilities: { tools: {} },
    onLost: () => {},
    onNotification: (listener) => announce = (method) => listener(method, {}),
    listTools: () => {
      const tools = [mcpTool(`of_list_${++lists}`)];
      if (lists === 1) announce("notifications/tools/list_changed");
      return Promise.resolve({ tools, problems: [] });
    },
    close: () => Promise.resolve(),
  };
  await using host = hostOf(
    { a: { type: "stdio", server_parameters: { command: "unused" } } },
    { connect: () => Promise.resolve(connection as McpConnection) },
  );
  const seen: string[][] = [];
  const listedAgain = new Promise<void>((resolve) =>
    host.on("toolsChanged", () => {
      seen.push(host.tools().map(({ name }) => name));
      if (lists === 2) resolve();
    })
  );
  await host.start();
  await listedAgain;
  assertEquals(seen, [["of_list_1"], ["of_list_2"]]);
  // Others are passed on, and list nothing.
  const changed = new Promise((resolve) => host.on("promptsChanged", resolve));
  announce("notifications/prompts/list_changed");
  assertEquals(await changed, { server: "a" });
  const listed = new Promise((resolve) => host.on("toolsChanged", resolve));
  announce("notifications/tools/list_changed");
  await listed;
  assertEquals(seen[2], ["of_list_3"]);
});

Deno.test("restarts of an MCP server wait twice as long each time up to a limit, with 50 % jitter", () => {
  const delays = (random: number) =>
    [0, 1, 2, 3, 40].map((n) => backoff(n, random, RESTART_POLICY));
  assertEquals(delays(0.5), [100, 200, 400, 800, 60_000]);
  assertEquals(delays(0), [50, 100, 200, 400, 30_000]);
  assertEquals(delays(1), [150, 300, 600, 1_200, 90_000]);
});

Deno.test("failuresAfterLoss() forgets earlier failures once a server ran long enough", () => {
  assertEquals(failuresAfterLoss(5, 9_999, RESTART_POLICY), 5);
  assertEquals(failuresAfterLoss(5, 10_000, RESTART_POLICY), 0);
});

Deno.test("inheritedVariables() picks certificate authorities and proxies, in both cases, and no shell functions", () => {
  assertEquals(
    inheritedVariables({
      NODE_EXTRA_CA_CERTS: "/ca.pem",
      https_proxy: "http://proxy:3128",
      NO_PROXY: "",
      ALL_PROXY: undefined,
      SSL_CERT_FILE: "() { :; }; echo",
      API_TOKEN: "s3cret",
      PATH: "/bin",
    }),
    {
      NODE_EXTRA_CA_CERTS: "/ca.pem",
      https_proxy: "http://proxy:3128",
      NO_PROXY: "",
    },
  );
});

Deno.test("urlCredentials() finds credentials before a host, raw and decoded", () => {
  const rows: [value: string, secrets: string[]][] = [
    ["http://proxy:3128", []],
    ["me@example.com", []],
    ["http://me:p%40ssword@proxy:3128/", [
      "me:p%40ssword",
      "p%40ssword",
      "p@ssword",
    ]],
    ["me:password@proxy", ["me:password", "password", "password"]],
    ["http://me:abc@proxy", ["me:abc", "abc", "abc"]],
    ["http://token@proxy", ["token", "token", "token"]],
    ["http://me:50%25%@proxy", ["me:50%25%", "50%25%", "50%25%"]],
    ["https://proxy/?a=b@c", []],
  ];
  for (const [value, secrets] of rows) {
    assertEquals(urlCredentials({ ANY: value }), secrets, value);
  }
});

Deno.test("the documentation names every variable that an MCP server inherits", async () => {
  const page = await Deno.readTextFile(
    new URL("../../../../docs/configuration.md", import.meta.url),
  );
  const missing = NETWORK_VARIABLES.filter((name) =>
    !page.includes(`\`${name.toUpperCase()}\``)
  );
  assertEquals(missing, []);
});

Deno.test("classifyRefusal() returns 4006 for HTTP 401 and 4007 for 403; with WWW-Authenticate 4006 for other refusals, but not of the transport's", () => {
  const statuses = [200, 400, 401, 403, 404, 405, 422, 429, 500, 503];
  const codes = (isChallenge?: boolean) =>
    statuses.map((status) => classifyRefusal(status, isChallenge)?.code ?? 0);
  assertEquals(codes(), [0, 0, 4006, 4007, 0, 0, 0, 0, 0, 0]);
  assertEquals(codes(true), [0, 4006, 4006, 4007, 0, 0, 4006, 4006, 0, 0]);
});

Deno.test("errors about authorization have a code, an action, and no address", () => {
  const rows: [AuthorizationError, number, string][] = [
    [credentialsWanted(), 4006, "configure"],
    [toAuthorize("unauthorized"), 4006, "authorize"],
    [toAuthorize("expired"), 4007, "authorize"],
    [toAuthorize("refused"), 4007, "authorize"],
    [toAuthorize("unrenewed"), 4007, "authorize"],
  ];
  for (const [error, code, action] of rows) {
    const answer = authorizationAnswer("say", "a", error);
    assertEquals(answer, {
      code,
      text: `Cannot call "say" of MCP server "a". ${error.hint.message}`,
      fields: {
        mcp_server: "a",
        auth_hint: { action, message: error.hint.message },
      },
    });
    assertEquals(/:\/\/|[?&=]/.test(JSON.stringify(answer.fields)), false);
  }
});

Deno.test("listenForRedirect() refuses requests that are not an answer, and keeps waiting", async () => {
  const listener = await listenForRedirect("state", 0);
  try {
    const { origin, href } = new URL(listener.url);
    const visit = async (url: string) => {
      const response = await fetch(url);
      return [response.status, await response.text()];
    };
    const refused = [400, "This is not the answer that is waited for."];
    for (const other of ["//", "//?code=1&state=state"]) {
      assertEquals(await visit(`${origin}${other}`), refused, other);
    }
    for (const query of ["", "?code=1&state=other"]) {
      assertEquals(await visit(`${href}${query}`), refused, query);
    }
    const [status] = await visit(`${href}?code=a%3Fb?c&state=state`);
    const { code } = await listener.answer;
    assertEquals([status, code], [200, "a?b?c"]);
  } finally {
    listener.close();
  }
});

const tokens = (access_token: string) => ({
  access_token,
  refresh_token: "r",
  token_type: "bearer",
});

Deno.test("TokenStore keeps complete tokens, readable only by the owner, and leaves no draft", async () => {
  await using folder = await scratch();
  const directory = join(folder.path, "state", "oauth");
  const url = "https://host/mcp?key=s3cret";
  const store = new TokenStore(directory, url);
  assertEquals(await store.current(), {});
  const { signal } = new AbortController();
  const save = (change: object) =>
    store.change((saved, write) => write({ ...saved, ...change }), signal);
  await save({ client: { client_id: "c", client_secret: "cs" } });
  await Promise.all([
    save({ tokens: tokens("1") }),
    save({ tokens: tokens("2") }),
  ]);
  const seen = await store.load();
  const last = seen.tokens?.access_token;
  assert(last === "1" || last === "2");
  assertEquals(store.secrets, ["cs", last, "r"]);
  assertEquals(await new TokenStore(directory, url).load(), seen);
  assertEquals(await new TokenStore(directory, "https://other/").load(), {});
  const [name = "", ...more] = await readdir(directory);
  assertEquals(more, []); // no draft is left
  const file = join(directory, name);
  if (Deno.build.os !== "windows") {
    const mode = async (path: string) => (await stat(path)).mode & 0o777;
    assertEquals([await mode(directory), await mode(file)], [0o700, 0o600]);
  }
  await Deno.writeTextFile(file, "{ half a fi");
  assertEquals(await store.load(), {});
  await rm(file);
  await mkdir(join(file, "in the way"), { recursive: true });
  await assertRejects(() => save({ tokens: tokens("3") }));
  assertEquals(await readdir(directory), [name]);
});

Deno.test("statePath() is below XDG_STATE_HOME, or below ~/.local/state", () => {
  const below = (...path: string[]) => join(...path, "a2c-smcp", "oauth");
  const home = Deno.env.get("HOME") ?? "";
  const XDG_STATE_HOME = "/state";
  assertEquals(statePath({ XDG_STATE_HOME }, "oauth"), below("/state"));
  assertEquals(statePath({}, "oauth"), below(home, ".local", "state"));
});

Deno.test("OAuthSession.close() aborts a running authorization, waits for its end and does not ask the user", async () => {
  await using folder = await scratch();
  const asked: string[] = [];
  const session = new OAuthSession({
    server: "a",
    place: { url: "http://127.0.0.1/mcp" },
    oauth: {
      directory: join(folder.path, "oauth"),
      authorize: ({ url }) => asked.push(url),
    },
    authorized: () => asked.push("authorized"),
  });
  const requested = Promise.withResolvers<void>();
  const events: string[] = [];
  // An authorization server that never answers.
  const fetch = (_: string | URL, init?: RequestInit) => {
    requested.resolve();
    return new Promise<Response>((_, reject) => {
      const refuse = () => reject(init?.signal?.reason);
      if (init?.signal?.aborted) refuse();
      else init?.signal?.addEventListener("abort", refuse);
    });
  };
  const renewed = assertRejects(
    () => session.renew(undefined, new Response(null), fetch),
    Error,
    "closed",
  ).then(() => events.push("ended"));
  await requested.promise;
  await session.close();
  events.push("closed");
  await renewed;
  assertEquals([events, asked], [["ended", "closed"], []]);
});

const utf8 = (text: string) => new TextEncoder().encode(text);

Deno.test("EventScanner finds events for any chunking", () => {
  const rows: [text: string, size: number, lastId: string | undefined][] = [
    ["", 0, undefined],
    ["data: abc", 9, undefined],
    ["data: abc\n", 10, undefined],
    ["data: abc\n\n", 0, undefined],
    ["data: abc\r\n\r\n", 0, undefined],
    ["data: abc\r\r", 0, undefined],
    ["data: abc\r\rdata", 4, undefined],
    ["id: 7\ndata: abc\n\n", 0, "7"],
    ["id:7\r\ndata\r\n\r\n", 0, "7"],
    ["id: 7\n\n", 0, undefined], // an event without data is dropped
    ["id: 7\ndata: a", 13, undefined],
    ["id\ndata: a\n\n", 0, undefined],
    ["id: 7\ndata: a\n\ndata: b\n\n", 0, "7"],
    ["id: 7\ndata: a\n\nid: 8\ndata: b\n\ndata: ", 6, "8"],
    ["ids: 7\ndata: a\n\n", 0, undefined],
    [`id: ${"x".repeat(2_000)}\ndata: a\n\n`, 0, undefined],
  ];
  for (const [text, size, lastId] of rows) {
    const bytes = utf8(text);
    for (let step = 1; step <= bytes.length + 1; step++) {
      const events = new EventScanner();
      for (let at = 0; at < bytes.length; at += step) {
        events.push(bytes.subarray(at, at + step));
      }
      assertEquals([events.size, events.lastId], [size, lastId], text);
    }
  }
});

Deno.test("requestIdOf() reads the id of every request of the MCP SDK", () => {
  const rows: [message: object, id: number | undefined][] = [
    [{ method: "ping", jsonrpc: "2.0", id: 7 }, 7],
    [
      { method: "m", params: { id: 1, s: '"id":5}' }, jsonrpc: "2.0", id: 0 },
      0,
    ],
    [{ method: "m", params: { "id": 1 }, jsonrpc: "2.0" }, undefined],
    [{ method: "m", jsonrpc: "2.0", params: { "id": 1 } }, undefined],
    [{ result: { method: "m" }, jsonrpc: "2.0", id: 7 }, undefined],
  ];
  for (const [message, id] of rows) {
    const body = JSON.stringify(message);
    assertEquals(requestIdOf({ method: "POST", body }), id, body);
  }
  assertEquals(requestIdOf({ method: "GET" }), undefined);
});

const bounded = fetchWithTimeouts(
  { requestMs: 60_000, silenceMs: 60_000 },
  1000,
);

/** Opens an event stream and reads its first event; keeps no reference to the response. */
async function open(url: string, signal: AbortSignal) {
  const response = await bounded(url, { signal });
  const reader = response.body!.getReader();
  await reader.read();
  return reader;
}

Deno.test("fetchWithTimeouts() ends an event stream when its signal is aborted, though its answer was collected as garbage", async () => {
  const cancelled = Promise.withResolvers<void>();
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => {
      const body = new ReadableStream({
        start: (controller) =>
          controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
        cancel: () => cancelled.resolve(),
      });
      const headers = { "content-type": "text/event-stream" };
      return new Response(body, { headers });
    },
  );
  const abort = new AbortController();
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const reader = await open(url, abort.signal);
  const read = reader.read().then(() => "more", ({ name }) => name);
  for (let i = 0; i < 5; i++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  abort.abort();
  assertEquals(await read, "AbortError");
  await cancelled.promise;
});
