import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createInterface } from "node:readline";
import { ConnectionError } from "../../../agent/mod.ts";
import { mcpGateway } from "../../../mcp/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import {
  CLIENTS,
  isCancelled,
  type TestClient,
} from "../../support/mcp/clients.ts";
import {
  GATEWAY_KEYS,
  pipeCommand,
  serveOffice,
  startGateway,
} from "../../support/mcp/gateway.ts";
import { INITIALIZE, LIST_TOOLS, message } from "../../support/mcp/post.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";

/** In real time: uses do not set such timers, so their delays are not those of the options. */
const ABANDONED_MS = 500;
const SEAT_IDLE_MS = 500;

type Kill = (name: "SIGKILL") => void;

const echo = async (client: TestClient, text: string) => {
  const { content } = await client.call("pc__echo", { text });
  assertEquals(content, [{ type: "text", text }]);
};

const namesOf = async (client: TestClient) =>
  (await client.tools()).map(({ name }) => name);

/**
 * Waits for a list of tools, which is read once and again at each notification of its change.
 *
 * There is more than one where another Server begins to answer, or its tools come late.
 */
async function toolsBecome(client: TestClient, names: readonly string[]) {
  for (;;) {
    const count = client.changes();
    if ((await namesOf(client)).join() === names.join()) return;
    await client.changed(count + 1);
  }
}

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}, smcp-agent mcp: a Server that ends and has a successor: no client reconnects`, async () => {
    await using first = createSmcpServer({ gateway: mcpGateway() });
    await using second = createSmcpServer({ gateway: mcpGateway() });
    await using proxy = await startProxy((await first.listen()).url);
    await using running = await startComputer(
      { fix: fixtureHere() },
      { url: proxy.url },
    );
    await using client = await connect(pipeCommand(proxy.url));
    const before = await client.tools();
    await echo(client, "first");
    const slow = client.call("pc__slow").catch((error) => error);
    await client.call("pc__slow_began");

    const back = new Promise((resolve) =>
      running.computer.on("joined", resolve)
    );
    proxy.turnTo((await second.listen()).url);
    proxy.cut(); // as a Server does that is killed
    assertStringIncludes(String(await slow), "before the answer");
    await back;
    await toolsBecome(client, before.map(({ name }) => name));
    assertEquals(await client.tools(), before);
    await echo(client, "second");
  });

  for (
    const [server, gateway, reason] of [
      ["without MCP", undefined, "stop the other one"],
      ["with MCP", mcpGateway(), `its Agent "planner"`],
    ] as const
  ) {
    Deno.test(`${kind}, smcp-agent mcp: while an Agent has the seat of a Server ${server}, it waits with a reason, and tools come when it is free`, async () => {
      await using running = await startComputer(
        { fix: fixtureHere() },
        {},
        { server: gateway ? { gateway } : {} },
      );
      const { computer, office: { agent, url } } = running;
      await using client = await connect(pipeCommand(url));
      assertStringIncludes(client.instructions ?? "", reason);
      assertEquals(await client.tools(), []);
      const refused = await client.call("pc__echo", { text: "early" });
      assert(refused.isError);
      await agent.leave();
      await client.changed(1);
      await echo(client, "free");
      const names = await namesOf(client);
      await computer.leave();
      await toolsBecome(client, []);
      await computer.join(OFFICE);
      await toolsBecome(client, names);
      await client.close();
      if (!gateway) await agent.join(OFFICE); // it has given the seat up
    });
  }

  Deno.test(`${kind}, smcp-agent mcp: killed during a call: the call is cancelled at the Computer, and the seat given up`, async () => {
    await using served = await startGateway({
      gateway: { abandonedMs: ABANDONED_MS, seatIdleMs: SEAT_IDLE_MS },
      servers: { fix: fixture() },
    });
    const { agent, url } = served.office;
    const started = Promise.withResolvers<Kill>();
    await using client = await connect({
      ...pipeCommand(url),
      started: started.resolve,
    });
    const slow = client.call("pc__slow").catch((error) => String(error));
    await client.call("pc__slow_began");
    (await started.promise)("SIGKILL");
    await slow;
    while (agent.office === undefined) {
      try {
        await agent.join(OFFICE);
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        assertEquals(error.code, "refused");
      }
    }
    await isCancelled(agent.callTool("pc", "slow_aborted"));
  });

  Deno.test(`${kind}, smcp-agent mcp: takes its key as the other commands do, and says what is missing`, async () => {
    await using served = await startGateway({ keys: true });
    const command = pipeCommand(served.url);
    await assertRejects(
      () => connect(command),
      Error,
      kind === "v2, 2026" // its message is of its own failure alone
        ? "Version negotiation failed"
        : "give a key of this Server with --api-key (SMCP_API_KEY)",
    );
    const env = { SMCP_API_KEY: GATEWAY_KEYS.ann };
    await using client = await connect({ ...command, env });
    await echo(client, "hello");
  });
}

Deno.test("smcp-agent mcp: a Server that is not there yet is found when it is", async () => {
  await using served = await startGateway();
  // It keeps the port, which a Server of another test might take.
  const nobody = createServer((socket) => socket.destroy());
  await once(nobody.listen(0, "127.0.0.1"), "listening");
  const { port } = nobody.address() as AddressInfo;
  await using proxy = await startProxy(`http://127.0.0.1:${port}`);
  await using client = await CLIENTS["v2, 2026"]!(pipeCommand(proxy.url));
  assertStringIncludes(client.instructions ?? "", "Cannot reach the Server");
  proxy.turnTo(served.office.url);
  await client.changed(1);
  await echo(client, "there");
  await new Promise((resolve) => nobody.close(resolve));
});

