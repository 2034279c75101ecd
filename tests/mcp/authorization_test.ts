/**
 * The scenarios of MCP's conformance suite for an authorization server, against the sign-in of a Server:
 * the suite is the program, the test is the person.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { GATEWAY_KEYS } from "../support/mcp/gateway.ts";
import { mcpTools } from "../support/mcp/npm_tools.ts";
import { SignedInServer } from "../support/server/signed_in_server.ts";

/** Returns a port that was free a moment ago: the suite has no way to choose one itself. */
async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

Deno.test({
  name: "the conformance suite's scenarios of an authorization server pass",
  timeout: 120_000,
}, async () => {
  await using server = await SignedInServer.start();
  const port = await unusedPort();
  const redirect = `http://127.0.0.1:${port}/callback`;
  const { id } = await server.register(redirect, "Conformance");
  const tools = await mcpTools();
  await using suite = tools.start("conformance", [
    "authorization",
    ...["--url", server.url],
    ...["--client-id", id],
    ...["--resource", `${server.url}/mcp/north`],
    ...["--port", String(port)],
  ]);
  const [page] = await suite.line(/^http:\/\/\S+\/authorize\?\S+$/);
  const { pathname, search } = new URL(page);
  const to = await server.visit(pathname + search, { key: GATEWAY_KEYS.ann });
  await (await fetch(to)).body?.cancel();
  const { code } = await suite.status;
  const output = suite.lines.join("\n");
  assertEquals(code, 0, output);
  assertEquals(/\b0 failed/.test(output), true, output);
});
