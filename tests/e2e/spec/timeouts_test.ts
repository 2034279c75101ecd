import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { ServerSettings } from "../../../computer/mod.ts";
import { hostOf } from "../../support/computer/host.ts";

/** An MCP server over HTTP that is silent, either immediately or after opening a session. */
async function silentServer(
  open: boolean,
): Promise<AsyncDisposable & { url: string }> {
  const http = createServer(async (request, response) => {
    if (!open) return; // never an answer
    if (request.method !== "POST") return end(response, 405);
    const { id, method, params } = JSON.parse(await text(request));
    if (id === undefined) return end(response, 202);
    if (method !== "initialize") return;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({
      jsonrpc: "2.0",
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "silent", version: "1.0.0" },
      },
    }));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: () => {
      http.closeAllConnections();
      return new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}

const end = (response: ServerResponse, status: number): void =>
  void response.writeHead(status).end();

async function errorOf(settings: ServerSettings): Promise<string> {
  await using host = hostOf({ a: settings });
  await host.start();
  const { state, error = "" } = host.server("a")!.status;
  assertEquals(state, "failed");
  return error;
}

Deno.test({
  name:
    "timeout limits requests to an MCP server: a duration for streamable, seconds for sse (spec §4)",
  timeout: 120_000,
}, async () => {
  {
    await using server = await silentServer(true);
    const error = await errorOf({
      type: "streamable",
      server_parameters: { url: server.url, timeout: "PT0.05S" },
    });
    // On a busy machine even the acknowledgement of a notification may be too late.
    assertMatch(error, /timed out|did not answer within 0\.05 s/);
  }
  await using server = await silentServer(false);
  const error = await errorOf({
    type: "sse",
    server_parameters: { url: server.url, timeout: 0.05 },
  });
  assertStringIncludes(error, "did not answer within 0.05 s");
});
