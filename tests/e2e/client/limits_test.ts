/**
 * Limits of the Server, as its clients meet them: rates, concurrent calls, sizes; and mistakes that
 * types would find.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Socket } from "node:net";
import {
  ConnectionError,
  ProtocolError,
  SmcpAgent,
} from "../../../agent/mod.ts";
import { SmcpComputer, ToolHost } from "../../../computer/mod.ts";
import { apiKeys, createSmcpServer, jwt } from "../../../server/mod.ts";
import type { TestOfficeOptions } from "../../../testing/mod.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { startBareServer } from "../../support/server/bare_server.ts";

/** Starts an office whose Computer "pc" counts calls by their parameter `n`. */
async function counting(
  server: TestOfficeOptions["server"],
  work = (): unknown => ({ content: [] }),
) {
  const runs = new Map<number, number>();
  const office = await startOffice({
    ...(server && { server }),
    computers: {
      pc: async (event, payload) => {
        if (event === "client:get_tools") return { tools: [], req_id: "1" };
        const answer = await work();
        const { n } = Object(payload).params;
        runs.set(n, (runs.get(n) ?? 0) + 1);
        return answer;
      },
    },
  });
  const { agent } = office;
  return {
    agent,
    call: (n: number) => agent.callTool("pc", "count", { n }),
    /** Calls many times at once. */
    calls: (count: number) =>
      Promise.all(
        Array.from({ length: count }, (_, n) =>
          agent.callTool("pc", "count", { n })),
      ),
    /** Asserts that calls ran exactly once each. */
    ranOnce: (count: number) =>
      assertEquals(
        [...runs.values()],
        Array(count).fill(1),
        `${runs.size} ran`,
      ),
    [Symbol.asyncDispose]: () => office.close(),
  };
}

Deno.test(
  "a loop of 5,000 calls, and 500 at once, exceed no default limit of a Server",
  { timeout: 120_000 },
  async () => {
    await using office = await counting({});
    for (let n = 500; n < 5_500; n++) await office.call(n);
    await office.calls(500);
    office.ranOnce(5_500);
  },
);

Deno.test("calls over the Server's rate are repeated at that rate, and run once", async () => {
  await using office = await counting({ limits: { eventsPerSecond: 50 } });
  await office.calls(120);
  office.ranOnce(120);
});

Deno.test("calls over the Server's limit of concurrent calls wait for running ones", async () => {
  let running = 0;
  let most = 0;
  await using office = await counting(
    { limits: { callsPerAgent: 3 } },
    async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return { content: [] };
    },
  );
  await office.calls(40);
  office.ranOnce(40);
  assertEquals(most, 3);
});

Deno.test("a call that cannot be sent within its timeout fails with the Server's 429; an aborted one with its reason", async () => {
  await using office = await counting(
    { limits: { callsPerAgent: 1 } },
    () => new Promise(() => {}),
  );
  const { agent } = office;
  const first = agent.callTool("pc", "slow", {}, { timeoutMs: 60_000 });
  const error = await assertRejects(
    () => agent.callTool("pc", "slow", {}, { timeoutMs: 3_000 }),
    ProtocolError,
    "Too many calls",
  );
  const details = { ran: false, retry_in_ms: 100 };
  assertEquals([error.code, error.details], [429, details]);
  const abort = new AbortController();
  const { signal } = abort;
  const aborted = assertRejects(
    () => agent.callTool("pc", "slow", {}, { signal }),
    Error,
    "no more",
  );
  abort.abort(new Error("no more"));
  await aborted;
  const lost = assertRejects(() => first);
  await agent.close();
  await lost;
  office.ranOnce(0);
});

Deno.test("a request with a 429 that does not say that nothing ran is not repeated", async () => {
  for (const details of [undefined, { ran: true }]) {
    let calls = 0;
    await using office = await counting({}, () => {
      calls++;
      const fields = { ...(details && { details }) };
      throw new ProtocolError(429, "The tool's own limit", fields);
    });
    await assertRejects(() => office.call(1), ProtocolError, "own limit");
    assertEquals(calls, 1);
  }
});

