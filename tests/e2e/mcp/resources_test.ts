import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SmcpComputer } from "../../../computer/mod.ts";
import { mcpGateway } from "../../../mcp/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { skillText } from "../../support/computer/skill_servers.ts";
import { ERAS, sdkClient } from "../../support/mcp/clients.ts";
import { pipeCommand, serveOffice } from "../../support/mcp/gateway.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";
import { scratch } from "../../support/scratch.ts";

const DESKTOP = "a2c://pc/desktop";
const SHOWN_WINDOW = `a2c://pc/window/${
  encodeURIComponent("window://fix/main")
}`;
const NOTE = `a2c://pc/resource/fix/${encodeURIComponent("note://9")}`;

const readable = () =>
  fixture({
    resourceList: [
      { uri: "window://fix/main", name: "main" },
      { uri: "note://9", name: "nine" },
    ],
  });

for (const era of ERAS) {
  Deno.test(`${era}: a client reads an office's resources, completes the URIs of its templates, and is refused others`, async () => {
    await using served = await serveOffice({ servers: { fix: readable() } });
    await using client = await sdkClient(served, era);
    const { resources } = await client.listResources();
    assertEquals(resources.map(({ uri }) => uri), [
      DESKTOP,
      SHOWN_WINDOW,
      NOTE,
    ]);
    const { resourceTemplates } = await client.listResourceTemplates();
    assertEquals(resourceTemplates.length, 5);
    const read = async (uri: string) =>
      (await client.readResource({ uri })).contents[0];
    for (
      const [uri, text] of [
        [DESKTOP, "contents of window://fix/main"],
        [SHOWN_WINDOW, "contents of window://fix/main"],
        [NOTE, "contents of note://9"],
      ] as const
    ) {
      const contents = await read(uri);
      assertEquals(contents?.uri, uri);
      assertStringIncludes(JSON.stringify(contents), text);
    }
    await assertRejects(() => read("a2c://nobody/desktop"), Error, '"nobody"');
    await assertRejects(() => read("file:///etc/passwd"), Error, "passwd");
    await assertRejects(() => client.getPrompt({ name: "pc__nothing" }));

    const complete = async (
      uri: string,
      name: string,
      value: string,
      known: Record<string, string> = {},
    ) => {
      const { completion } = await client.complete({
        ref: { type: "ref/resource", uri },
        argument: { name, value },
        context: { arguments: known },
      });
      return completion.values;
    };
    const template = "a2c://{computer}/resource/{server}/{uri}";
    for (
      const [name, value, known, expected] of [
        ["computer", "P", {}, ["pc"]],
        ["server", "", { computer: "pc" }, ["fix"]],
        ["server", "", { computer: "x" }, []],
        ["uri", "note", { computer: "pc", server: "fix" }, ["note://9"]],
      ] as const
    ) {
      assertEquals<unknown>(
        await complete(template, name, value, known),
        expected,
      );
    }
    await assertRejects(
      () => complete("a2c://{other}", "other", ""),
      Error,
      "There is no template",
    );
  });
}

Deno.test("desktopTools show a model the desktop where its client has no resources", async () => {
  await using served = await serveOffice({
    servers: { fix: readable() },
    mcp: { desktopTools: true },
  });
  await using client = await sdkClient(served, "2025");
  const { tools } = await client.listTools();
  assertEquals(
    tools.slice(-3).map(({ name }) => name),
    ["desktop", "find_documents", "read_document"],
  );
  const call = (name: string, args: Record<string, unknown>) =>
    client.callTool({ name, arguments: { computer: "pc", ...args } });
  assertStringIncludes(
    JSON.stringify(await call("desktop", {})),
    "contents of window://fix/main",
  );
  assertEquals((await call("find_documents", { query: "x" })).content, [
    { type: "text", text: "[]" },
  ]);
  const failed = await call("read_document", { uri: "dpe://h/d" });
  assertEquals(failed.isError, true);
});

