// With @a2c-smcp/computer alone: an MCP server that is a child process, and a VRL program.
import { SmcpComputer, ToolHost } from "@a2c-smcp/computer";

const host: ToolHost = new ToolHost({ servers: {} });
await host.start();
await host.addServer("adder", {
  type: "stdio",
  server_parameters: { command: process.execPath, args: ["mcp_server.mjs"] },
  default_tool_meta: { auto_apply: true },
  vrl: ".text = 1",
});
const { content } = await host.callTool("add", { a: 2, b: 3 });
await host.close();
const works = content[0]?.text === "5" && typeof SmcpComputer === "function";
console.log(works ? "works" : content);
