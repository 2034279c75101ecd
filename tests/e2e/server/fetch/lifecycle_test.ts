import { assert, assertEquals, assertMatch } from "@std/assert";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { start } from "../../../support/child.ts";
import { Bus } from "../../../support/cluster/bus.ts";
import { startFetchServer } from "../../../support/server/fetch_server.ts";
import {
  joinRaw,
  RawClient,
  type RawOptions,
} from "../../../support/wire/raw_client.ts";
import { pollingUrl, RawPolling } from "../../../support/wire/raw_polling.ts";

const SHUTTING_DOWN = {
  code: 500,
  message: "The server is shutting down: reconnect and try again",
  reason: "server shutting down",
};

const HANDSHAKE = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0";

for (const transport of ["websocket", "polling"] as const) {
  Deno.test(`close() lets calls end over ${transport}, refuses new ones, and disconnects clients so that they reconnect`, async () => {
    await using server = startFetchServer();
    await using pending = await pendingCall(server.url, {
      transports: [transport],
    });
    const { agent, answer, call } = pending;
    const closing = server.smcp.close();
    assertEquals(
      await agent.ask("client:get_tools", ANY_REQUEST),
      SHUTTING_DOWN,
    );
    for (const [path, status] of [["/ready", 503], [HANDSHAKE, 503]] as const) {
      const response = await fetch(server.url + path);
      await response.body?.cancel();
      assertEquals(response.status, status, path);
    }
    const gone = agent.disconnected();
    answer({ content: [], done: true });
    assertEquals(await call, { content: [], done: true });
    // "io server disconnect" would keep a client from reconnecting.
    assertMatch(await gone, /^transport (close|error)$/);
    await closing;
  });
}

Deno.test("a client that vanishes while it polls leaves its office at once", async () => {
  await using server = startFetchServer();
  await using agent = await joinRaw(server.url, "agent", "agent", "office");
  const raw = await RawPolling.connect(server.url);
  const seat = { role: "computer", name: "c", office_id: "office" };
  await raw.post(`42/smcp,${JSON.stringify(["server:join_office", seat])}`);
  await agent.next("notify:enter_office");
  const abort = new AbortController();
  const target = pollingUrl(server.url, `&sid=${raw.sid}`);
  const poll = await fetch(target, { signal: abort.signal });
  abort.abort();
  await poll.text().catch(() => {});
  assertEquals(await agent.next("notify:leave_office"), {
    office_id: "office",
    computer: "c",
  });
});

Deno.test("in a cluster offices span the nodes, over WebSocket alone; refused polling says why, to pages too", async () => {
  const bus = new Bus();
  const serve = (name: string) =>
    startFetchServer({
      cluster: bus.join(name).cluster,
      origins: ["https://app.example"],
    });
  await using left = serve("left");
  await using right = serve("right");
  await using agent = await joinRaw(left.url, "agent", "agent", "office");
  await using computer = await joinRaw(right, "computer", "computer", "office");
  await agent.next("notify:enter_office");
  computer.handle("client:tool_call", (_, ack) => ack({ content: ["é"] }));
  const answer = await agent.ask("client:tool_call", ANY_REQUEST);
  assertEquals(answer, { content: ["é"] });
  const refused = await fetch(`${left.url}${HANDSHAKE}`, {
    headers: { Origin: "https://app.example" },
  });
  assertEquals(refused.status, 400);
  assertEquals(
    refused.headers.get("access-control-allow-origin"),
    "https://app.example",
  );
  const { code, message } = await refused.json();
  assertEquals(code, 400);
  assertMatch(message, /^Polling is not supported here, .*"websocket"/);
  await using polling = new RawClient(left.url, { transports: ["polling"] });
  const error = await polling.connected().catch((error) => error);
  assert(error instanceof Error);
});

