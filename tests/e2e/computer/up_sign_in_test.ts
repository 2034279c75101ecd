import {
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { fileURLToPath } from "node:url";
import { mcpGateway } from "../../../mcp/mod.ts";
import { createMetrics, createSmcpServer } from "../../../server/mod.ts";
import { signIn } from "../../../server/sign_in/mod.ts";
import { type Child, start } from "../../support/child.ts";
import { runFile } from "../../support/command.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { INITIALIZE, modernRequest, post } from "../../support/mcp/post.ts";
import { startProxy } from "../../support/proxy.ts";
import { type Scratch, scratch } from "../../support/scratch.ts";
import { SignInVisitor } from "../../support/server/sign_in.ts";
import { connectRaw } from "../../support/wire/raw_client.ts";

const LIST = modernRequest("tools/list");
const main = fileURLToPath(new URL("../../../main.ts", import.meta.url));

/** A running `smcp up`. */
class Up extends SignInVisitor implements AsyncDisposable {
  readonly #child: Child;
  readonly url: string;
  readonly publicUrl: string | undefined;
  private constructor(child: Child, url: string, publicUrl?: string) {
    super();
    this.#child = child;
    this.url = url;
    this.publicUrl = publicUrl;
  }

  /** Starts it, with its state in a folder. */
  static async start(
    { path }: Pick<Scratch, "path">,
    flags: readonly string[],
    publicUrl?: string,
  ): Promise<Up> {
    const config = `${path}/computer.json`;
    const servers = { fix: fixture() };
    await Deno.writeTextFile(config, JSON.stringify({ servers }));
    const child = start(Deno.execPath(), [
      ...["run", "-A", "--quiet", main, "up", "--config", config],
      ...["--port=0", "--plain", "--yes", ...flags],
      ...(publicUrl === undefined ? [] : ["--public-url", publicUrl]),
    ], { env: { XDG_STATE_HOME: path } });
    const [, url = ""] = await child.line(/ on (http:\S+)$/);
    await child.line(/^joined office/);
    return new Up(child, url, publicUrl);
  }

  /** The key, where it was shown. */
  get key(): string | undefined {
    return this.#child.out.flatMap((line) =>
      /^Key: ([0-9a-f]{64})$/.exec(line)?.[1] ?? []
    )[0];
  }

  /** All that it has printed. */
  get text(): string {
    return this.#child.lines.join("\n");
  }

  override get issuer(): string {
    return this.publicUrl ?? this.url;
  }

  override request(path: string, init?: RequestInit): Promise<Response> {
    return fetch(this.issuer + path, init);
  }

  async stop(): Promise<void> {
    await this.#child.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

const listed = async (
  url: string,
  headers: Readonly<Record<string, string>> = {},
) => {
  const answer = await post(`${url}/mcp/home`, {
    ...LIST,
    headers: { ...LIST.headers, ...headers },
  });
  return answer.status === 200 && answer.body.includes("echo")
    ? "tools"
    : answer.status;
};

Deno.test("smcp up serves everybody on this machine without a sign-in and a public URL", async () => {
  await using state = await scratch();
  await using up = await Up.start(state, []);
  assertEquals(up.key, undefined);
  assertEquals(await listed(up.url), "tools");
  const described = await fetch(
    `${up.url}/.well-known/oauth-protected-resource/mcp/home`,
  );
  assertEquals(described.status, 404);
  await described.body?.cancel();
});

Deno.test("smcp up --sign-in shows its key once, and a restart signs nobody out", async () => {
  await using state = await scratch();
  await using proxy = await startProxy("http://127.0.0.1:9");
  const begin = () => Up.start(state, ["--sign-in"], proxy.url);
  const first = await begin();
  const { key = "" } = first;
  assertStringIncludes(first.text, "delete ");
  const file = `${state.path}/a2c-smcp/up/key.json`;
  assertEquals((await Deno.readTextFile(file)).includes(key), false);
  const kept = await filesOf(state);
  assertMatch(kept.join(" "), /^key.json sign_ins_[0-9a-f]{16}\.sqlite$/);
  for (const name of kept) {
    const { mode } = await Deno.stat(`${state.path}/a2c-smcp/up/${name}`);
    assertEquals((mode ?? 0) & 0o777, 0o600, name);
  }
  proxy.turnTo(first.url);
  const tokens = await first.enter({ key }, {
    resource: `${proxy.url}/mcp/home`,
  });
  const as = { authorization: `Bearer ${tokens.access_token}` };
  assertEquals(await listed(proxy.url, as), "tools");
  assertEquals(await listed(proxy.url, { "x-api-key": key }), "tools");
  await first.stop();
  const second = await begin();
  proxy.turnTo(second.url);
  assertEquals(second.key, undefined);
  assertMatch(second.text, /^Key: as it was shown when it was made; delete /m);
  assertEquals(await listed(proxy.url, as), "tools");
  assertEquals(await listed(proxy.url, { "x-api-key": key }), "tools");
  const renewed = await second.renew(tokens);
  assertEquals(renewed.status, 200, await renewed.text());
  await second.stop();
  await Deno.remove(file);
  await using third = await begin();
  proxy.turnTo(third.url);
  assertNotEquals(third.key ?? key, key);
  assertEquals(await listed(proxy.url, as), 401);
  assertEquals(await listed(proxy.url, { "x-api-key": key }), 401);
});

Deno.test("smcp up takes no token of another office's sign-in, and keeps none where its address changes", async () => {
  await using state = await scratch();
  await using proxy = await startProxy("http://127.0.0.1:9");
  const inOffice = (office: string, publicUrl?: string) =>
    Up.start(state, ["--sign-in", "--office", office], publicUrl);
  await using home = await inOffice("home", proxy.url);
  proxy.turnTo(home.url);
  const { key = "" } = home;
  const bare = { resource: `${proxy.url}/mcp` };
  const { access_token } = await home.enter({ key, office: "home" }, bare);
  const statusAt = async (url: string) =>
    (await post(`${url}/mcp`, {
      ...LIST,
      headers: { ...LIST.headers, authorization: `Bearer ${access_token}` },
    })).status;
  assertEquals(await statusAt(proxy.url), 200);
  await using lab = await inOffice("lab", proxy.url);
  assertEquals(await statusAt(lab.url), 401);
  const files = await filesOf(state);
  await using local = await inOffice("home");
  assertEquals(await statusAt(local.url), 401);
  assertEquals(await filesOf(state), files);
});

/** The names of what is kept, without what is only there while a process runs. */
async function filesOf({ path }: Pick<Scratch, "path">): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(`${path}/a2c-smcp/up`)) {
    if (/\.(?:json|sqlite)$/.test(name)) names.push(name);
  }
  return names.sort();
}

