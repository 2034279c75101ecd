import { assertEquals, assertRejects } from "@std/assert";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import type {
  JSONRPCMessage,
  JSONRPCRequest,
} from "@modelcontextprotocol/sdk/types.js";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import { openConnection } from "../../../../computer/host/mcp/client_connection.ts";
import type { ClientConnectionOptions } from "../../../../computer/host/mcp/mcp_connection.ts";
import { StdioTransport } from "../../../../computer/host/mcp/stdio.ts";
import { watchTimers } from "../../../support/timers.ts";

/** The rest of a JSON-RPC answer, or none. */
type Answer = { result: Record<string, unknown> } | {
  error: { code: number; message: string };
} | undefined;

/** Connects to an MCP server that starts a session, and answers nothing else unless a test makes it. */
async function silent(
  answer: (request: JSONRPCRequest) => Answer = () => undefined,
  pongMs = 60_000,
  more: Partial<ClientConnectionOptions> = {},
) {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const sent: JSONRPCMessage[] = [];
  far.onmessage = (message: JSONRPCMessage) => {
    sent.push(message);
    if (!("method" in message && "id" in message)) return;
    const { params, id } = message;
    const rest = message.method === "initialize"
      ? {
        result: {
          protocolVersion: String(params?.protocolVersion),
          capabilities: { tools: {} },
          serverInfo: { name: "silent", version: "1.0.0" },
        },
      }
      : answer(message);
    if (rest) {
      queueMicrotask(() => void far.send({ jsonrpc: "2.0", id, ...rest }));
    }
  };
  const connection = await openConnection(near, {
    requestMs: 60_000,
    pongMs,
    ...more,
    signal: new AbortController().signal,
  });
  /** Calls a tool, and aborts the call. */
  const abortCall = async () => {
    const abort = new AbortController();
    const call = connection.callTool("t", {}, { signal: abort.signal });
    abort.abort("enough");
    await assertRejects(() => call);
  };
  /** The methods of messages since the session began. */
  const methods = () =>
    sent.slice(2).flatMap((message) =>
      "method" in message ? [message.method] : []
    );
  return { connection, abortCall, far, sent, methods };
}

Deno.test("a call without an answer is followed by a ping, once nothing else runs on the server", async () => {
  const { connection, abortCall, methods } = await silent();
  const two = new AbortController();
  const call = assertRejects(() =>
    connection.callTool("t", {}, { signal: two.signal })
  );
  await abortCall();
  const calls = ["tools/call", "tools/call", "notifications/cancelled"];
  assertEquals(methods(), calls);
  two.abort("enough");
  await call;
  assertEquals(methods(), [...calls, "notifications/cancelled", "ping"]);
  await connection.close();
});

Deno.test("a server that does not answer a ping is lost; one that does not support it is not", async () => {
  const hung = await silent(undefined, 1);
  const lost = new Promise<Error>((resolve) => hung.connection.onLost(resolve));
  await hung.abortCall();
  assertEquals((await lost).message, "The MCP server no longer answers");

  const pinged = Promise.withResolvers<void>();
  const ignorant = await silent(({ method }) => {
    if (method !== "ping") return undefined;
    setTimeout(pinged.resolve, 0); // after the answer was read
    return { error: { code: -32601, message: "Method not found" } };
  });
  ignorant.connection.onLost(pinged.reject);
  await ignorant.abortCall();
  await pinged.promise;
  await ignorant.connection.close();
});

Deno.test("a server that answers a ping with anything is not lost: another result, or a line that is no message", async () => {
  const rows: ((pings: number) => Answer)[] = [
    () => ({ result: { ok: true } }),
    () => ({ result: { _meta: 5 } }),
    () => undefined,
  ];
  for (const answerOf of rows) {
    const pingedAgain = Promise.withResolvers<void>(); // after the first failed
    let pings = 0;
    const { connection } = await silent(
      ({ method }) => {
        if (method !== "ping") return undefined;
        if (++pings === 3) setTimeout(pingedAgain.resolve, 0);
        return answerOf(pings);
      },
      1,
      { pingEveryMs: 1, answers: () => pings },
    );
    connection.onLost(pingedAgain.reject);
    await pingedAgain.promise;
    await connection.close();
  }
});

Deno.test("StdioTransport counts lines of all kinds as answers", async () => {
  const lines = ["[]", "null", "text", '{"jsonrpc":"2.0","id":1}', " ", "{}"];
  const { servers: [config] } = parseComputerConfig({
    mcpServers: {
      a: {
        command: Deno.execPath(),
        args: ["eval", `console.log(${JSON.stringify(lines.join("\n"))})`],
      },
    },
  });
  if (config?.type !== "stdio") throw new Error("not a child process");
  const transport = new StdioTransport(config.server_parameters);
  const closed = new Promise<void>((resolve) => transport.onclose = resolve);
  await transport.start();
  await closed;
  assertEquals(transport.answers, 5);
});

