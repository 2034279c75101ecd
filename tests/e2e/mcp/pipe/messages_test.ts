import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { isCancelled } from "../../../support/mcp/cancelled.ts";
import { CLIENTS } from "../../../support/mcp/clients.ts";
import { serveOffice } from "../../../support/mcp/office.ts";
import { pipeCommand } from "../../../support/mcp/pipe.ts";
import { OFFICE } from "../../../support/office.ts";

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}, smcp-agent mcp: passes lists, calls, progress and changes`, async () => {
    await using running = await serveOffice({ mcp: { heartbeatMs: 10 } });
    await using client = await connect(pipeCommand(running.url));
    assertStringIncludes(client.instructions ?? "", "Computers: pc (");
    const names = (await client.tools()).map(({ name }) => name);
    assertEquals(names[0], "pc__echo");
    const { content } = await client.call("pc__echo", { text: "hello" });
    assertEquals(content, [{ type: "text", text: "hello" }]);

    const alive = Promise.withResolvers<void>();
    const abort = new AbortController();
    const slow = client.call("pc__slow", {}, {
      signal: abort.signal,
      onprogress: () => alive.resolve(),
    });
    await alive.promise;
    abort.abort(new Error("enough"));
    await assertRejects(() => slow);

    const { computer } = running;
    await computer.leave();
    await client.changed(1);
    assertEquals(await client.tools(), []);
    await computer.join(OFFICE);
    await client.changed(2);
    assertEquals((await client.tools()).map(({ name }) => name), names);
  });

  Deno.test(`${kind}, smcp-agent mcp: an aborted call is cancelled at the MCP server`, async () => {
    await using running = await serveOffice();
    await using client = await connect(pipeCommand(running.url));
    const abort = new AbortController();
    const slow = client.call("pc__slow", {}, { signal: abort.signal });
    await client.call("pc__slow_began");
    abort.abort(new Error("enough"));
    await assertRejects(() => slow);
    await isCancelled(client.call("pc__slow_aborted"));
  });

  Deno.test(`${kind}, smcp-agent mcp: a client that goes cancels its calls, and ends the pipe`, async () => {
    await using running = await serveOffice();
    await using client = await connect(pipeCommand(running.url));
    const slow = client.call("pc__slow").catch((error) => error);
    await client.call("pc__slow_began");
    await client.close(); // waits for the end of the process
    await slow;
    await isCancelled(running.office.agent.callTool("pc", "slow_aborted"));
  });
}