/** The routes that need no credentials: they lead to no tool, and name no member. */
const OPEN: readonly string[] = [
  ...["/health", "/ready", "/console", "/console/*"],
  ...["/authorize", "/token", "/register", "/revoke"],
];

/** What the paths of the others lack for a request. */
const FILLED: Readonly<Record<string, string>> = {
  "/mcp/:office": "/mcp/home",
  "/smcp/": "/smcp/?EIO=4&transport=polling",
  "/smcp": "/smcp?EIO=4&transport=polling",
  "/socket.io/": "/socket.io/?EIO=4&transport=polling",
  "/socket.io": "/socket.io?EIO=4&transport=polling",
};

for (const flags of [["--sign-in"], []]) {
  Deno.test(
    `smcp up ${
      [...flags, "--public-url"].join(" ")
    } lets nobody reach a tool through a proxy on loopback without credentials`,
    async () => {
      await using state = await scratch();
      await using proxy = await startProxy("http://127.0.0.1:9");
      await using up = await Up.start(state, flags, proxy.url);
      proxy.turnTo(up.url);
      const { key = "" } = up;
      const routes = await allRoutes();
      for (const method of ["GET", "POST", "DELETE", "OPTIONS"]) {
        for (const path of routes) {
          const url = proxy.url + (FILLED[path] ?? path);
          const { status, body } = await post(url, {
            method,
            body: INITIALIZE,
          });
          assertEquals(body.includes("echo"), false, path);
          const isMetadata = path.includes("/.well-known/");
          // Engine.IO authenticates later, as below.
          const isEngine = FILLED[path]?.includes("EIO") === true;
          if (isMetadata || isEngine || OPEN.includes(path)) continue;
          const isRefused = status === 401 || status === 404;
          assertEquals(isRefused, true, `${method} ${path}: ${status}`);
        }
      }
      for (const path of ["/smcp/", "/socket.io/"]) {
        for (const transport of ["polling", "websocket"] as const) {
          const to = { path, transports: [transport] };
          const error = await assertRejects(() => connectRaw(proxy.url, to));
          assertStringIncludes(String(error), "Authentication failed");
          const auth = { api_key: key };
          await using client = await connectRaw(proxy.url, { ...to, auth });
          assertEquals(client.socket.connected, true);
        }
      }
      assertEquals(await listed(proxy.url), 401);
      assertEquals(await listed(up.url), 401);
      assertEquals(await listed(up.url, { "x-api-key": key }), "tools");
    },
  );
}