Deno.test("a server that does not answer a ping while it works is not lost, and its call completes", async () => {
  const pingedAgain = Promise.withResolvers<void>(); // after the first failed
  let pings = 0;
  let call: string | number = "";
  const { connection, far } = await silent(
    ({ method, id }) => {
      if (method === "tools/call") call = id;
      if (method === "ping" && ++pings === 2) pingedAgain.resolve();
      return undefined;
    },
    1,
    { pingEveryMs: 1 },
  );
  connection.onLost(pingedAgain.reject);
  const content = [{ type: "text" as const, text: "done" }];
  const { signal } = new AbortController();
  const result = connection.callTool("t", {}, { signal });
  await Promise.race([result, pingedAgain.promise]);
  await far.send({ jsonrpc: "2.0", id: call, result: { content } });
  assertEquals(await result, { content });
  await connection.close();
});

Deno.test("a call is bounded only by its signal: the MCP SDK's 60 s do not end it, and progress does not extend it", async () => {
  const { connection, far, sent } = await silent();
  const delays: unknown[] = [];
  const abort = new AbortController();
  let call: Promise<unknown>;
  {
    using _ = watchTimers((delay) => delays.push(delay));
    call = connection.callTool("t", {}, { signal: abort.signal });
    const request = sent.find((message) =>
      "method" in message && message.method === "tools/call"
    );
    // Progress is not requested; unrequested progress has no effect.
    assertEquals(Object(request).params._meta, undefined);
    await far.send({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: Object(request).id, progress: 1 },
    });
  }
  assertEquals(delays, []);
  abort.abort("timeout");
  await assertRejects(() => call);
  await connection.close();
});

Deno.test("a list fails as a whole where its caller aborts it, or the connection is lost, between two pages", async () => {
  for (const way of ["Connection closed", "enough"]) {
    const abort = new AbortController();
    const end = (far: InMemoryTransport) => {
      if (way === "enough") abort.abort(new Error(way));
      else void far.close();
    };
    const { connection, far } = await silent(({ params }) => {
      if (params?.cursor !== undefined) return void end(far);
      const inputSchema = { type: "object" };
      return {
        result: { tools: [{ name: "t", inputSchema }], nextCursor: "2" },
      };
    });
    await assertRejects(
      () => connection.listTools({ signal: abort.signal }),
      Error,
      way,
    );
    await connection.close();
  }
});

Deno.test("a list of tools names why some are missing: a page that failed, and invalid entries, 20 at most", async () => {
  const inputSchema = { type: "object" };
  const tools = (count: number, invalid = 0) => [
    ...Array.from({ length: count }, (_, at) => ({
      name: `t${at}`,
      inputSchema,
    })),
    ...Array(invalid).fill({}),
  ];
  const failed =
    "tools/list is not complete: page 2 failed (MCP error -5: no more); what came before is used";
  const nameless = "a tool without a name is left out";
  const rows: [
    pages: (object[] | undefined)[],
    count: number,
    problems: string[],
  ][] = [
    [[tools(2)], 2, []],
    [[tools(2), []], 2, []],
    [[tools(2), undefined], 2, [failed]],
    [[tools(1, 1), undefined], 1, [failed, nameless]],
    [[tools(0, 20)], 0, Array(20).fill(nameless)],
    [[tools(0, 22)], 0, [
      ...Array(20).fill(nameless),
      "2 more entries of its list are invalid",
    ]],
  ];
  for (const [pages, count, problems] of rows) {
    const { connection } = await silent(({ params }) => {
      const at = Number(params?.cursor ?? 0);
      const page = pages[at];
      const nextCursor = at + 1 < pages.length
        ? { nextCursor: `${at + 1}` }
        : {};
      return page
        ? { result: { tools: page, ...nextCursor } }
        : { error: { code: -5, message: "no more" } };
    });
    const list = await connection.listTools();
    assertEquals([list.tools.length, list.problems], [count, problems]);
    await connection.close();
  }
});

Deno.test("the progress of a call goes to its own listener", async () => {
  const tokens: unknown[] = [];
  const { connection, far } = await silent(({ method, params }) => {
    if (method !== "tools/call") return;
    const progressToken = params?._meta?.progressToken;
    tokens.push(progressToken);
    return progressToken === tokens[0]
      ? undefined
      : { result: { content: [] } };
  });
  const report = (progress: number) =>
    far.send({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: Number(tokens[0]), progress },
    });
  const received: unknown[] = [];
  const abort = new AbortController();
  const first = assertRejects(() =>
    connection.callTool("t", {}, {
      signal: abort.signal,
      onProgress: (progress) => received.push(progress),
    })
  );
  await connection.callTool("t", {}, {
    onProgress: () => received.push("another"),
  });
  await report(1);
  abort.abort();
  await first;
  assertEquals(received, [{ progress: 1 }]);
  await connection.close();
});
