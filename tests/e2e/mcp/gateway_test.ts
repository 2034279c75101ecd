import { assertEquals, assertStringIncludes } from "@std/assert";
import { mcpGateway } from "../../../mcp/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { INITIALIZE, JSON_HEADERS, refusalOf } from "../../support/mcp/raw.ts";

/** An office with a gateway, and the Agent "planner" with its hands off the seat. */
async function startGateway(options: Parameters<typeof mcpGateway>[0] = {}) {
  const running = await startComputer({ fix: fixture() }, {}, {
    server: { gateway: mcpGateway(options) },
  });
  await running.office.agent.leave();
  const url = new URL("/mcp/north", running.office.url);
  return { ...running, url };
}

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a Server with a gateway serves its office`, async () => {
    await using running = await startGateway();
    await using client = await connect(running);
    const { content } = await client.call("pc__echo", { text: "hello" });
    assertEquals(content, [{ type: "text", text: "hello" }]);
    await client.terminate();
  });
}

Deno.test("while an Agent has the seat, requests are refused with its name; they are served when it has left", async () => {
  await using running = await startGateway();
  const { office, url } = running;
  await office.agent.join("north");
  const send = () =>
    fetch(url, { method: "POST", headers: JSON_HEADERS, body: INITIALIZE });
  const { status, code, message } = await refusalOf(await send());
  assertEquals([status, code], [503, -32000]);
  assertStringIncludes(String(message), `is in use by its Agent "planner"`);
  await office.agent.leave();
  const served = await send();
  assertEquals(served.status, 200);
  await served.text();
});
