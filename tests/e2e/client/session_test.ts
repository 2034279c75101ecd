/**
 * From connect() to close(): versions, failures to connect, calls around a lost connection, and
 * seats that are free again.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  ConnectionError,
  ProtocolError,
  ProtocolVersionError,
  SmcpAgent,
  type SmcpAgentOptions,
} from "../../../agent/mod.ts";
import { explainFailure } from "../../../cli/explain_failure.ts";
import { HANDSHAKE_TIMEOUT_MS } from "../../../client/socket_wire.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { captureLog } from "../../support/log_capture.ts";
import { OFFICE, scriptedComputer } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";
import {
  type OnBareEvent,
  startBareServer,
} from "../../support/server/bare_server.ts";
import { holdTimers } from "../../support/timers.ts";
import { versionRefusingServer } from "../../support/wire/version_refusing_server.ts";

/** An Agent over WebSocket: engine.io-client finds out only by its ping that both transports were lost in an upgrade. */
const agentAt = (url: string, more: Partial<SmcpAgentOptions> = {}) =>
  new SmcpAgent({ url, name: "planner", transports: ["websocket"], ...more });

/** Resolves with the details of the Agent's next join. */
const joined = (agent: SmcpAgent) =>
  new Promise<unknown>((resolve) => agent.on("joined", resolve));

Deno.test("a client without a wish speaks the newest version that the Server lets in, and none is refused (protocol §14)", async () => {
  for (
    const [protocol, newest] of [
      ["0.2", "0.2"],
      ["0.3", "0.3"],
      ["0.4", "0.4"],
      ["all", "0.4"],
      [["0.1", "0.2", "0.3"], "0.3"],
      [["0.2", "0.4"], "0.4"],
    ] as const
  ) {
    using log = captureLog();
    await using server = createSmcpServer({ protocol });
    const { url } = await server.listen({ port: 0 });
    await using computer = new SmcpComputer({ url, name: "pc", servers: {} });
    await using agent = new SmcpAgent({
      url: url.replace("http:", "ws:"),
      name: "planner",
    });
    const connected: unknown[] = [];
    agent.on("connected", (to) => connected.push(to));
    for (const client of [computer, agent]) {
      await client.connect();
      await client.join(OFFICE);
    }
    const versions = (await agent.listRoom())
      .map(({ a2c_version }) => a2c_version?.slice(0, 3));
    assertEquals(
      [agent.protocol, computer.status().protocol, ...versions],
      Array(4).fill(newest),
    );
    assertEquals(connected, [{ reconnected: false }]);
    const refused = log.audit
      .filter(({ event }) => event === "handshake_refused");
    assertEquals(refused, []);
  }
});

Deno.test("a client begins with 0.2 where /health is not a Server's", async () => {
  for (
    const health of [
      [200, "<html></html>"],
      [200, "[1]"],
      // Too long, whatever it says.
      [200, `{"protocol_version":"0.4.0","more":"${"x".repeat(10 ** 6)}"}`],
      [302, ""],
      [404, '{"protocol_version":"0.4.0"}'],
    ] as const
  ) {
    await using server = await startBareServer(undefined, health);
    await using agent = new SmcpAgent({ url: server.url, name: "planner" });
    await agent.connect();
    assertEquals(agent.protocol, "0.2", health[1].slice(0, 40));
  }
});

Deno.test("a client with a wish speaks no other version, and the error says what helps", async () => {
  await using server = createSmcpServer({ protocol: "0.4" });
  const { url } = await server.listen({ port: 0 });
  await using agent = new SmcpAgent({ url, name: "planner", protocol: "0.2" });
  const error = await assertRejects(
    () => agent.connect(),
    ProtocolVersionError,
    'choose that version with --protocol 0.4 (in code: protocol: "0.4")',
  );
  assertEquals([error.serverVersion, error.clientVersion], ["0.4.0", "0.2.0"]);
  await using modern = agentAt(url, { protocol: "0.4" });
  await modern.connect();
  assertEquals(modern.protocol, "0.4");
});

Deno.test("a client follows a Server that comes back with another version, and rejoins its office", async () => {
  await using before = createSmcpServer();
  await using after = createSmcpServer({ protocol: "0.4" });
  await using proxy = await startProxy((await before.listen({ port: 0 })).url);
  await using agent = agentAt(proxy.url);
  await agent.connect();
  await agent.join(OFFICE);
  const rejoined = joined(agent);
  proxy.turnTo((await after.listen({ port: 0 })).url);
  proxy.cut();
  assertEquals(await rejoined, { office: OFFICE, rejoined: true });
  assertEquals([agent.protocol, agent.state], ["0.4", "connected"]);
});