/** All routes of a Server with everything on. */
async function allRoutes(): Promise<readonly string[]> {
  await using server = createSmcpServer({
    protocol: "all",
    metrics: createMetrics(),
    gateway: mcpGateway(),
    operator: { token: "0".repeat(32) },
    signIn: signIn(),
  });
  return [...new Set(server.app.routes.map(({ path }) => path))];
}

Deno.test("a stranger's wrong keys keep nobody else out of the page of smcp up, behind a tunnel", async () => {
  await using state = await scratch();
  await using proxy = await startProxy("http://127.0.0.1:9");
  await using up = await Up.start(state, ["--sign-in"], proxy.url);
  proxy.turnTo(up.url);
  const client = await up.register();
  const { path } = up.ask(client);
  const type = async (key: string, address: string) => {
    const page = await up.openPage(path);
    const headers = { "x-forwarded-for": address };
    return (await page.send({ key }, [], headers)).answer.status;
  };
  for (let i = 0; i < 10; i++) {
    assertEquals(await type(`wrong ${i}`, "198.51.100.7"), 401);
  }
  assertEquals(await type("wrong", "198.51.100.7"), 429);
  assertEquals(await type(up.key ?? "", "203.0.113.9"), 200);
  const foreign = await post(`${up.url}/authorize`, {
    method: "GET",
    headers: { host: "evil.example" },
  });
  assertEquals(foreign.status, 403);
});

Deno.test("smcp up says whether its public URL leads to it", async () => {
  await using state = await scratch();
  await using proxy = await startProxy("http://127.0.0.1:9");
  await using away = await Up.start(state, [], proxy.url);
  assertStringIncludes(away.text, `Not reachable at ${proxy.url} yet: `);
  assertStringIncludes(away.text, `lead it to ${away.url} (docs/mcp.md)`);
});

Deno.test("smcp up refuses flags of sign-in that cannot be used together", async () => {
  await using state = await scratch();
  const config = `${state.path}/computer.json`;
  await Deno.writeTextFile(config, JSON.stringify({ servers: {} }));
  const rows = [
    [["--no-mcp"], "--sign-in is for MCP: leave out --no-mcp"],
    [["--public-url=http://smcp.example.com"], "--sign-in needs https"],
    [["--cluster=redis://127.0.0.1:1"], "for one person and one Server"],
  ] as const;
  for (const [flags, expected] of rows) {
    const { code, stderr, stdout } = await runFile("main.ts", [
      ...["up", "--port=0", "--sign-in", "--config", config],
      ...flags,
    ], { env: { XDG_STATE_HOME: state.path } });
    assertEquals([code, stdout], [2, ""], stderr);
    assertStringIncludes(stderr, expected);
  }
});
