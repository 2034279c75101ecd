import { assertEquals, assertRejects } from "@std/assert";
import { SmcpComputer } from "../../../computer/mod.ts";
import { mcpGateway } from "../../../mcp/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { serveOffice } from "../../support/mcp/office.ts";
import { pipeCommand } from "../../support/mcp/pipe.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";
import { type Era, watchingClient } from "../../support/mcp/watching_client.ts";

const ERAS: readonly Era[] = ["2025", "2026"];

const shown = (uri: string) =>
  `a2c://pc/resource/fix/${encodeURIComponent(uri)}`;

const [ONE, TWO] = [shown("note://1"), shown("note://2")];

for (const era of ERAS) {
  Deno.test({
    name:
      `a client of ${era} is told of the resources that it subscribed to, and of no other`,
    timeout: 120_000,
  }, async () => {
    await using served = await serveOffice();
    await using ann = await watchingClient(served, era);
    await using bob = await watchingClient(served, era);
    await ann.watch(ONE);
    await bob.watch(TWO, "a2c://pc/desktop");
    const call = (name: string, args: Record<string, unknown> = {}) =>
      ann.client.callTool({ name: `pc__${name}`, arguments: args });
    await call("subscribed", { count: 2 });
    await call("touch", { uri: "note://3" });
    await call("touch", { uri: "note://1" });
    await ann.told(ONE);
    await call("touch", { uri: "note://2" });
    await bob.told(TWO);
    assertEquals([ann.notices, bob.notices], [[ONE], [TWO]]);
  });

  Deno.test({
    name:
      `a Computer of whose resource no client of ${era} wants to know more is told so`,
    timeout: 120_000,
  }, async () => {
    await using served = await serveOffice();
    const call = (name: string, args: Record<string, unknown> = {}) =>
      served.office.agent.callTool("pc", name, args);
    {
      await using ann = await watchingClient(served, era);
      {
        await using bob = await watchingClient(served, era);
        await ann.watch(ONE);
        await bob.watch(ONE);
        await call("subscribed", { count: 1 });
      }
      await call("touch", { uri: "note://1" });
      await ann.told(ONE);
      if (era === "2025") await ann.client.unsubscribeResource({ uri: ONE });
    }
    assertEquals((await call("unsubscribed")).content[0]?.text, "none");
  });

  Deno.test({
    name:
      `a client of ${era} is told when an MCP server has other prompts or resources`,
    timeout: 120_000,
  }, async () => {
    await using served = await serveOffice({
      servers: { fix: fixtureHere({ prompts: true }) },
    });
    await using ann = await watchingClient(served, era);
    await ann.watch();
    assertEquals((await ann.client.listPrompts()).prompts, []);
    await ann.client.listResources();
    await ann.client.callTool({ name: "pc__change_prompts", arguments: {} });
    await ann.told("prompts");
    const { prompts } = await ann.client.listPrompts();
    assertEquals(prompts.map(({ name }) => name), ["pc__prompt-1"]);
    await ann.client.listResources();
    const before = ann.notices.filter((each) => each === "resources").length;
    await ann.client.callTool({ name: "pc__change_resources", arguments: {} });
    await ann.told("resources", before + 1);
  });

  Deno.test({
    name:
      `a client of ${era} is told of other prompts, even if nobody has listed any here`,
    timeout: 120_000,
  }, async () => {
    await using served = await serveOffice({
      servers: { fix: fixtureHere({ prompts: true }) },
    });
    await using ann = await watchingClient(served, era);
    await ann.watch();
    await ann.client.callTool({ name: "pc__change_prompts", arguments: {} });
    await ann.told("prompts");
  });

  Deno.test({
    name:
      `a client of ${era} that sees one Computer subscribes by the URIs of its MCP servers too`,
    timeout: 120_000,
  }, async () => {
    await using served = await serveOffice({
      servers: {
        none: fixture({ resources: false, only: ["fail"] }),
        fix: fixture(),
      },
      mcp: { computer: "pc" },
    });
    await using ann = await watchingClient(served, era);
    await ann.watch("note://1");
    const call = (name: string, args: Record<string, unknown>) =>
      ann.client.callTool({ name, arguments: args });
    await call("subscribed", { count: 1 });
    await call("touch", { uri: "note://1" });
    await ann.told("note://1");
  });
}