Deno.test("a Server that refuses the version that it names is asked twice, not for ever", async () => {
  await using server = await versionRefusingServer((sent) =>
    sent === "0.2.0" ? "0.4.0" : "0.2.0"
  );
  await using agent = new SmcpAgent({ url: server.url, name: "planner" });
  await assertRejects(() => agent.connect(), ProtocolVersionError);
  assertEquals(server.versions, ["0.2.0", "0.4.0"]);
});

Deno.test("close() ends a client that asks a silent Server for its versions", async () => {
  const silent = createServer().listen(0, "127.0.0.1");
  await once(silent, "listening");
  const requested = once(silent, "request");
  const { port } = silent.address() as AddressInfo;
  const agent = new SmcpAgent({ url: `http://127.0.0.1:${port}`, name: "a" });
  const failed = assertRejects(() => agent.connect(), ConnectionError);
  assertEquals((await requested)[0].url, "/health");
  await agent.close();
  assertEquals((await failed).code, "closed");
  silent.closeAllConnections();
  await new Promise((resolve) => silent.close(resolve));
});

Deno.test("a connection that is lost in its handshake fails connect(), which can be called again", async () => {
  await using server = createSmcpServer();
  await using proxy = await startProxy((await server.listen()).url);
  let attempts = 0;
  await using agent = agentAt(proxy.url, {
    auth: () => {
      if (attempts++ > 0) return {};
      proxy.cut();
      return new Promise(() => {});
    },
  });
  const error = await assertRejects(() => agent.connect(), ConnectionError);
  assertEquals([error.code, agent.state], ["unreachable", "closed"]);
  await agent.connect();
  assertEquals(agent.state, "connected");
});

Deno.test("another web server, and a proxy without a Server, are reported as such", async () => {
  const noServer =
    /: not an A2C-SMCP server( \(HTTP \d+\))?; correct --url, or the path with --path$/;
  const proxy = /: HTTP 50\d from a proxy that cannot reach its Server$/;
  for (const status of [200, 401, 404, 500, 502, 503]) {
    await using web = Deno.serve(
      { port: 0, onListen: () => {} },
      () =>
        new Response("<html>Bad gateway of nginx</html>", {
          status,
          headers: { "content-type": "text/html" },
        }),
    );
    const url = `http://127.0.0.1:${web.addr.port}`;
    await using agent = new SmcpAgent({ url, name: "planner" });
    const error = await assertRejects(() => agent.connect(), ConnectionError);
    assertEquals(error.code, "unreachable");
    const line = explainFailure(error);
    assertMatch(line, status > 500 ? proxy : noServer);
    assertEquals(/xhr|nginx|<|\n/.test(line + error.message), false, line);
  }
});

Deno.test('a call made with `offline: "wait"` waits for its Computer that comes back after the Agent when the Server restarts', async () => {
  await using stack = new AsyncDisposableStack();
  const first = stack.use(createSmcpServer());
  const second = stack.use(createSmcpServer());
  const from = (await first.listen({ port: 0 })).url;
  const to = (await second.listen({ port: 0 })).url;
  const near = stack.use(await startProxy(from));
  const far = stack.use(await startProxy(from));
  const timeouts: number[] = [];
  const computer = stack.use(
    scriptedComputer({
      url: far.url,
      name: "pc",
      script: (event, payload) => {
        if (event === "client:get_tools") return { tools: [], req_id: "1" };
        const { timeout, confirmation_timeout } = Object(payload);
        timeouts.push(timeout - confirmation_timeout);
        return { content: [] };
      },
    }),
  );
  await computer.connect();
  await computer.join(OFFICE);
  const agent = stack.use(
    new SmcpAgent({ url: near.url, name: "planner", offline: "wait" }),
  );
  await agent.connect();
  await agent.join(OFFICE);
  await agent.toolsSettled();
  const rejoined = joined(agent);
  const lost = new Promise((resolve) => agent.on("disconnected", resolve));
  far.turnTo("http://127.0.0.1:1"); // nothing listens there
  far.sever();
  near.turnTo(to);
  near.sever();
  await lost;
  await first.close();
  const call = () => agent.callTool("pc", "echo", {}, { timeoutMs: 60_000 });
  const offline = call();
  await rejoined;
  const early = call();
  assertEquals((await agent.listRoom()).length, 1); // the calls were answered before
  far.turnTo(to);
  for (const waiting of [offline, early]) {
    assertEquals((await waiting).content, []);
  }
  assertEquals(
    timeouts.map((seconds) => seconds > 30 && seconds <= 60),
    [true, true],
    String(timeouts),
  );
});

