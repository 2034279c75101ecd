import { assertEquals, assertRejects } from "@std/assert";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { openConnection } from "../../../../computer/host/mcp/client_connection.ts";
import { HandshakeError } from "../../../../computer/host/mcp/errors.ts";
import type { ClientConnectionOptions } from "../../../../computer/host/mcp/mcp_connection.ts";

/** The rest of a JSON-RPC answer. */
type Answer = { result: Record<string, unknown> } | {
  error: { code: number; message: string };
};

/** Connects to an MCP server that answers by method, other requests with an error; returns the methods too. */
async function connect(
  answers: Record<string, Answer>,
  more: Partial<ClientConnectionOptions> = {},
) {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const methods: string[] = [];
  far.onmessage = (message: JSONRPCMessage) => {
    if (!("method" in message)) return;
    methods.push(message.method);
    if (!("id" in message)) return;
    const { id } = message;
    const unknown = { error: { code: -32601, message: "Method not found" } };
    const rest = answers[message.method] ?? unknown;
    queueMicrotask(() => void far.send({ jsonrpc: "2.0", id, ...rest }));
  };
  const connection = await openConnection(near, {
    requestMs: 60_000,
    signal: new AbortController().signal,
    ...more,
  });
  return { connection, methods };
}

const SESSION: Answer = {
  result: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "a", version: "1.0.0" },
  },
};
const MODERN: Answer = {
  result: { supportedVersions: ["2026-07-28"], capabilities: { prompts: {} } },
};
const REFUSED: Answer = { error: { code: -32022, message: "no sessions" } };

Deno.test("a server with a session gets nothing that it may not know", async () => {
  const initialize = SESSION;
  const { connection, methods } = await connect({ initialize });
  assertEquals(methods, ["initialize", "notifications/initialized"]);
  assertEquals(connection.capabilities, { tools: {} });
  await connection.close();
});

Deno.test("a server that refuses a session, or keeps none, is asked for the newer revision; what it has counts", async () => {
  const rows: [initialize: Answer, keepsNoSession: boolean][] = [
    [REFUSED, false],
    [{ result: { protocolVersion: "2026-07-28" } }, false],
    [SESSION, true],
  ];
  for (const [initialize, none] of rows) {
    const { connection, methods } = await connect(
      { initialize, "server/discover": MODERN },
      { keepsNoSession: () => none },
    );
    assertEquals(methods.includes("server/discover"), true);
    assertEquals(connection.capabilities, { prompts: {} });
    await connection.close();
  }
  const older: (Answer | undefined)[] = [
    undefined,
    { result: {} },
    { result: { supportedVersions: ["2030-01-01"], capabilities: {} } },
    { result: { supportedVersions: ["2026-07-28"], capabilities: 5 } },
  ];
  for (const answer of older) {
    const { connection } = await connect(
      { initialize: SESSION, ...(answer && { "server/discover": answer }) },
      { keepsNoSession: () => true },
    );
    assertEquals(connection.capabilities, { tools: {} });
    await connection.close();
  }
});

Deno.test("a server that speaks neither revision fails with its answer to initialize", async () => {
  const rows: [answer: Answer, why: string][] = [
    [
      { error: { code: -5, message: "no room" } },
      "is an error: MCP error -5: no room",
    ],
    [{ result: { capabilities: {} } }, 'is not valid: "protocolVersion": '],
    [{ result: { capabilities: {} } }, '"serverInfo": '],
    [
      { result: { ...SESSION.result, protocolVersion: "1".repeat(50) } },
      `has "protocolVersion": "${"1".repeat(40)}", which is not supported`,
    ],
  ];
  for (const [initialize, why] of rows) {
    const { message } = await assertRejects(
      () => connect({ initialize }),
      HandshakeError,
      why,
    );
    assertEquals(message.startsWith('its answer to "initialize" '), true);
  }
});
