import { assertEquals, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { startComputer } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { isCancelled } from "../../support/mcp/cancelled.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { OFFICE } from "../../support/office.ts";

const PROGRAM = fileURLToPath(
  new URL("../../support/fixtures/mcp_office.ts", import.meta.url),
);

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}, stdio: lists, calls, cancels, and hears of changes`, async () => {
    await using running = await startComputer({ fix: fixtureHere() });
    const { office, computer } = running;
    await office.agent.leave();
    await using client = await connect({
      command: Deno.execPath(),
      args: ["run", "-A", "--quiet", PROGRAM, office.url, OFFICE],
    });
    assertStringIncludes(client.instructions ?? "", "Computers: pc (");
    const names = (await client.tools()).map(({ name }) => name);
    assertEquals(names[0], "pc__echo");
    const { content } = await client.call("pc__echo", { text: "hello" });
    assertEquals(content, [{ type: "text", text: "hello" }]);

    const abort = new AbortController();
    const slow = client.call("pc__slow", {}, { signal: abort.signal })
      .catch((error) => error);
    await client.call("pc__slow_began");
    abort.abort(new Error("enough"));
    await slow;
    await isCancelled(client.call("pc__slow_aborted"));

    await computer.leave();
    await client.changed(1);
    assertEquals(await client.tools(), []);
    await computer.join(OFFICE);
    await client.changed(2);
    assertEquals((await client.tools()).map(({ name }) => name), names);
  });

  Deno.test(`${kind}, stdio: a client that goes cancels its calls, and frees the seat`, async () => {
    await using running = await startComputer({ fix: fixtureHere() });
    const { office } = running;
    await office.agent.leave();
    await using client = await connect({
      command: Deno.execPath(),
      args: ["run", "-A", "--quiet", PROGRAM, office.url, OFFICE],
    });
    const slow = client.call("pc__slow").catch((error) => error);
    await client.call("pc__slow_began");
    await client.close();
    await slow;
    await office.agent.join(OFFICE);
    await isCancelled(office.agent.callTool("pc", "slow_aborted"));
  });
}