Deno.test('with `offline: "wait"` a call waits for a Computer that has just left, not for one that never was there', async () => {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(createSmcpServer());
  const { url } = await server.listen({ port: 0 });
  const join = async () => {
    const pc = scriptedComputer({
      url,
      name: "pc",
      script: (event) =>
        event === "client:get_tools"
          ? { tools: [], req_id: "1" }
          : { content: [] },
    });
    await pc.connect();
    await pc.join(OFFICE);
    return stack.use(pc);
  };
  const first = await join();
  const agent = stack.use(
    new SmcpAgent({ url, name: "planner", offline: "wait" }),
  );
  await agent.connect();
  await agent.join(OFFICE);
  const call = (computer: string) =>
    agent.callTool(computer, "echo", {}, { timeoutMs: 60_000 });
  const gone = new Promise((resolve) => agent.on("leaveOffice", resolve));
  await first.close();
  await gone;
  const waiting = call("pc");
  await assertRejects(() => call("nobody"), ProtocolError, "not in");
  await join();
  assertEquals((await waiting).content, []);
});

Deno.test("offline is an option of the Agent: callTool() refuses it, and says where it belongs", async () => {
  await using agent = new SmcpAgent({ url: "http://127.0.0.1:1", name: "a" });
  for (const offline of ["wait", "fail"]) {
    const options: object = { offline };
    await assertRejects(
      () => agent.callTool("pc", "echo", {}, options),
      TypeError,
      "option offline for one call: give it to new SmcpAgent()",
    );
  }
});

