/**
 * An MCP server in the program itself: an Agent calls it through a Server, as it would one on
 * another machine, and the program calls it too, without any connection.
 *
 * ```sh
 * deno run -A examples/in_process.ts
 * ```
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import { SmcpAgent } from "@a2c-smcp/sdk/agent";
import { SmcpComputer } from "@a2c-smcp/sdk/computer";
import { createSmcpServer } from "@a2c-smcp/sdk/server";

const clock = new McpServer({ name: "clock", version: "1.0.0" });
clock.registerTool(
  "days_between",
  {
    description: "Counts the days between two dates",
    inputSchema: { from: z.iso.date(), to: z.iso.date() },
  },
  ({ from, to }) => {
    const days = (Date.parse(to) - Date.parse(from)) / 86_400_000;
    return { content: [{ type: "text", text: `${days} days` }] };
  },
);

await using server = createSmcpServer();
const { url } = await server.listen();

await using computer = new SmcpComputer({
  url,
  name: "laptop",
  servers: {
    clock: {
      type: "in-process",
      server: clock,
      default_tool_meta: { auto_apply: true },
    },
  },
});
computer.on("callEnded", ({ agent, tool }) => console.log(agent, tool));
await computer.connect();
await computer.serversSettled();
await computer.join("demo");

await using agent = new SmcpAgent({ url, name: "planner" });
await agent.connect();
await agent.join("demo");
const year = { from: "2027-01-01", to: "2028-01-01" };
const fromAfar = await agent.callTool("laptop", "days_between", year);
console.log(fromAfar.content[0]?.text);

const leapYear = { from: "2028-01-01", to: "2029-01-01" };
const fromHere = await computer.callTool("days_between", leapYear);
console.log(fromHere.content[0]?.text);
