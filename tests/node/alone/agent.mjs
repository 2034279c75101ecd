// An Agent with only this package installed: calls a tool at the given Server, and gets an error for
// an unknown Computer.
import assert from "node:assert/strict";
import process from "node:process";
import { ProtocolError, SmcpAgent } from "@a2c-smcp/sdk/agent";
import { SmcpAgent as SameAgent } from "@a2c-smcp/sdk";

assert.equal(SameAgent, SmcpAgent);
const [, , url, office] = process.argv;
const agent = new SmcpAgent({ url, name: "ann" });
await agent.connect();
await agent.join(office);
const { content } = await agent.callTool("pc", "echo", { text: "hello" });
assert.deepEqual(content, [{ type: "text", text: "hello" }]);
await assert.rejects(agent.callTool("nobody", "echo", {}), ProtocolError);
await agent.close();
console.log("works");
