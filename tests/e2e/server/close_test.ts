import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import {
  apiKeys,
  createMetrics,
  createSmcpServer,
} from "../../../server/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { scriptedComputer } from "../../support/office.ts";
import { operate } from "../../support/server/operator_client.ts";
import { startProxy } from "../../support/proxy.ts";
import { connectRaw, joinRaw, rawPair } from "../../support/wire/raw_client.ts";
import { RawPolling } from "../../support/wire/raw_polling.ts";
import { rawHttp, upgradeHead } from "../../support/wire/raw_http.ts";

const CALL = "client:tool_call";

const SHUTTING_DOWN = {
  code: 500,
  message: "The server is shutting down: reconnect and try again",
  reason: "server shutting down",
};

Deno.test("close() lets pending calls finish and refuses new calls, joins and sessions", async () => {
  await using server = createSmcpServer();
  const { url, port } = await server.listen();
  await using pair = await rawPair(url);
  await using late = await connectRaw(url);
  const { agent, computer } = pair;
  const ack = Promise.withResolvers<(answer: unknown) => void>();
  computer.handle(CALL, (_payload, answer) => ack.resolve(answer));
  const call = agent.ask(CALL, ANY_REQUEST);
  const answer = await ack.promise;
  const look = async (path: string) => {
    const response = await fetch(url + path);
    return [response.status, (await response.json()).status];
  };
  assertEquals(await look("/ready"), [200, "ready"]);

  const closing = server.close();
  const after = agent.ask("client:get_tools", ANY_REQUEST);
  assertEquals(await after, SHUTTING_DOWN);
  assertEquals(await late.join("computer", "late", "office"), [
    false,
    SHUTTING_DOWN.message,
  ]);
  const query = "/smcp/?EIO=4&a2c_version=0.2.0&transport=";
  for (const session of ["", "&sid=x&sid="]) { // Engine.IO takes the last
    const refused = [
      await rawHttp(port, [
        `GET ${query}polling${session} HTTP/1.1`,
        "Host: 127.0.0.1",
      ]),
      await rawHttp(port, upgradeHead(`${query}websocket${session}`)),
    ];
    for (const { status, body } of refused) {
      assertEquals([status, JSON.parse(body)], [503, SHUTTING_DOWN]);
    }
  }
  assertEquals(await look("/ready"), [503, "draining"]);
  assertEquals(await look("/health"), [200, "draining"]);

  const gone = agent.disconnected();
  answer({ content: [], done: true });
  assertEquals(await call, { content: [], done: true });
  // The reason that makes clients reconnect; "io server disconnect" would not.
  assertEquals(await gone, "transport close");
  await closing;
});

Deno.test("close() answers calls that exceed graceMs with an error, never with silence; it counts as leaving, with the same notifications (protocol §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url, "o");
  const { agent, computer } = pair;
  const call = agent.ask(CALL, ANY_REQUEST);
  await computer.next(CALL);
  const gone = [agent.disconnected(), computer.disconnected()];
  await server.close({ graceMs: 1 });
  assertEquals(await call, SHUTTING_DOWN);
  await Promise.all(gone);
  // The first to leave gets no notification of the other.
  assertEquals([...agent.heard, ...computer.heard], [{
    event: "notify:leave_office",
    payload: { office_id: "o", agent: "agent" },
  }]);
});

Deno.test("listen() during or after close() rejects and leaves no port open", async () => {
  const server = createSmcpServer({ metrics: createMetrics() });
  const listen = () =>
    Promise.allSettled([server.listen(), server.listenMetrics()]);
  const overtaken = listen();
  await Promise.all([server.close(), server.close()]);
  for (const result of [...await overtaken, ...await listen()]) {
    assertStringIncludes(
      String("reason" in result && result.reason),
      "TypeError: Cannot listen: the server is closed",
    );
  }
  await using unused = createSmcpServer();
  await unused.listen();
});

const API_KEY = "restart-key-0123456789";
const DONE = { content: [{ type: "text", text: "done" }] };

/** Resolves when a client has rejoined its office. */
const rejoined = (client: {
  on(
    event: "joined",
    listener: (joined: { rejoined: boolean }) => void,
  ): () => void;
}): Promise<void> =>
  new Promise((resolve) => {
    const off = client.on("joined", ({ rejoined }) => {
      if (!rejoined) return;
      off();
      resolve();
    });
  });

/** Returns the outcome of each call: `ok`, or the error's name. */
const ends = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((end) =>
    end.status === "fulfilled" ? "ok" : (end.reason as Error).name
  );