/** Starts a module of docs/edge.md on a free port of loopback; resolves with its URL. */
async function startPageModule(at: number, args: readonly string[]) {
  const root = new URL("../../../../", import.meta.url);
  const page = await Deno.readTextFile(new URL("docs/edge.md", root));
  const modules = [...page.matchAll(/^```ts\n([^`]*)^```/gm)]
    .map(([, code = ""]) => code);
  const code = modules.filter((code) => code.includes("TEAM_KEY"))[at] ?? "";
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  await Deno.writeTextFile(
    file,
    code
      .replace(
        "@a2c-smcp/sdk/server/fetch",
        new URL("server/fetch/mod.ts", root).href,
      )
      .replace('"0.0.0.0", port: 8787', '"127.0.0.1", port: 0'),
  );
  const config = new URL("deno.json", root).pathname;
  const options = ["--no-prompt", "--frozen", "--config", config];
  const child = start(Deno.execPath(), [
    ...args,
    ...options,
    "--allow-net",
    "--allow-env",
    file,
  ], { env: { TEAM_KEY: "a-key" } });
  const listening = await child.line(/http:\/\/127\.0\.0\.1:\d+/);
  return {
    child,
    url: listening[0],
    async [Symbol.asyncDispose]() {
      await child[Symbol.asyncDispose]();
      await Deno.remove(file);
    },
  };
}

/** A call of a new office that waits for its answer. */
async function pendingCall(url: string, options: RawOptions) {
  const to = { url, ...options };
  const agent = await joinRaw(to, "agent", "agent", "office");
  const computer = await joinRaw(to, "computer", "computer", "office");
  await agent.next("notify:enter_office");
  const ack = Promise.withResolvers<(...args: unknown[]) => void>();
  computer.handle("client:tool_call", (_, answer) => ack.resolve(answer));
  const call = agent.ask("client:tool_call", ANY_REQUEST);
  return {
    agent,
    call,
    answer: await ack.promise,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await computer[Symbol.asyncDispose]();
    },
  };
}

const KEY = { auth: { api_key: "a-key" } };

Deno.test("the page's Deno.serve drains at SIGTERM, and ends", async () => {
  await using served = await startPageModule(1, ["run"]);
  const { child, url } = served;
  await using pending = await pendingCall(url, KEY);
  const { agent } = pending;
  child.signal("SIGTERM");
  const status = async () => {
    const response = await fetch(`${url}/ready`);
    await response.body?.cancel();
    return response.status;
  };
  while (await status() !== 503);
  assertEquals(await agent.ask("client:get_tools", ANY_REQUEST), SHUTTING_DOWN);
  const gone = agent.disconnected();
  pending.answer({ content: [] });
  assertEquals(await pending.call, { content: [] });
  assertEquals(await gone, "transport close");
  assertEquals((await child.status).code, 0, child.lines.join("\n"));
});

Deno.test("deno serve serves the page's module; at SIGTERM clients are disconnected so that they reconnect", async () => {
  await using served = await startPageModule(0, [
    "serve",
    "--host=127.0.0.1",
    "--port=0",
  ]);
  const { child, url } = served;
  await using stranger = new RawClient(url);
  const refused = await stranger.connected().catch((error) => error);
  assertEquals(refused.data?.code, 401);
  await using pending = await pendingCall(url, KEY);
  pending.answer({ content: [] });
  assertEquals(await pending.call, { content: [] });
  const gone = pending.agent.disconnected();
  child.signal("SIGTERM");
  assertEquals(await gone, "transport close");
  assertEquals((await child.status).code, 0, child.lines.join("\n"));
});

Deno.test("deno serve prints no line of its own when it answers requests that are short, polls and calls", async () => {
  await using served = await startPageModule(0, [
    "serve",
    "--host=127.0.0.1",
    "--port=0",
  ]);
  const { child, url } = served;
  const before = child.lines.length;
  for (const path of ["/health", "/ready", "/nothing"]) {
    const response = await fetch(url + path);
    await response.body?.cancel();
  }
  const posted = await fetch(`${url}/nothing`, { method: "POST", body: "x" });
  await posted.body?.cancel();
  await using pending = await pendingCall(url, KEY);
  pending.answer({ content: [] });
  assertEquals(await pending.call, { content: [] });
  await using client = new RawClient(url, { transports: ["polling"] });
  await client.connected().catch(() => {}); // refused, over polling
  child.signal("SIGTERM");
  await child.status;
  const lines = child.lines.slice(before).filter((line) => !isLog(line));
  assertEquals(lines, []);
});

/** Returns whether a line is one of the program's own log. */
const isLog = (line: string): boolean => /^\{|a2c-smcp/.test(line);

Deno.test("of several isolates of one program the youngest serves, others say why they do not", async () => {
  await using server = startFetchServer();
  await using member = await joinRaw(server, "agent", "agent", "office");
  const isGone = member.disconnected();
  // What `createFetchServer()` sends with the first request to another isolate.
  const other = new BroadcastChannel(`a2c-smcp serve ${Deno.mainModule}`);
  other.postMessage("the younger one");
  await isGone;
  const answer = await fetch(`${server.url}/ready`);
  assertEquals(answer.status, 503);
  const { message } = await answer.json();
  assertMatch(message, /leave out `--parallel`, or use `cluster`$/);
  other.close();
});
