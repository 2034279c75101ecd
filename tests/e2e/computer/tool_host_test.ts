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
  ProtocolError,
  type ServerState,
  ToolHost,
  type ToolHostOptions,
} from "../../../computer/mod.ts";
import { resultMeta } from "../../../protocol/mod.ts";
import { endOf, startComputer } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { ONCE } from "../../support/computer/host.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";

/** A host whose MCP servers have all started or failed. */
async function startHost(options: ToolHostOptions): Promise<ToolHost> {
  const host = new ToolHost(options);
  await host.start();
  return host;
}

const toolsOf = (host: ToolHost) => host.listTools().map(({ name }) => name);

Deno.test("a ToolHost lists and calls tools without a Server", async () => {
  const asked: unknown[] = [];
  const heard: string[] = [];
  await using host = await startHost({
    servers: {
      a: fixture({ only: ["echo", "pid"] }, {
        tool_meta: { echo: { alias: "say", auto_apply: true } },
      }),
    },
    confirm: ({ agent, server, tool, name, params }) => {
      asked.push({ agent, server, tool, name, params });
      return "no";
    },
  });
  host.on("callStarted", ({ agent, tool }) => heard.push(`${agent} ${tool}`));
  host.on("callEnded", ({ tool }) => heard.push(`${tool} ended`));
  assertEquals(toolsOf(host), ["say", "pid"]);
  assertEquals(host.status().tools, [{ name: "say", server: "a" }, {
    name: "pid",
    server: "a",
  }]);
  const said = await host.callTool("say", { text: "hello" });
  assertEquals(said.content, [{ type: "text", text: "hello" }]);
  const refused = await host.callTool("pid", {}, { agent: "planner" });
  assertEquals(resultMeta(refused).error_code, 4005);
  assertEquals(asked, [{
    agent: "planner",
    server: "a",
    tool: "pid",
    name: "pid",
    params: {},
  }]);
  const unknown = await host.callTool("nothing");
  assertEquals([unknown.isError, resultMeta(unknown).error_code], [true, 4001]);
  assertEquals(heard, [
    "local say",
    "say ended",
    "planner pid",
    "pid ended",
    "local nothing",
    "nothing ended",
  ]);
  for (const timeoutMs of [0, -1, NaN, 3_600_001]) {
    const call = () => host.callTool("say", {}, { timeoutMs });
    await assertRejects(call, TypeError, "timeoutMs cannot be");
  }
});

Deno.test("a signal, even one already aborted, and the end of its time, end a call of a ToolHost", async () => {
  await using host = await startHost({
    servers: { a: fixture({ only: ["slow"] }) },
    confirm: () => "once",
  });
  const abort = new AbortController();
  const { signal } = abort;
  host.on("callStarted", () => abort.abort());
  for (const options of [{ signal }, { signal }, { timeoutMs: 1 }]) {
    const { a2c_cancelled, a2c_timeout } = resultMeta(
      await host.callTool("slow", {}, options),
    );
    assertEquals(
      [a2c_cancelled, a2c_timeout],
      "signal" in options ? [true, undefined] : [undefined, true],
    );
  }
  assertEquals(host.status().runningCalls, 0);
});

Deno.test("MCP servers of a ToolHost come and go", async () => {
  await using host = await startHost({ servers: {} });
  let changes = 0;
  host.on("configChanged", () => changes++);
  await host.addServer("a", fixture({ only: ["echo"] }));
  assertEquals(toolsOf(host), ["echo"]);
  await host.updateServer("a", fixture({ only: ["pid"] }));
  assertEquals(toolsOf(host), ["pid"]);
  await host.stopServer("a");
  assertEquals([toolsOf(host), host.status().servers[0]?.state], [
    [],
    "stopped",
  ]);
  assertEquals(resultMeta(await host.callTool("pid")).error_code, 4003);
  await host.startServer("a");
  assertEquals([toolsOf(host), Object.keys(host.getConfig().servers)], [
    ["pid"],
    ["a"],
  ]);
  await assertRejects(() => host.addServer("a", fixture()), TypeError, '"a"');
  await host.removeServer("a");
  assertEquals([host.status().servers, changes], [[], 3]);
  await assertRejects(() => host.removeServer("a"), TypeError, '"a"');
  await assertRejects(
    () => host.addServer("b", { ...fixture(), vrl: "(" }),
    ConfigError,
  );
});

Deno.test("a ToolHost shows windows, resources, and documents by the URI that Finder shows", async () => {
  const listed = "dpe://a/doc?version=3#top";
  await using host = await startHost({
    servers: {
      a: fixture({
        resourceList: [
          { uri: "window://a/one", name: "one" },
          { uri: listed, name: "doc", mimeType: "text/plain" },
        ],
      }),
    },
  });
  const [window = ""] = await host.getDesktop();
  assertStringIncludes(window, "window://a/one");
  assertEquals(await host.getDesktop({ window: "window://a/none" }), []);
  assertEquals(await host.getDesktop({ size: 0 }), []);
  const { resources } = await host.getResources("a");
  assertEquals(resources.map(({ uri }) => uri), ["window://a/one", listed]);
  const { documents } = await host.getFinder();
  assertEquals(documents.map(({ uri, server }) => [uri, server]), [[
    "dpe://a/doc",
    "a",
  ]]);
  await assertRejects(() => host.getDpe("dpe://a/doc"), ProtocolError);
  const invalid = () => host.getDpe("dpe://a");
  await assertRejects(invalid, ProtocolError, "Invalid DPE URI");
  host.registerDpeResolver({
    resolve: (uri, [contents]) => ({
      uri: `https://files.example/${uri}: ${contents?.text}`,
    }),
  });
  assertEquals(
    (await host.getDpe("dpe://a/doc")).uri,
    `https://files.example/dpe://a/doc: contents of ${listed}`,
  );
});

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

