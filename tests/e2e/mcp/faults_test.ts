import { assertEquals } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { officeMcp } from "../../../mcp/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { serveMcp } from "../../support/mcp/serve.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a Server that ends and has a successor costs the running calls, and no client reconnects`, async () => {
    await using first = createSmcpServer();
    await using second = createSmcpServer();
    await using proxy = await startProxy((await first.listen({ port: 0 })).url);
    const { url } = proxy;
    await using computer = new SmcpComputer({
      url,
      name: "pc",
      servers: { fix: fixtureHere() },
      confirm: () => "once",
    });
    await computer.connect();
    await computer.serversSettled();
    await computer.join(OFFICE);
    await using agent = new SmcpAgent({ url, name: "mcp" });
    await agent.connect();
    await agent.join(OFFICE);
    await using mcp = officeMcp(agent);
    await using served = await serveMcp(mcp);
    await using client = await connect(served);
    const before = await client.tools();
    const slow = client.call("pc__slow");
    await client.call("pc__slow_began");

    const back = Promise.withResolvers<void>();
    agent.on("disconnected", () => {
      agent.on("tools", ({ tools }) => {
        if (tools !== undefined) back.resolve();
      });
    });
    proxy.turnTo((await second.listen({ port: 0 })).url);
    proxy.cut(); // as a Server does that is killed
    const lost = await slow;
    assertEquals([lost.isError, lost._meta?.error_code], [true, "lost"]);
    await back.promise;
    const result = await client.call("pc__echo", { text: "again" });
    assertEquals(result.content, [{ type: "text", text: "again" }]);
    assertEquals(await client.tools(), before);
  });
}
