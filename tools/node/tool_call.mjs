// One tool call, end to end: a Server, a Computer with a real MCP server, and an Agent. The
// process has to end by itself: whatever is left open would keep it alive.
import assert from "node:assert/strict";
import process from "node:process";
import { SmcpAgent } from "@a2c-smcp/sdk/agent";
import { SmcpComputer } from "@a2c-smcp/sdk/computer";
import { createSmcpServer } from "@a2c-smcp/sdk/server";

const server = createSmcpServer();
const { url } = await server.listen();

const computer = new SmcpComputer({
  url,
  name: "laptop",
  servers: {
    adder: {
      type: "stdio",
      server_parameters: {
        command: process.execPath,
        args: ["mcp_server.mjs"],
      },
      tool_meta: { add: { auto_apply: true } },
    },
  },
});
await computer.connect();
await computer.join("office");
await computer.serversSettled();

const agent = new SmcpAgent({ url, name: "ann" });
await agent.connect();
await agent.join("office");
const { isError, content } = await agent.callTool("laptop", "add", {
  a: 2,
  b: 3,
});
assert.ok(!isError, JSON.stringify(content));
assert.deepEqual(content, [{ type: "text", text: "5" }]);

await agent.close();
await computer.close();
await server.close();
console.log(`Node ${process.version} calls a tool: 2 + 3 = ${content[0].text}`);
