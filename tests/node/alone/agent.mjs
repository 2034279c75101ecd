// An Agent of the package alone, at the Server whose URL is given: it calls a tool, and hears of
// what it may not do.
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
