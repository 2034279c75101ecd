// An office as one MCP server, against the installed package.
import { getRequestListener } from "@hono/node-server";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";
import { officeMcp } from "@a2c-smcp/sdk/mcp";
import { startOffice } from "@a2c-smcp/sdk/testing";

/** A client that is connected to an MCP server. */
async function connect(t, url, fetch) {
  const client = new Client({ name: "node", version: "1.0.0" });
  const options = fetch ? { fetch } : {};
  await client.connect(new StreamableHTTPClientTransport(url, options));
  t.after(() => client.close());
  return client;
}

test("mcp: a client calls a tool over HTTP and in process", async (t) => {
  const office = await startOffice({
    computers: {
      pc: {
        servers: {
          fixture: {
            type: "stdio",
            server_parameters: {
              command: process.execPath,
              args: ["mcp_server.mjs"],
            },
          },
        },
      },
    },
  });
  t.after(() => office.close());
  const mcp = officeMcp(office.agent);
  t.after(() => mcp.close());
  const server = createServer(
    getRequestListener((request) => mcp.handle(request)),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
  const inProcess = new URL("http://office/mcp");
  for (
    const client of [
      await connect(t, url),
      await connect(t, inProcess, mcp.fetch),
    ]
  ) {
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === "pc__add"));
    const { content } = await client.callTool({
      name: "pc__add",
      arguments: { a: 2, b: 3 },
    });
    assert.equal(content[0].text, "5");
  }
});