for (const era of ERAS) {
  Deno.test({
    name:
      `smcp-agent mcp: a client of ${era} is told of resources, after a restart of the Server too`,
    timeout: 120_000,
  }, async () => {
    const options = () => ({ gateway: mcpGateway() });
    await using first = createSmcpServer(options());
    await using second = createSmcpServer(options());
    await using proxy = await startProxy((await first.listen({ port: 0 })).url);
    await using computer = new SmcpComputer({
      url: proxy.url,
      name: "pc",
      servers: { fix: fixtureHere() },
      confirm: () => "once",
    });
    await computer.connect();
    await computer.serversSettled();
    await computer.join(OFFICE);
    await using ann = await watchingClient(pipeCommand(proxy.url), era);
    await ann.watch(ONE);
    const touch = async () => {
      await computer.callTool("subscribed", { count: 1 });
      await computer.callTool("touch", { uri: "note://1" });
    };
    await touch();
    await ann.told(ONE);
    const back = Promise.withResolvers<void>();
    computer.on("joined", () => back.resolve());
    proxy.turnTo((await second.listen({ port: 0 })).url);
    proxy.cut();
    await computer.callTool("unsubscribed"); // the Agent of the first has left
    await back.promise;
    await touch();
    await ann.told(ONE, 2);
  });
}

Deno.test({
  name:
    "a subscription goes on when the Computer comes back, and when its MCP server does",
  timeout: 120_000,
}, async () => {
  await using served = await serveOffice();
  await using ann = await watchingClient(served, "2025");
  await ann.watch(ONE);
  const { agent } = served.office;
  let count = 0;
  const once = async () => {
    await agent.callTool("pc", "subscribed", { count: 1 });
    await agent.callTool("pc", "touch", { uri: "note://1" });
    await ann.told(ONE, count += 1);
  };
  await once();
  await served.computer.stopServer("fix");
  await served.computer.startServer("fix");
  await once();
  await served.computer.leave();
  const back = Promise.withResolvers<void>();
  const off = agent.on("tools", ({ tools }) => {
    if (tools) back.resolve();
  });
  await served.computer.join(agent.office ?? "");
  await back.promise;
  off();
  await once();
});

Deno.test({
  name: "what tells of no changes cannot be subscribed to, and says so",
  timeout: 120_000,
}, async () => {
  await using served = await serveOffice({
    servers: { fix: fixtureHere({ resources: "list" }) },
  });
  await using ann = await watchingClient(served, "2025");
  for (
    const [uri, message] of [
      [ONE, "tells of no changes of its resources"],
      ["a2c://pc/resource/nobody/x", `There is no MCP server "nobody"`],
      ["note://1", "There is no resource note://1"],
    ] as const
  ) {
    await assertRejects(() => ann.watch(uri), Error, message);
  }
});

Deno.test({
  name:
    "an Agent watches a resource, and may say that it does no more; the next Agent watches nothing",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ fix: fixtureHere() });
  const { agent } = pc.office;
  await agent.watchResource("pc", "fix", "note://1");
  await agent.watchResource("pc", "fix", "note://1");
  const changed = Promise.withResolvers<unknown>();
  const off = agent.on("updateResources", changed.resolve);
  await agent.callTool("pc", "touch", { uri: "note://1" });
  assertEquals(await changed.promise, {
    computer: "pc",
    mcp_server: "fix",
    uri: "note://1",
  });
  off();
  await agent.watchResource("pc", "fix", "note://1", { stop: true });
  await agent.callTool("pc", "unsubscribed");
  await agent.watchResource("pc", "fix", "note://2");
  const office = agent.office ?? "";
  await agent.leave();
  await agent.join(office);
  await agent.toolsSettled();
  await agent.callTool("pc", "unsubscribed");
});