Deno.test("smcp-agent mcp: of five copies at once two are killed; the calls of those end, the others go on", async () => {
  await using served = await startGateway({ servers: { fix: fixtureHere() } });
  await using stack = new AsyncDisposableStack();
  const connects = Object.values(CLIENTS);
  const [modern, unlucky, ...rest] = await Promise.all(
    [2, 1, 0, 1, 0].map(async (kind) => {
      const started = Promise.withResolvers<Kill>();
      const command = { ...pipeCommand(served.url), started: started.resolve };
      const client = stack.use(await connects[kind]!(command));
      await echo(client, `copy ${kind}`);
      return { client, kill: await started.promise };
    }),
  );
  const slow = modern!.client.call("pc__slow").catch((error) => error);
  await modern!.client.call("pc__slow_began");
  for (const copy of [modern, unlucky]) copy!.kill("SIGKILL");
  await slow;
  await isCancelled(rest[0]!.client.call("pc__slow_aborted"));
  await Promise.all(rest.map(({ client }, i) => echo(client, `still ${i}`)));
});

/** The command as a process, with the JSON of its lines. */
function startPipe(url: string | URL, ...flags: string[]) {
  const { command, args } = pipeCommand(url, ...flags);
  const child = spawn(command, args, { stdio: "pipe" });
  let errors = "";
  child.stderr.on("data", (bytes) => errors += bytes);
  child.stdin.on("error", () => {}); // it has ended
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  /** The next answer; what it notifies of is passed over. */
  const next = async () => {
    for (;;) {
      const message = JSON.parse(String((await lines.next()).value));
      if (message.method === undefined) return message;
    }
  };
  return {
    child,
    ended: once(child, "close").then(([code]) => code),
    errors: () => errors,
    next,
    /** Reads the lines that are left. */
    rest: () => Array.fromAsync({ [Symbol.asyncIterator]: () => lines }),
    ask: async (line: string) => {
      child.stdin.write(`${line}\n`);
      return await next();
    },
  };
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`smcp-agent mcp: ${signal} ends it, and its session`, async () => {
    await using office = await serveOffice({ mcp: { maxSessions: 1 } });
    const pipe = startPipe(office.url);
    const { id, result } = await pipe.ask(INITIALIZE);
    assertEquals([id, result.serverInfo.name], [1, "a2c-smcp"]);
    assertEquals((await pipe.ask(LIST_TOOLS)).id, 2);
    Deno.kill(pipe.child.pid ?? 0, signal); // after `kill()` of Deno the code is that of the signal
    assertEquals([await pipe.ended, pipe.errors()], [0, ""]);
    const next = startPipe(office.url); // there is room for its session
    assertEquals((await next.ask(INITIALIZE)).id, 1);
    next.child.stdin.end();
    assertEquals(await next.ended, 0);
  });
}

Deno.test("smcp-agent mcp: a client that reads no more ends it", async () => {
  await using office = await serveOffice();
  const pipe = startPipe(office.url);
  await pipe.ask(INITIALIZE);
  pipe.child.stdout.destroy();
  // The first answers may still fit into the pipe, which is closed a moment after `destroy()`.
  const asking = setInterval(
    () => pipe.child.stdin.write(`${LIST_TOOLS}\n`),
    50,
  );
  try {
    assertEquals(await pipe.ended, 0);
  } finally {
    clearInterval(asking);
  }
});

