import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { assertEquals, assertRejects } from "@std/assert";
import {
  CONNECTION_CLOSED,
  mcpErrorCode,
  REQUEST_TIMEOUT,
  sdkFailure,
} from "../../../../computer/host/mcp/errors.ts";

/** A client whose server answers listing tools with an error, and calls never. */
async function connected() {
  const server = new Server({ name: "s", version: "1" }, {
    capabilities: { tools: {} },
  });
  const called = Promise.withResolvers<void>();
  server.setRequestHandler(CallToolRequestSchema, () => {
    called.resolve();
    return new Promise<never>(() => {});
  });
  let code = 0;
  server.setRequestHandler(ListToolsRequestSchema, () => {
    throw new McpError(code, "said by the server");
  });
  const client = new Client({ name: "c", version: "1" });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(a), client.connect(b)]);
  return {
    client,
    called: called.promise,
    answerWith: (wanted: number) => code = wanted,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

Deno.test("sdkFailure() knows the errors of the MCP SDK: a lost connection, and no answer in time", async () => {
  await using late = await connected();
  const timeout = await assertRejects(
    () => late.client.callTool({ name: "x" }, undefined, { timeout: 1 }),
    Error,
  );
  assertEquals(sdkFailure(timeout), "timeout");
  await using lost = await connected();
  const calling = assertRejects(
    () => lost.client.callTool({ name: "x" }),
    Error,
  );
  await lost.called;
  await lost.client.close();
  assertEquals(sdkFailure(await calling), "closed");
});

Deno.test("sdkFailure() leaves an MCP server its own errors with the same codes", async () => {
  await using office = await connected();
  for (const code of [CONNECTION_CLOSED, REQUEST_TIMEOUT]) {
    office.answerWith(code);
    const error = await assertRejects(() => office.client.listTools(), Error);
    assertEquals(mcpErrorCode(error), code);
    assertEquals(sdkFailure(error), undefined);
  }
});