Deno.test("many calls at once leave an Agent in few writes, and so do their answers a Computer", async () => {
  const CALLS = 40;
  const waiting: (() => void)[] = [];
  await using office = await startOffice({
    agent: { transports: ["websocket"] },
    computers: {
      pc: (event, payload) => {
        if (event === "client:get_tools") return { tools: [], req_id: "1" };
        const { message: text } = Object(payload).params;
        return new Promise((resolve) => {
          waiting.push(() => resolve({ content: [{ type: "text", text }] }));
          if (waiting.length === CALLS) waiting.forEach((answer) => answer());
        });
      },
    },
  });
  const messages = Array.from({ length: CALLS }, (_, n) => `${n}`);
  let writes = 0; // of the Server's two sockets too
  const counted = <A extends unknown[]>(write: (...args: A) => void) =>
    function (this: Socket, ...args: A): void {
      writes++;
      write.apply(this, args);
    };
  const { _write, _writev } = Socket.prototype;
  assert(_writev);
  Object.assign(Socket.prototype, {
    _write: counted(_write),
    _writev: counted(_writev),
  });
  try {
    const results = await Promise.all(
      messages.map((message) =>
        office.agent.callTool("pc", "echo", { message })
      ),
    );
    assertEquals(results.map(({ content: [b] }) => b?.text), messages);
  } finally {
    Object.assign(Socket.prototype, { _write, _writev });
  }
  assert(writes > 0 && writes < CALLS, `${writes} writes`);
});

const MAX_BYTES = 100_000;

const nested = (levels: number): Record<string, unknown> =>
  levels === 1 ? {} : { inner: nested(levels - 1) };

Deno.test("parameters too large or nested too deeply fail only their call; the connection continues", async () => {
  const release = Promise.withResolvers<object>();
  const started = Promise.withResolvers<void>();
  await using office = await counting({ maxMessageBytes: MAX_BYTES }, () => {
    started.resolve();
    return release.promise;
  });
  const { agent } = office;
  const lost: unknown[] = [];
  agent.on("disconnected", (why) => lost.push(why));
  const other = agent.callTool("pc", "slow");
  await started.promise;
  const text = "x".repeat(MAX_BYTES);
  const rows: [request: () => Promise<unknown>, says: string][] = [
    [() => agent.callTool("pc", "slow", { text }), `at most ${MAX_BYTES}`],
    [
      () => agent.callTool("pc", "slow", nested(100)),
      "nested deeper than 63 levels",
    ],
    [() => agent.getFinder("pc", { keywords: [text] }), "at most"],
  ];
  for (const [request, says] of rows) {
    const error = await assertRejects(request, ConnectionError, says);
    assertEquals(error.code, "too_large");
    const [, bytes] = /it has (\d+) bytes/.exec(error.message) ?? [];
    if (says.startsWith("at most")) assert(Number(bytes) > MAX_BYTES, bytes);
  }
  const big = () => agent.callTool("pc", "slow", { id: 1n });
  await assertRejects(big, TypeError, "as JSON");
  const content = [{ type: "text" as const, text: "done" }];
  release.resolve({ content });
  assertEquals((await other).content, content);
  assertEquals(lost, []);
});

Deno.test("parameters of exactly the maximum size and depth arrive", async () => {
  await using office = await counting({ maxMessageBytes: MAX_BYTES });
  const { agent } = office;
  const call = (params: Record<string, unknown>) =>
    agent.callTool("pc", "t", params);
  const fits = JSON.stringify({
    computer: "pc",
    tool_name: "t",
    params: { text: "" },
    timeout: 360,
    confirmation_timeout: 300,
    progress: "waiting",
    agent: agent.name,
    req_id: "r".repeat(36),
  }).length;
  const text = "x".repeat(MAX_BYTES - 64 - fits);
  for (
    const [fitting, larger, says] of [
      [nested(62), nested(63), "nested deeper"],
      [{ text }, { text: `${text}x` }, "at most"],
    ] as const
  ) {
    assertEquals((await call(fitting)).content, []);
    await assertRejects(() => call(larger), ConnectionError, says);
  }
});

Deno.test("a join with a name that is too long fails before it is sent, for both roles", async () => {
  await using office = await startOffice();
  const { agent, url } = office;
  await agent.leave();
  const computer = office.use(
    new SmcpComputer({ url, name: "pc", servers: [] }),
  );
  await computer.connect();
  for (const client of [agent, computer]) {
    await assertRejects(
      () => client.join("x".repeat(257)),
      TypeError,
      "1 to 256 characters",
    );
    await client.join(OFFICE);
  }
  assertEquals((await agent.listRoom()).length, 2);
});