Deno.test("skills of an office are resources and prompts of its MCP server", async () => {
  await using home = await scratch();
  const folder = join(home.path, "user", "forms");
  await mkdir(join(folder, "scripts"), { recursive: true });
  const body = "Run ${TFROBOT_SKILL_DIR}/scripts/fill.py\n";
  const logo = Buffer.from([0, 255, 1]);
  for (
    const [path, content] of [
      ["SKILL.md", skillText("forms", "Fills in forms.", body)],
      ["scripts/fill.py", "print('ä')\n"],
      ["logo.png", logo],
    ] as const
  ) await writeFile(join(folder, path), content);
  await using served = await serveOffice({
    servers: {},
    computer: { skillHome: home.path },
  });
  await using client = await sdkClient(served, "2025");
  const uriOf = (path: string) =>
    `a2c://pc/skill/forms/${encodeURIComponent(path)}`;
  const uri = uriOf("SKILL.md");
  const { resources } = await client.listResources();
  assertEquals(resources.find((each) => each.uri === uri), {
    uri,
    name: "skill forms (pc)",
    description: "Fills in forms.",
    mimeType: "text/markdown",
  });
  for (
    const [path, mimeType, content] of [
      ["SKILL.md", "text/markdown", { text: body }],
      ["scripts/fill.py", "application/octet-stream", { text: "print('ä')\n" }],
      ["logo.png", "image/png", { blob: logo.toString("base64") }],
    ] as const
  ) {
    const { contents } = await client.readResource({ uri: uriOf(path) });
    assertEquals(contents, [{ uri: uriOf(path), mimeType, ...content }]);
  }
  await assertRejects(
    () => client.readResource({ uri: uriOf("../x") }),
    Error,
    "Skill resource not accessible",
  );

  assertEquals((await client.listPrompts()).prompts, [{
    name: "pc__forms",
    description: "[pc] Fills in forms.",
  }]);
  const { messages } = await client.getPrompt({ name: "pc__forms" });
  const text = body.replace(
    "${TFROBOT_SKILL_DIR}",
    await Deno.realPath(folder),
  );
  assertEquals(messages, [{ role: "user", content: { type: "text", text } }]);

  await client.watch(uri);
  await rm(folder, { recursive: true });
  await client.told(uri);
  // Notifications of how the Computer started may still be on their way.
  for (let count = 1; (await client.listPrompts()).prompts.length > 0;) {
    await client.told("prompts", count++);
  }
});

const shown = (uri: string) =>
  `a2c://pc/resource/fix/${encodeURIComponent(uri)}`;

const ONE = shown("note://1");
const TWO = shown("note://2");
const WINDOW = "window://fix/main";

/** Changes a resource. */
const touch = (computer: SmcpComputer, uri: string) =>
  computer.callTool("touch", { uri });

/** Resolves when the fixture has that many subscriptions. */
const subscribed = (computer: SmcpComputer, count: number) =>
  computer.callTool("subscribed", { count });

for (const era of ERAS) {
  Deno.test(`${era}: a client is notified of the resources that it subscribed to, and of no other`, async () => {
    const resourceList = [{ uri: WINDOW, name: "main" }];
    await using served = await serveOffice({
      servers: { fix: fixture({ resourceList }) },
    });
    const { computer } = served;
    await using ann = await sdkClient(served, era);
    await using bob = await sdkClient(served, era);
    await ann.watch(ONE);
    await bob.watch(TWO, DESKTOP);
    await subscribed(computer, 3);
    await touch(computer, "note://3");
    await touch(computer, "note://1");
    await ann.told(ONE);
    await touch(computer, "note://2");
    await bob.told(TWO);
    // The Computer's first look at its windows may have been announced, too.
    const desktops = bob.notices.filter((notice) => notice === DESKTOP).length;
    assertEquals(ann.notices, [ONE]);
    assertEquals(bob.notices.filter((notice) => notice !== DESKTOP), [TWO]);
    await touch(computer, WINDOW);
    await bob.told(DESKTOP, desktops + 1);
  });

  Deno.test(`${era}: the Computer is unsubscribed from a resource when the last client is`, async () => {
    await using served = await serveOffice();
    const { computer } = served;
    {
      await using ann = await sdkClient(served, era);
      {
        await using bob = await sdkClient(served, era);
        await ann.watch(ONE);
        await bob.watch(ONE);
        await subscribed(computer, 1);
      }
      await touch(computer, "note://1");
      await ann.told(ONE);
      if (era === "2025") await ann.unsubscribeResource({ uri: ONE });
    }
    const { content } = await computer.callTool("unsubscribed");
    assertEquals(content[0]?.text, "none");
  });

  Deno.test(`${era}: a client is notified when an MCP server has other prompts or resources, listed before or not`, async () => {
    await using served = await serveOffice({
      servers: { fix: fixtureHere({ prompts: true }) },
    });
    const { computer } = served;
    await using ann = await sdkClient(served, era);
    await ann.watch();
    await computer.callTool("change_prompts");
    await ann.told("prompts");
    assertEquals(
      (await ann.listPrompts()).prompts.map(({ name }) => name),
      ["pc__prompt-1"],
    );
    await ann.listResources();
    const counts = ["prompts", "resources"].map((list) =>
      ann.notices.filter((each) => each === list).length
    );
    await computer.callTool("change_prompts");
    await ann.told("prompts", (counts[0] ?? 0) + 1);
    await computer.callTool("change_resources");
    await ann.told("resources", (counts[1] ?? 0) + 1);
  });

  Deno.test(`${era}: a client that sees one Computer subscribes by the URIs of its MCP servers too`, async () => {
    await using served = await serveOffice({
      servers: {
        none: fixture({ resources: false, only: ["fail"] }),
        fix: fixture(),
      },
      mcp: { computer: "pc" },
    });
    await using ann = await sdkClient(served, era);
    await ann.watch("note://1");
    await subscribed(served.computer, 1);
    await touch(served.computer, "note://1");
    await ann.told("note://1");
  });

  Deno.test(`${era}, smcp-agent mcp: a client is notified of resources, after a restart of the Server too`, async () => {
    await using first = createSmcpServer({ gateway: mcpGateway() });
    await using second = createSmcpServer({ gateway: mcpGateway() });
    await using proxy = await startProxy((await first.listen()).url);
    await using running = await startComputer(
      { fix: fixtureHere() },
      { url: proxy.url },
    );
    const { computer } = running;
    await using ann = await sdkClient(pipeCommand(proxy.url), era);
    await ann.watch(ONE);
    const change = async () => {
      await subscribed(computer, 1);
      await touch(computer, "note://1");
    };
    await change();
    await ann.told(ONE);
    const back = new Promise((resolve) => computer.on("joined", resolve));
    proxy.turnTo((await second.listen()).url);
    proxy.cut();
    await computer.callTool("unsubscribed"); // the Agent of the first has left
    await back;
    await change();
    await ann.told(ONE, 2);
  });
}

