import { assert, assertEquals, assertRejects } from "@std/assert";
import { officeLinkOf } from "../../../computer/computer.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE } from "../../support/office.ts";

Deno.test({
  name:
    "switchServer() changes the name or the Server while the MCP servers keep running",
  timeout: 120_000,
}, async () => {
  await using other = createSmcpServer();
  const { url: elsewhere } = await other.listen({ port: 0 });
  await using pc = await startComputer({ files: fixture({ only: ["pid"] }) });
  const { computer, office: { agent, url } } = pc;
  const link = officeLinkOf(computer);
  const pid = async () => {
    const { content } = await computer.callTool("pid");
    return content[0]?.text;
  };
  const names = async () =>
    (await agent.listRoom()).map(({ name }) => name).sort();
  const before = await pid();
  assert(before);

  await link.switchServer({ name: "workshop" });
  assertEquals(await names(), ["planner"], "it left");
  assertEquals(computer.office, undefined);
  await computer.connect();
  await computer.join(OFFICE);
  assertEquals(await names(), ["planner", "workshop"]);
  const { content } = await agent.callTool("workshop", "pid", {});
  assertEquals(content[0]?.text, before, "the same process");

  await link.switchServer({ url: elsewhere });
  assertEquals(await names(), ["planner"]);
  await computer.connect();
  await computer.join("south");
  assertEquals([computer.url, computer.name], [elsewhere, "workshop"]);
  assertEquals(await pid(), before);

  await assertRejects(() => link.switchServer({ url: "nowhere" }), TypeError);
  assertEquals([computer.url, computer.office], [elsewhere, "south"]);

  await link.switchServer({ url, name: "pc" });
  await computer.connect();
  await computer.join(OFFICE);
  assertEquals(await names(), ["pc", "planner"]);
});
