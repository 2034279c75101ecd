// With @a2c-smcp/mcp alone, beside the Server and the Agent whose office it shows.
import { SmcpAgent } from "@a2c-smcp/agent";
import { mcpGateway, officeMcp } from "@a2c-smcp/mcp";
import { createSmcpServer } from "@a2c-smcp/server";

const initialize = {
  method: "POST",
  headers: {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
  },
  body: JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    },
  }),
};
await using server = createSmcpServer({ gateway: mcpGateway() });
const { url } = await server.listen({ port: 0 });
await using agent = new SmcpAgent({ url, name: "mcp" });
await agent.connect();
await agent.join("north");
await using office = officeMcp(agent);
const own = await office.fetch("http://office/mcp", initialize);
await own.text();
const served = await fetch(`${url}/mcp/south`, initialize);
await served.text();
console.log(own.ok && served.ok ? "works" : [own.status, served.status]);
