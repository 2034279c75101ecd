import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { officeMcp } from "../../../mcp/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { serveMcp } from "../../support/mcp/serve.ts";

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: tools are listed and called`, async () => {
    await using running = await startComputer({ fix: fixture() });
    await using mcp = officeMcp(running.office.agent);
    await using served = await serveMcp(mcp);
    await using client = await connect(served);
    const tools = await client.tools();
    const echo = tools.find(({ name }) => name === "pc__echo");
    assertEquals(echo?.description, "[pc] does echo");
    const result = await client.call("pc__echo", { text: "hello" });
    assertEquals(result.content, [{ type: "text", text: "hello" }]);
    assertStringIncludes(client.instructions ?? "", "Computers: pc (");
    assert(tools.every(({ name }) => /^[\w-]{1,48}$/.test(name)));
  });
}