Deno.test("smcp-agent mcp: a line that is no message is answered, with one line on stderr; refusals of the Server are errors of the request", async () => {
  await using office = await serveOffice({ mcp: { computer: "pc" } });
  const pipe = startPipe(office.url, "--computer", "other");
  const rows: [line: string, id: unknown, code: number][] = [
    ["hello", null, -32700],
    ['{"jsonrpc":"2.0","id":5,"method":"ping"', null, -32700],
    ["{}", null, -32600],
    ["[]", null, -32600],
    ["5", null, -32600],
    [`[${Array(101).fill(message(7, "ping"))}]`, null, -32600],
    ['{"jsonrpc":"2.0","id":4}', 4, -32600],
    ['{"id":"x","method":"ping"}', "x", -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', null, -32600],
    // Of an answer the id is one of the Server's.
    ['{"jsonrpc":"2.0","id":1,"result":5}', null, -32600],
    [
      `{"jsonrpc":"2.0","id":6,"method":"x","params":"${
        "x".repeat(11_000_000)
      }`,
      6,
      -32600,
    ],
  ];
  for (const [line, id, code] of rows) {
    const answer = await pipe.ask(line);
    assertEquals([answer.id, answer.error.code], [id, code], line.slice(0, 99));
  }
  const { id, error } = await pipe.ask(`\r\n\n${INITIALIZE}`);
  assertEquals([id, error.message], [
    1,
    'Cannot use computer "other": only "pc" is served here',
  ]);
  pipe.child.stdin.end();
  assertEquals(await pipe.ended, 0);
  const lines = pipe.errors().trimEnd().split("\n");
  assertEquals(lines.length, rows.length + 1, pipe.errors());
  for (const line of lines) assertStringIncludes(line, "smcp-agent mcp: ");
});

for (const way of ["the Server", "a seat of its own"]) {
  Deno.test(`smcp-agent mcp, by ${way}: requests of one id get each its own answer, and a cancellation ends all of its id`, async () => {
    const server = way === "the Server" ? { gateway: mcpGateway() } : {};
    await using running = await startComputer(
      { fix: fixtureHere() },
      {},
      { server },
    );
    await running.office.agent.leave();
    const pipe = startPipe(running.office.url);
    await pipe.ask(INITIALIZE);
    const call = (id: number, name: string, args = {}) => {
      const params = { name: `pc__${name}`, arguments: args };
      const message = { jsonrpc: "2.0", id, method: "tools/call", params };
      pipe.child.stdin.write(`${JSON.stringify(message)}\n`);
    };
    call(5, "slow");
    call(6, "slow_began");
    assertEquals((await pipe.next()).id, 6);
    for (const text of ["a", "b"]) {
      call(5, "echo", { text });
      const { id, result } = await pipe.next();
      assertEquals([id, result.content[0].text], [5, text]);
    }
    const params = { requestId: 5 };
    const cancel = {
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params,
    };
    pipe.child.stdin.write(`${JSON.stringify(cancel)}\n`);
    call(7, "slow_aborted");
    assertEquals((await pipe.next()).id, 7);
    pipe.child.stdin.end();
    assertEquals(await pipe.ended, 0);
  });
}

/** What a script writes at once, before it reads anything. */
/** Requests before `initialize`, and a batch. */
const EARLY = [
  message(2, "ping"),
  message(9, "tools/list"),
  INITIALIZE,
  '{"jsonrpc":"2.0","method":"notifications/initialized"}',
  `[${message(2, "ping")},{"jsonrpc":"2.0","id":3},${message(4, "ping")}]`,
  message(5, "ping"),
];

for (
  const [sequel, lines] of [
    ["and each message of a batch after it", EARLY],
    ["also where it never comes", EARLY.slice(0, 2)],
  ] as const
) {
  Deno.test(`smcp-agent mcp: requests before initialize are answered, ${sequel}`, async () => {
    await using office = await serveOffice();
    const pipe = startPipe(office.url);
    pipe.child.stdin.end(lines.join("\n"));
    assertEquals(await pipe.ended, 0);
    const answers = (await pipe.rest()).map((line) => JSON.parse(line))
      .filter(({ method }) => method === undefined);
    const [ping, early, initialized, ...batch] = answers;
    assertEquals(ping, { jsonrpc: "2.0", id: 2, result: {} });
    assertEquals([early.id, early.error.code], [9, -32600]);
    assertStringIncludes(early.error.message, 'send "initialize" first');
    if (lines !== EARLY) return assertEquals(answers.length, 2);
    assertEquals(initialized.result.serverInfo !== undefined, true);
    assertEquals(
      batch.map(({ id, error }) => [id, error?.code]),
      [[2, undefined], [3, -32600], [4, undefined], [5, undefined]],
    );
  });
}

const BURST = [
  INITIALIZE,
  message(2, "ping"),
  '{"jsonrpc":"2.0","method":"notifications/initialized"}',
  message(3, "tools/call", { name: "pc__echo", arguments: { text: "hi" } }),
  '{"jsonrpc":"2.0","id":4}',
  LIST_TOOLS.replace('"id":2', '"id":5'),
  message(6, "ping"),
];

for (
  const [kind, gateway] of [["a Server", mcpGateway()], [
    "a seat",
    undefined,
  ]] as const
) {
  Deno.test(`smcp-agent mcp, ${kind}: messages before the answer to initialize are answered in their order, also after the end of the input`, async () => {
    await using running = await startComputer(
      { fix: fixtureHere() },
      {},
      { server: gateway ? { gateway } : {} },
    );
    await running.office.agent.leave();
    for (const end of ["\n", ""]) {
      const pipe = startPipe(running.office.url);
      pipe.child.stdin.end(BURST.join("\n") + end);
      assertEquals(await pipe.ended, 0);
      const answers = (await pipe.rest()).map((line) => JSON.parse(line))
        .filter(({ method }) => method === undefined);
      assertEquals(answers.map(({ id }) => id), [1, 2, 3, 4, 5, 6]);
      const codes = answers.map(({ error }) => error?.code);
      assertEquals(codes.filter(Boolean), [-32600]);
      assertEquals(answers[2].result.content[0].text, "hi");
    }
  });
}