const YES = { default_tool_meta: { auto_apply: true } };

/** The settings of a server in this process, whose tools may all run. */
const local = (server: InProcessServer) => ({
  type: "in-process" as const,
  server,
  ...YES,
});

const reached = (host: ToolHost, wanted: ServerState) =>
  new Promise<void>((resolve) => {
    const off = host.on("serverState", ({ state }) => {
      if (state !== wanted) return;
      off();
      resolve();
    });
  });

Deno.test("an Agent uses an MCP server in the Computer's process as any other, but in no configuration", async () => {
  const uri = "window://f/one";
  await using pc = await startComputer({
    sums: { ...local(adder()), tool_meta: { add: { alias: "plus" } } },
    fixture: fixtureHere({ resourceList: [{ uri, name: "one" }] }, YES),
  });
  const { computer, office: { agent } } = pc;
  assertEquals((await pc.call("plus", { a: 2, b: 3 })).text, "5");
  const [tool] = await agent.getTools("pc");
  assertEquals([tool?.name, tool?.meta?.a2c_mcp_server], ["plus", "sums"]);
  assertEquals(computer.status().servers[0]?.type, "in-process");
  assertEquals((await agent.getConfig("pc")).servers, {}); // it has no type for it
  const abort = new AbortController();
  const began = pc.call("slow_began");
  const slow = pc.call("slow", {}, { signal: abort.signal });
  await began;
  abort.abort(new Error("enough"));
  await assertRejects(() => slow, Error, "enough");
  assertEquals((await pc.call("slow_aborted")).text, "it was aborted");
  const [window = ""] = await agent.getDesktop("pc");
  assertStringIncludes(window, uri);
  const touched = next((l) => agent.on("updateDesktop", l));
  await pc.call("touch", { uri });
  await touched;
  const added = next((l) => agent.on("updateToolList", l));
  await pc.call("add_tool", { name: "later" });
  await added;
  const names = (await agent.getTools("pc")).map(({ name }) => name);
  assert(names.includes("later"));
});

Deno.test("an MCP server in this process starts, stops, starts again, and is replaced only by another instance", async () => {
  const server = adder();
  const other = adder();
  await using host = await startHost({ servers: { sums: local(server) } });
  const sum = async (tool = "add") =>
    endOf(await host.callTool(tool, { a: 1, b: 1 })).text;
  assertEquals(await sum(), "2");
  await host.stopServer("sums");
  assert(!server.isConnected());
  await host.startServer("sums");
  assertEquals(await sum(), "2");

  const back = reached(host, "running");
  await server.close(); // as a crash: it is connected again
  await back;
  assertEquals(host.status().servers[0]?.restarts, 1);
  assertEquals(await sum(), "2");

  const given = { name: "sums", disabled: false, forbidden_tools: [] };
  const config = (server: McpServer) => ({
    inputs: [],
    servers: [{ ...local(server), ...given, tool_meta: {} }],
  });
  const same = await host.configure(config(server));
  const replaced = await host.configure(config(other));
  assertEquals([same.update, replaced.update.map(({ name }) => name)], [[], [
    "sums",
  ]]);
  assert(!server.isConnected() && other.isConnected());
  await host.updateServer("sums", { ...local(server), tool_prefix: "auto" });
  assertEquals(await sum("sums_add"), "2");
  await host.removeServer("sums");
  assert(!server.isConnected());
  await host.addServer("again", local(server));
  assertEquals(await sum(), "2");
  await host.close();
  assert(!server.isConnected());
});

Deno.test("an MCP server in this process that cannot be connected fails, with the reason", async () => {
  const server = adder();
  const [, elsewhere] = InMemoryTransport.createLinkedPair();
  await server.connect(elsewhere);
  await using host = await startHost({
    servers: {
      mute: local({ connect: () => new Promise(() => {}) }),
      used: local(server),
    },
    startTimeoutMs: 1,
    restart: ONCE,
  });
  const [mute, used] = host.status().servers.map(({ state, error }) =>
    `${state}: ${error}`
  );
  assertStringIncludes(mute ?? "", "failed: it was not ready within");
  assertStringIncludes(
    used ?? "",
    "failed: it cannot be connected: Already connected to a transport",
  );
  await server.close();
  await host.startServer("used");
  assertEquals(host.status().servers[1]?.state, "running");
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
  server.registerTool(
    "huge",
    {},
    () => ({ content: [], structuredContent: { value: 1n } }),
  );
  await using host = await startHost({ servers: { odd: local(server) } });
  const list = [1];
  const result = await host.callTool("shared", { list });
  shared.text = "after";
  assertEquals(result.content, [{ type: "text", text: "before" }]);
  assertEquals([list, params], [[1], [{ list: [1, 4] }]]);
  const { text, meta } = endOf(await host.callTool("huge"));
  assertEquals(meta.error_code, 4003);
  assertStringIncludes(text, "not JSON");
});

Deno.test("invalid settings of an MCP server in this process are reported", async () => {
  await using host = new ToolHost({ servers: {} });
  const server = adder();
  const rows: [Record<string, unknown>, string][] = [
    [{}, '"in-process" is only for programs'],
    [{ server: {} }, "expected an MCP server of"],
    [{ server, forbiden_tools: ["add"] }, 'did you mean "forbidden_tools"?'],
    [
      { server, default_tool_meta: { alias: "x" } },
      "one alias cannot serve every tool",
    ],
    [{ server, disabled: "no" }, "servers.x.disabled"],
  ];
  for (const [given, text] of rows) {
    const settings = { type: "in-process", ...given } as ReturnType<
      typeof local
    >;
    await assertRejects(() => host.addServer("x", settings), ConfigError, text);
  }
});