Deno.test("a subscription goes on when the Computer rejoins, and when its MCP server restarts", async () => {
  await using served = await serveOffice();
  const { computer, office: { agent } } = served;
  await using ann = await sdkClient(served, "2025");
  await ann.watch(ONE);
  let count = 0;
  const once = async () => {
    await subscribed(computer, 1);
    await touch(computer, "note://1");
    await ann.told(ONE, count += 1);
  };
  await once();
  await computer.stopServer("fix");
  await computer.startServer("fix");
  await once();
  await computer.leave();
  const back = Promise.withResolvers<void>();
  const off = agent.on("tools", ({ tools }) => {
    if (tools) back.resolve();
  });
  await computer.join(OFFICE);
  await back.promise;
  off();
  await once();
});

Deno.test("a resource without notifications of changes cannot be subscribed to, and the error says so", async () => {
  await using served = await serveOffice({
    servers: { fix: fixtureHere({ resources: "list" }) },
  });
  await using ann = await sdkClient(served, "2025");
  for (
    const [uri, message] of [
      [ONE, "announces no changes of its resources"],
      ["a2c://pc/resource/nobody/x", `There is no MCP server "nobody"`],
      ["note://1", "There is no resource note://1"],
    ] as const
  ) {
    await assertRejects(() => ann.watch(uri), Error, message);
  }
});

Deno.test("an Agent watches a resource until it stops; the next Agent watches nothing", async () => {
  await using pc = await startComputer({ fix: fixtureHere() });
  const { agent } = pc.office;
  await agent.watchResource("pc", "fix", "note://1");
  await agent.watchResource("pc", "fix", "note://1");
  const changed = Promise.withResolvers<unknown>();
  const off = agent.on("updateResources", changed.resolve);
  await touch(pc.computer, "note://1");
  assertEquals(await changed.promise, {
    computer: "pc",
    mcp_server: "fix",
    uri: "note://1",
  });
  off();
  await agent.watchResource("pc", "fix", "note://1", { stop: true });
  await pc.computer.callTool("unsubscribed");
  await agent.watchResource("pc", "fix", "note://2");
  await agent.leave();
  await agent.join(OFFICE);
  await agent.toolsSettled();
  await pc.computer.callTool("unsubscribed");
});

Deno.test("one change is announced as the list that changed, and no other", async () => {
  await using served = await serveOffice({
    servers: {
      fix: fixtureHere({ prompts: true, resourceList: [resource("one")] }),
    },
  });
  const { computer, office } = served;
  await using client = await sdkClient(served, "2026");
  await client.watch();
  const tools = Promise.withResolvers<void>();
  client.setNotificationHandler("notifications/tools/list_changed", () => {
    tools.resolve();
  });
  await client.listen({ toolsListChanged: true });
  await client.listTools();
  await client.listResources();
  await client.listPrompts();
  await computer.callTool("add_tool", { name: "new" });
  await tools.promise;
  await computer.callTool("change_prompts");
  await client.told("prompts");
  assertEquals(client.notices, ["prompts"]);
  await client.listPrompts();
  await computer.callTool("change_resources");
  await client.told("resources");
  assertEquals(client.notices, ["prompts", "resources"]);
  await client.listResources();
  await office.addComputer("other", {
    servers: { fix: fixtureHere({ resourceList: [resource("two")] }) },
  });
  await client.told("resources", 2);
  assertEquals(client.notices, ["prompts", "resources", "resources"]);
});

const resource = (name: string) => ({ uri: `memo://${name}`, name });