/** An Agent and a Computer in office "north"; the Computer answers calls of "slow" on demand. */
async function pair(url: string, transports: ("polling" | "websocket")[]) {
  const options = { url, transports, headers: { "x-api-key": API_KEY } };
  const held: (() => void)[] = [];
  let changed = () => {};
  await using stack = new AsyncDisposableStack();
  const computer = stack.use(scriptedComputer({
    ...options,
    name: "laptop",
    script: (event, payload) => {
      if (event !== CALL) return { tools: [], req_id: "" };
      if (Object(payload).tool_name !== "slow") return DONE;
      return new Promise((resolve) => {
        held.push(() => resolve(DONE));
        changed();
      });
    },
  }));
  const agent = stack.use(new SmcpAgent({ ...options, name: "planner" }));
  for (const each of [computer, agent]) {
    await each.connect();
    await each.join("north");
  }
  const owned = stack.move();
  return {
    call: (tool: string) => agent.callTool("laptop", tool, {}),
    back: () => Promise.all([rejoined(agent), rejoined(computer)]),
    /** Resolves when the Computer has a number of pending calls. */
    async holds(count: number) {
      while (held.length < count) {
        await new Promise<void>((resolve) => changed = resolve);
      }
    },
    /** Makes the Computer answer its pending calls. */
    release: () => held.splice(0).forEach((answer) => answer()),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

for (const transports of [["websocket"], ["polling", "websocket"]] as const) {
  Deno.test(`restarts over ${transports}: pending calls finish, clients rejoin by themselves, every request is answered (protocol §5, §9)`, async () => {
    const authenticator = apiKeys([{ id: "all", key: API_KEY }]);
    let server = createSmcpServer({ authenticator });
    await using proxy = await startProxy((await server.listen()).url);
    await using clients = await pair(proxy.url, [...transports]);
    for (let generation = 0; generation < 3; generation++) {
      const calls = (tool: string) =>
        Array.from({ length: 20 }, () => clients.call(tool));
      const slow = calls("slow");
      await clients.holds(slow.length);
      const back = clients.back();
      const closing = server.close();
      const refused = await ends(calls("quick"));
      clients.release();
      assertEquals(await ends(slow), slow.map(() => "ok"));
      await closing;
      for (const end of refused) {
        assert(["ProtocolError", "ConnectionError"].includes(end), end);
      }
      server = createSmcpServer({ authenticator });
      proxy.turnTo((await server.listen()).url);
      await back;
      await clients.call("quick");
      assertEquals(server.stats.members, 2);
    }
    await server.close();
  });
}

Deno.test("a client over polling alone reconnects by itself after a restart", async () => {
  const first = createSmcpServer();
  await using proxy = await startProxy((await first.listen()).url);
  await using client = await joinRaw(
    { url: proxy.url, reconnection: true, transports: ["polling"] },
    "agent",
    "a",
    "o",
  );
  const gone = client.disconnected();
  await first.close();
  await gone;
  await using second = createSmcpServer();
  proxy.turnTo((await second.listen()).url);
  // Attempts without a listener fail; the client continues.
  if (!client.socket.connected) {
    await new Promise<void>((done) => client.socket.once("connect", done));
  }
  assertEquals(await client.join("agent", "a", "o"), [true, null]);
});

Deno.test("a client whose auth function fails during a reconnect calls it again (protocol §9)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using proxy = await startProxy(url);
  let asked = 0;
  await using agent = new SmcpAgent({
    url: proxy.url,
    name: "planner",
    transports: ["websocket"],
    auth: () => {
      if (++asked === 2) throw new Error("503 from the token endpoint");
      return {};
    },
  });
  await agent.connect();
  await agent.join("north");
  const back = rejoined(agent);
  proxy.cut();
  await back;
  assertEquals([agent.state, asked], ["connected", 3]);
});

Deno.test("close() leaves no timer of a polling client that was put out, and does not poll any more", async () => {
  const token = "0123456789abcdef0123456789abcdef";
  const server = createSmcpServer({ operator: { token } });
  const { url } = await server.listen();
  const raw = await RawPolling.connect(url);
  const seat = { role: "computer", name: "pc", office_id: "o" };
  await raw.post(`42/smcp,1${JSON.stringify(["server:join_office", seat])}`);
  await raw.packet("43/smcp,1[true");
  const { body: { members: [{ id }] } } = await operate(
    url,
    "/offices/o/members",
    { token },
  );
  const post = { reason: "it hangs" };
  const path = `/members/${encodeURIComponent(id)}/kick`;
  assertEquals((await operate(url, path, { token, post })).status, 200);
  // The close packet waits, for 30 seconds, for a poll that does not come.
  await server.close();
});

Deno.test("close() leaves no timer of a polling client that has vanished", async () => {
  const heartbeat = { intervalMs: 20, timeoutMs: 20 };
  const server = createSmcpServer({ heartbeat });
  const { url } = await server.listen();
  const raw = await RawPolling.open(url);
  // It sends, and answers no ping, until the heartbeat has ended it.
  const sent = () => raw.post("6").catch(() => ({ status: 0 }));
  while ((await sent()).status === 200);
  // The HTTP library reads the body of a refused request within its next turns, by timers of its own.
  for (let i = 0; i < 20; i++) await (await fetch(`${url}/health`)).text();
  await server.close();
});
