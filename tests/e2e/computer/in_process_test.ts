import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
// @ts-types="@modelcontextprotocol/sdk/inMemory"
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import {
  ConfigError,
  type InProcessServer,
  resultMeta,
  type ServerState,
  ToolHost,
} from "../../../computer/mod.ts";
import { ONCE } from "../../support/computer/host.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { createFixture } from "../../support/fixtures/sdk_fixture.ts";

/** Resolves when an event comes. */
const next = <T>(on: (listener: (value: T) => void) => unknown) =>
  new Promise<T>((resolve) => on(resolve));

/** A server whose tool adds up. */
function adder(): McpServer {
  const server = new McpServer({ name: "adder", version: "1.0.0" });
  server.registerTool(
    "add",
    { inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => ({ content: [{ type: "text", text: `${a + b}` }] }),
  );
  return server;
}

/** The settings of a server in this process, whose tools may all run. */
const local = (server: InProcessServer) => ({
  type: "in-process" as const,
  server,
  default_tool_meta: { auto_apply: true },
});

const reached = (host: ToolHost, wanted: ServerState) =>
  new Promise<void>((resolve) => {
    const off = host.on("serverState", ({ state }) => {
      if (state !== wanted) return;
      off();
      resolve();
    });
  });

Deno.test("an Agent calls a tool of an MCP server in the Computer's process", async (t) => {
  await using pc = await startComputer({
    sums: { ...local(adder()), tool_meta: { add: { alias: "plus" } } },
    fixture: local(createFixture({
      resourceList: [{ uri: "window://f/one", name: "one" }],
    })),
  });
  const { computer, office: { agent } } = pc;
  await t.step("with its result", async () => {
    const result = await agent.callTool("pc", "plus", { a: 2, b: 3 });
    assertEquals(result.content, [{ type: "text", text: "5" }]);
  });
  await t.step("and it is listed as any other", async () => {
    const [tool] = await agent.getTools("pc");
    assertEquals([tool?.name, tool?.meta?.a2c_mcp_server], ["plus", "sums"]);
    assertEquals(computer.status().servers[0]?.type, "in-process");
  });
  await t.step(
    "the configuration has no type for it, so it is left out",
    async () => {
      assertEquals((await agent.getConfig("pc")).servers, {});
    },
  );
  await t.step(
    "a call that the Agent cancels is aborted in the server",
    async () => {
      const abort = new AbortController();
      const began = agent.callTool("pc", "slow_began");
      const slow = agent.callTool("pc", "slow", {}, { signal: abort.signal });
      await began;
      abort.abort(new Error("enough"));
      await assertRejects(() => slow, Error, "enough");
      const { content } = await agent.callTool("pc", "slow_aborted");
      assertEquals(content[0]?.text, "it was aborted");
    },
  );
  await t.step(
    "its windows are on the desktop, and their changes are announced",
    async () => {
      const [window = ""] = await agent.getDesktop("pc");
      assertStringIncludes(window, "window://f/one");
      const told = next((l) => agent.on("updateDesktop", l));
      await agent.callTool("pc", "touch", { uri: "window://f/one" });
      await told;
    },
  );
  await t.step("a tool that it adds is announced", async () => {
    const told = next((l) => agent.on("updateToolList", l));
    await agent.callTool("pc", "add_tool", { name: "later" });
    await told;
    const names = (await agent.getTools("pc")).map(({ name }) => name);
    assert(names.includes("later"));
  });
});

Deno.test("an MCP server in this process starts, stops, and starts again", async () => {
  const server = adder();
  await using host = new ToolHost({ servers: { sums: local(server) } });
  const sum = async () => (await host.callTool("add", { a: 1, b: 1 })).content;
  await host.start();
  assertEquals(await sum(), [{ type: "text", text: "2" }]);

  await host.stopServer("sums");
  assert(!server.isConnected());
  assertEquals(host.listTools(), []);
  await host.startServer("sums");
  assertEquals(await sum(), [{ type: "text", text: "2" }]);

  const back = reached(host, "running");
  await server.close(); // as a crash: it is connected again
  await back;
  assertEquals(host.status().servers[0]?.restarts, 1);
  assertEquals(await sum(), [{ type: "text", text: "2" }]);

  await host.updateServer("sums", { ...local(server), tool_prefix: "auto" });
  assertEquals(host.listTools().map(({ name }) => name), ["sums_add"]);
  await host.removeServer("sums");
  assert(!server.isConnected());
  await host.addServer("again", local(server));
  assertEquals(await sum(), [{ type: "text", text: "2" }]);
  await host.close();
  assert(!server.isConnected());
});

Deno.test("configure() replaces an MCP server in this process only by another instance", async () => {
  const [first, second] = [adder(), adder()];
  await using host = new ToolHost({ servers: { sums: local(first) } });
  await host.start();
  const config = (server: McpServer) => ({
    inputs: [],
    servers: [{
      ...local(server),
      name: "sums",
      disabled: false,
      forbidden_tools: [],
      tool_meta: {},
    }],
  });
  const same = await host.configure(config(first));
  assertEquals([same.add, same.update, same.remove], [[], [], []]);
  const other = await host.configure(config(second));
  assertEquals(other.update.map(({ name }) => name), ["sums"]);
  assert(!first.isConnected() && second.isConnected());
});

Deno.test("an MCP server that is already connected fails, with the reason", async () => {
  const server = adder();
  const [, elsewhere] = InMemoryTransport.createLinkedPair();
  await server.connect(elsewhere);
  await using host = new ToolHost({
    servers: { sums: local(server) },
    restart: { minDelayMs: 2_000 }, // it is still failed when the host has started
  });
  await host.start();
  const [status] = host.status().servers;
  assertEquals(status?.state, "failed");
  assertStringIncludes(
    status?.error ?? "",
    "it cannot be connected: Already connected to a transport",
  );
  const back = reached(host, "running");
  await server.close();
  await back;
});

Deno.test("a connection attempt that never ends times out", async () => {
  await using host = new ToolHost({
    servers: { mute: local({ connect: () => new Promise(() => {}) }) },
    startTimeoutMs: 1,
    restart: ONCE,
  });
  await host.start();
  const [status] = host.status().servers;
  assertEquals(status?.state, "failed");
  assertStringIncludes(status?.error ?? "", "not ready within");
});

Deno.test("answers of an MCP server in this process are copied as JSON", async () => {
  const shared = { type: "text" as const, text: "before", extra: undefined };
  const server = new McpServer({ name: "odd", version: "1.0.0" });
  const params: Record<string, unknown>[] = [];
  server.registerTool(
    "shared",
    { inputSchema: { list: z.array(z.number()) } },
    (given) => {
      params.push(given);
      given.list.push(4);
      return { content: [shared] };
    },
  );
  server.registerTool("huge", {}, () => ({
    content: [],
    structuredContent: { value: 1n },
  }));
  await using host = new ToolHost({ servers: { odd: local(server) } });
  await host.start();
  const list = [1];
  const result = await host.callTool("shared", { list });
  shared.text = "after";
  assertEquals(result.content, [{ type: "text", text: "before" }]);
  assertEquals([list, params], [[1], [{ list: [1, 4] }]]);
  const huge = await host.callTool("huge");
  assertEquals([huge.isError, resultMeta(huge).error_code], [true, 4003]);
  assertStringIncludes(huge.content[0]?.text ?? "", "not JSON");
});

Deno.test("invalid settings of an MCP server in this process are reported", async () => {
  await using host = new ToolHost({ servers: {} });
  const refused = (settings: Record<string, unknown>, text: string) =>
    assertRejects(
      () =>
        host.addServer(
          "x",
          { type: "in-process", ...settings } as ReturnType<typeof local>,
        ),
      ConfigError,
      text,
    );
  await refused({}, '"in-process" is only for programs');
  await refused({ server: {} }, "expected an MCP server of");
  await refused(
    { server: adder(), forbiden_tools: ["add"] },
    'did you mean "forbidden_tools"?',
  );
  await refused(
    { server: adder(), default_tool_meta: { alias: "x" } },
    "one alias cannot serve every tool",
  );
  await refused({ server: adder(), disabled: "no" }, "servers.x.disabled");
});