/** Calls and makes as JavaScript can: without types. */
const call = (f: unknown, ...args: unknown[]) => () =>
  Reflect.apply(Object(f), undefined, args);
const make = (f: unknown, ...args: unknown[]) => () =>
  Reflect.construct(Object(f), args);
const RIGHT = { url: "http://127.0.0.1:8787", name: "planner" };

Deno.test("a mistake in JavaScript is an error that says what is expected", async () => {
  const authenticator = "option authenticator: expected what apiKeys()";
  const keys = 'expected a list such as [{ id: "ci", key: "…" }]';
  const key = 'expected { key: { secret: "…" } }';
  const connect = "Not connected: call connect() first";
  const agent = (wrong: object) => make(SmcpAgent, { ...RIGHT, ...wrong });
  const computer = (wrong: object) =>
    make(SmcpComputer, { ...RIGHT, servers: {}, ...wrong });
  const server = (wrong: object) => call(createSmcpServer, wrong);
  const rows: readonly [attempt: () => unknown, says: string][] = [
    [make(SmcpAgent), "give them as { url: "],
    [agent({ proxy: {} }), "option proxy: expected a URL"],
    [agent({ offline: "retry" }), 'option offline: expected "fail" or "wait"'],
    [agent({ protocol: "1" }), 'expected "auto", "0.2"'],
    [
      () => new SmcpAgent(RIGHT).putFile("pc", new Uint8Array(3)),
      "Cannot put bytes without a name",
    ],
    [() => new SmcpAgent(RIGHT).join("home"), connect],
    [() => new SmcpAgent(RIGHT).callTool("pc", "x"), connect],
    [make(SmcpComputer, RIGHT), "servers: expected"],
    [computer({ servers: ["x"] }), "servers.0: expected an object, not a text"],
    [computer({ confirm: true }), "option confirm: expected a function"],
    [make(ToolHost), "servers: expected"],
    [server({ authenticator: "s3cret" }), authenticator],
    [server({ authenticator: [{ id: "a", key: "s3cret" }] }), authenticator],
    [server({ protocol: "1" }), '"1": expected one or more of "0.1"'],
    [call(apiKeys), keys],
    [call(apiKeys, { a: "s3cret" }), keys],
    [call(apiKeys, [{ key: "s3cret" }]), keys],
    [call(jwt), key],
    [call(jwt, { secret: "s3cret" }), key],
  ];
  for (const [attempt, says] of rows) {
    const error = await assertRejects(async () => await attempt(), Error);
    assertStringIncludes(error.message, says);
    assertEquals(error.message.includes("s3cret"), false, error.message);
  }
});

Deno.test("an answer with too many values fails its request alone, and such a request is answered with 400", async () => {
  const braces = (count: number) =>
    JSON.parse(`[${"{},".repeat(count)}{}]`) as unknown[];
  const held = Promise.withResolvers<(answer: unknown) => void>();
  await using server = await startBareServer((_socket, event, ack) => {
    if (event === "client:get_desktop") held.resolve(ack);
    else if (event !== "client:get_tools") ack(true, null);
    else ack({ req_id: "1", tools: [], more: braces(500_000) });
  });
  await using agent = new SmcpAgent({ url: server.url, name: "planner" });
  await agent.connect();
  const desktop = agent.getDesktop("pc");
  const answer = await held.promise;
  const error = await assertRejects(
    () => agent.getTools("pc"),
    ConnectionError,
    "more than 1000000 values",
  );
  assertEquals(error.code, "too_large");
  answer({ desktops: ["a"], req_id: "1" });
  assertEquals(await desktop, ["a"]);

  await using computer = new SmcpComputer({
    url: server.url,
    name: "pc",
    servers: {},
  });
  await computer.connect();
  await computer.join(OFFICE);
  const socket = server.sockets.at(-1);
  const ask = (event: string, payload: object) =>
    socket?.timeout(60_000).emitWithAck(event, {
      agent: "planner",
      req_id: "1",
      computer: "pc",
      ...payload,
    });
  const call = { tool_name: "x", timeout: 10 };
  const [refused, tools] = await Promise.all([
    ask("client:tool_call", { ...call, params: { a: braces(60_000) } }),
    ask("client:get_tools", {}),
  ]);
  assertEquals(refused.code, 400);
  assertStringIncludes(refused.message, "more than 100000 values");
  assertEquals(tools.tools, []);
});