/** An Agent at a Server whose Computer "pc" is away. */
async function startAway(offline: "wait" | "fail") {
  let isPresent = false;
  let calls = 0;
  const server = await startBareServer(acking((event, ack) => {
    if (event !== "client:tool_call") return ack(true, null);
    calls++;
    if (isPresent) ack({ content: [] });
    else ack({ code: 404, message: "not in your office", computer: "pc" });
  }));
  const agent = agentAt(server.url, { offline });
  await agent.connect();
  await agent.join(OFFICE);
  return {
    agent,
    calls: () => calls,
    /** Loses the connection; resolves after the reconnect. */
    async lose() {
      const rejoined = joined(agent);
      (await server.connection(0)).conn.close();
      await rejoined;
    },
    enter(computer: string) {
      isPresent ||= computer === "pc";
      const payload = { office_id: OFFICE, computer };
      server.sockets[1]?.emit("notify:enter_office", payload);
    },
    async [Symbol.asyncDispose]() {
      await agent.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Answers list_room with nobody. */
const acking = (
  onEvent: (
    event: string,
    ack: (...args: unknown[]) => void,
    socket: Parameters<OnBareEvent>[0],
  ) => void,
): OnBareEvent =>
(socket, event, ack) =>
  event === "server:list_room"
    ? ack({ sessions: [], req_id: "1" })
    : onEvent(event, ack, socket);

Deno.test("an unknown Computer is a 404 at once, unless the Agent has just reconnected", async () => {
  await using away = await startAway("wait");
  const { agent } = away;
  const call = (timeoutMs: number) =>
    agent.callTool("pc", "t", {}, { timeoutMs });
  await assertRejects(() => call(60_000), ProtocolError, "not in your office");
  await away.lose();
  // At the timeout too, the error is the Server's.
  await assertRejects(() => call(3_000), ProtocolError, "not in your office");
  const waiting = call(60_000);
  assertEquals(await agent.listRoom(), []);
  away.enter("other");
  assertEquals(await agent.listRoom(), []);
  const before = away.calls();
  away.enter("pc");
  assertEquals((await waiting).content, []);
  assertEquals(away.calls(), before + 1);
});

Deno.test("a call that waits for a Computer ends with its signal, and with the Agent", async () => {
  await using away = await startAway("wait");
  const { agent } = away;
  await away.lose();
  const abort = new AbortController();
  const { signal } = abort;
  const aborted = assertRejects(
    () => agent.callTool("pc", "t", {}, { signal }),
    Error,
    "no more",
  );
  const left = assertRejects(() => agent.callTool("pc", "t"));
  await agent.listRoom();
  abort.abort(new Error("no more"));
  await aborted;
  await agent.close();
  await left;
});

Deno.test("an Agent that does not wait gets 404 right after a reconnect", async () => {
  await using away = await startAway("fail");
  await away.lose();
  const call = () => away.agent.callTool("pc", "t");
  await assertRejects(call, ProtocolError, "not in");
});

Deno.test("a closed client sends nothing, and cannot connect again", async () => {
  const events: string[] = [];
  await using server = await startBareServer(acking((event, ack) => {
    events.push(event);
    ack(true, null);
  }));
  await using agent = new SmcpAgent({ url: server.url, name: "planner" });
  await agent.connect();
  await agent.join(OFFICE);
  const closing = agent.close();
  assertEquals(agent.state, "closed");
  await assertRejects(() => agent.listRoom(), ConnectionError, "Not connected");
  await assertRejects(() => agent.join(OFFICE), ConnectionError);
  for (const end of [undefined, closing]) {
    await end;
    const error = await assertRejects(
      () => agent.connect(),
      ConnectionError,
      "Cannot connect: close() was called, which is permanent; create another client",
    );
    assertEquals(error.code, "closed");
  }
  assertEquals(events, ["server:join_office", "server:leave_office"]);
});

Deno.test("SmcpAgent.close() ends at once if the connection breaks while it leaves", async () => {
  await using server = await startBareServer(acking((event, ack, socket) => {
    if (event === "server:leave_office") socket.conn.close();
    else ack(true, null);
  }));
  await using agent = agentAt(server.url);
  await agent.connect();
  const ends: boolean[] = [];
  agent.on("disconnected", ({ reconnecting }) => ends.push(reconnecting));
  await agent.join(OFFICE);
  await agent.close();
  assertEquals(ends, [false]);
});

type Transports = ("polling" | "websocket")[];

const CLIENTS = {
  Agent: (url: string, transports: Transports = ["websocket"]) =>
    agentAt(url, { transports }),
  Computer: (url: string, transports: Transports = ["websocket"]) =>
    new SmcpComputer({ url, name: "pc", servers: [], transports }),
};

const ATTEMPTS = 30;

for (const [role, make] of Object.entries(CLIENTS)) {
  Deno.test(`${role}: close() and leave() during a join also free the seat`, async () => {
    await using server = createSmcpServer({ limits: false });
    const { url } = await server.listen({ port: 0 });
    await using next = make(url);
    await next.connect();
    for (const end of ["close", "leave"] as const) {
      for (let i = 0; i < ATTEMPTS; i++) {
        await using before = make(url);
        await before.connect();
        const joining = assertRejects(() => before.join(OFFICE));
        await before[end]();
        await next.join(OFFICE);
        await next.leave();
        await joining;
      }
    }
  });

  Deno.test(`${role}: close() does not wait for a Server that no longer answers`, async () => {
    await using server = await startBareServer(acking((event, ack) => {
      if (event !== "server:leave_office") ack(true, null);
    }));
    using timers = holdTimers(HANDSHAKE_TIMEOUT_MS); // the limit of leave()
    await using client = make(server.url);
    await client.connect();
    await client.join(OFFICE);
    await client.close();
    assert(timers.armed.length > 0, "no such timer was armed");
  });
}

const TRANSPORTS: Transports[] = [
  ["websocket"],
  ["polling"],
  ["polling", "websocket"],
];

for (const transports of TRANSPORTS) {
  for (const [role, make] of Object.entries(CLIENTS)) {
    const over = transports.join(", then ");
    Deno.test(`${role}: leave() and close() resolve when the seat is free for the next one, over ${over}`, async () => {
      await using server = createSmcpServer();
      const { url } = await server.listen({ port: 0 });
      await using next = make(url, transports);
      await next.connect();
      for (let i = 0; i < ATTEMPTS; i++) {
        await using before = make(url, transports);
        await before.connect();
        for (const end of ["leave", "close"] as const) {
          await before.join(OFFICE);
          await before[end]();
          await next.join(OFFICE);
          await next.leave();
        }
      }
    });

    Deno.test(`${role}: close() resolves when the Server has ended the session, over ${over}`, async () => {
      await using server = createSmcpServer();
      const { url } = await server.listen({ port: 0 });
      await using client = make(url, transports);
      await client.connect();
      await client.close();
      assertEquals(server.stats.connections, 0);
    });
  }
}
