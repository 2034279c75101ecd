import { assert, assertEquals } from "@std/assert";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ServerSettings, ToolHost } from "../../../../computer/mod.ts";
import { resultMeta } from "../../../../protocol/mod.ts";
import {
  event,
  startOddHttp,
  stream,
} from "../../../support/fixtures/odd_http.ts";
import vectors from "../../../vectors/authorization.json" with { type: "json" };

/** What an MCP server answers to a call. */
interface Upstream {
  readonly status: number;
  readonly www_authenticate?: string | null;
}

const refuse = (res: ServerResponse, upstream: Upstream): void => {
  const { status, www_authenticate: challenge } = upstream;
  res.writeHead(status, challenge ? { "www-authenticate": challenge } : {})
    .end("Bearer secret-of-the-server");
};

/** Starts an MCP server over HTTP with SSE that works until a tool is called. */
async function startSse(
  upstream: Upstream,
): Promise<{ url: string } & AsyncDisposable> {
  let events: ServerResponse | undefined;
  const http = createServer(async (req, res) => {
    if (req.method === "GET") {
      events = stream(res);
      return void events.write("event: endpoint\ndata: /messages\n\n");
    }
    let body = "";
    for await (const chunk of req) body += chunk;
    const { id, method, params } = JSON.parse(body);
    if (method === "tools/call") return refuse(res, upstream);
    res.writeHead(202).end();
    if (id === undefined) return;
    const result = method === "initialize"
      ? {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "sse", version: "1" },
      }
      : { tools: [{ name: "say", inputSchema: { type: "object" } }] };
    events?.write(event({ id, result }));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/sse`,
    [Symbol.asyncDispose]: () => {
      http.closeAllConnections();
      return new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}

/** Calls a tool; the timeout is far above that of the test, so a call that hangs is seen. */
async function call(settings: ServerSettings) {
  await using host = new ToolHost({
    servers: { "my server": { ...settings, default_tool_meta: YES } },
  });
  await host.start();
  const [tool] = host.listTools();
  assert(tool, JSON.stringify(host.status()));
  return await host.callTool(tool.name, {}, { timeoutMs: 3_600_000 });
}

const YES = { auto_apply: true };

for (
  const [i, { transport, upstream, expected }] of vectors.vectors.entries()
) {
  Deno.test({
    name:
      `0.4 §8.3: vector ${i} of authorization: ${transport}, HTTP ${upstream.status}`,
    timeout: 60_000,
  }, async () => {
    const isSse = transport.startsWith("sse");
    await using server = isSse
      ? await startSse(upstream)
      : await startOddHttp({ say: (res) => refuse(res, upstream) });
    const result = await call({
      type: isSse ? "sse" : "streamable",
      server_parameters: { url: server.url },
    });
    const { error_code, mcp_server, auth_hint } = resultMeta(result);
    assertEquals([error_code, result.isError], [
      expected.error_code,
      expected.isError,
    ]);
    assertEquals([mcp_server, typeof auth_hint], ["my server", "object"]);
    assert(!JSON.stringify(result).includes("secret-of-the-server"));
  });
}

Deno.test({
  name: "0.4 §8.3: HTTP 400 with WWW-Authenticate is about authorization",
  timeout: 60_000,
}, async () => {
  const www_authenticate = 'Bearer error="invalid_request"';
  await using server = await startOddHttp({
    say: (res) => refuse(res, { status: 400, www_authenticate }),
  });
  const result = await call({
    type: "streamable",
    server_parameters: { url: server.url },
  });
  assertEquals(resultMeta(result).error_code, 4006);
});

for (const status of [400, 500, 502, 503]) {
  Deno.test({
    name: `0.4 §8.3: HTTP ${status} is not about authorization`,
    timeout: 60_000,
  }, async () => {
    await using server = await startOddHttp({
      say: (res) => refuse(res, { status }),
    });
    const result = await call({
      type: "streamable",
      server_parameters: { url: server.url },
    });
    assertEquals(resultMeta(result).error_code, 4003);
  });
}
