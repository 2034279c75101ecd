/**
 * A Computer in a program: it hosts an MCP server, renames one of its tools, asks before each call,
 * and prints what happens.
 *
 * ```sh
 * deno run -A examples/computer.ts
 * ```
 *
 * @module
 */
import { resultMeta, SmcpAgent } from "@a2c-smcp/sdk/agent";
import { SmcpComputer } from "@a2c-smcp/sdk/computer";
import { createSmcpServer } from "@a2c-smcp/sdk/server";
import { notes } from "./notes.ts";

await using server = createSmcpServer();
const { url } = await server.listen();

await using computer = new SmcpComputer({
  url,
  name: "laptop",
  servers: { notes: { ...notes, tool_meta: { add_note: { alias: "note" } } } },
  confirm: ({ agent, name, params }) => {
    console.log(`${agent} calls ${name} with ${JSON.stringify(params)}`);
    return String(params.text).includes("secret") ? "no" : "once";
  },
});
computer.on("serverState", ({ name, state }) => console.log(name, state));
computer.on("callEnded", ({ tool, result }) => {
  console.log(tool, result?.isError ? "failed" : "is done");
});
await computer.connect();
await computer.serversSettled();
await computer.join("demo");

await using agent = new SmcpAgent({ url, name: "planner" });
await agent.connect();
await agent.join("demo");
await agent.callTool("laptop", "note", { text: "buy milk" });
const refused = await agent.callTool("laptop", "note", { text: "a secret" });
console.log("error_code", resultMeta(refused).error_code);
console.log((await agent.getDesktop("laptop")).join("\n"));
