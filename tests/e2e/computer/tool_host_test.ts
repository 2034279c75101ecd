import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  ConfigError,
  ProtocolError,
  ToolHost,
  type ToolHostOptions,
} from "../../../computer/mod.ts";
import { resultMeta } from "../../../protocol/mod.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";

/** A host whose MCP servers have all started or failed. */
async function startHost(options: ToolHostOptions): Promise<ToolHost> {
  const host = new ToolHost(options);
  await host.start();
  return host;
}

Deno.test({
  name: "a ToolHost lists and calls tools without a Server",
  timeout: 120_000,
}, async (t) => {
  const asked: unknown[] = [];
  const heard: string[] = [];
  await using host = await startHost({
    servers: {
      a: fixture({ only: ["echo", "pid"] }, {
        tool_meta: { echo: { alias: "say", auto_apply: true } },
      }),
    },
    confirm: (request) => {
      asked.push(request);
      return "no";
    },
  });
  host.on("callStarted", ({ agent, tool }) => heard.push(`${agent} ${tool}`));
  host.on("callEnded", ({ tool }) => heard.push(`${tool} ended`));

  await t.step("by the names that Agents would see", () => {
    assertEquals(host.listTools().map(({ name }) => name), ["say", "pid"]);
    assertEquals(host.status().tools, [
      { name: "say", server: "a" },
      { name: "pid", server: "a" },
    ]);
  });
  await t.step("one that may run runs", async () => {
    const result = await host.callTool("say", { text: "hello" });
    assertEquals(result.content, [{ type: "text", text: "hello" }]);
    assertEquals(asked, []);
  });
  await t.step(
    "one that may not is asked about, in the caller's name",
    async () => {
      const result = await host.callTool("pid", {}, { agent: "planner" });
      assertEquals(resultMeta(result).error_code, 4005);
      assertEquals(asked, [
        { agent: "planner", server: "a", tool: "pid", name: "pid", params: {} },
      ]);
    },
  );
  await t.step("an unknown one is a result too", async () => {
    const result = await host.callTool("nothing");
    assertEquals([result.isError, resultMeta(result).error_code], [true, 4001]);
  });
  await t.step("events tell of each call", () => {
    assertEquals(heard, [
      "local say",
      "say ended",
      "planner pid",
      "pid ended",
      "local nothing",
      "nothing ended",
    ]);
  });
  await t.step("a timeout out of range is an error", async () => {
    for (const timeoutMs of [0, -1, NaN, 3_600_001]) {
      await assertRejects(
        () => host.callTool("say", {}, { timeoutMs }),
        TypeError,
        "timeoutMs cannot be",
      );
    }
  });
});

Deno.test({
  name: "a signal, and the end of its time, end a call of a ToolHost",
  timeout: 120_000,
}, async () => {
  await using host = await startHost({
    servers: { a: fixture({ only: ["slow"] }) },
    confirm: () => "once",
  });
  const abort = new AbortController();
  host.on("callStarted", () => abort.abort());
  const cancelled = await host.callTool("slow", {}, { signal: abort.signal });
  assertEquals(resultMeta(cancelled).a2c_cancelled, true);
  const late = await host.callTool("slow", {}, { timeoutMs: 1 });
  assertEquals(resultMeta(late).a2c_timeout, true);
  assertEquals(host.status().runningCalls, 0);
});

Deno.test({
  name: "MCP servers of a ToolHost come and go",
  timeout: 120_000,
}, async () => {
  await using host = await startHost({ servers: {} });
  let changes = 0;
  host.on("configChanged", () => changes++);
  await host.addServer("a", fixture({ only: ["echo"] }));
  assertEquals(host.listTools().map(({ name }) => name), ["echo"]);
  await host.updateServer("a", fixture({ only: ["pid"] }));
  assertEquals(host.listTools().map(({ name }) => name), ["pid"]);
  await host.stopServer("a");
  assertEquals([host.listTools(), host.status().servers[0]?.state], [
    [],
    "stopped",
  ]);
  await host.startServer("a");
  assertEquals(Object.keys(host.getConfig().servers), ["a"]);
  await host.removeServer("a");
  assertEquals(host.status().servers, []);
  assertEquals(changes, 3);
  await assertRejects(() => host.removeServer("a"), TypeError, '"a"');
  await assertRejects(
    () => host.addServer("b", { ...fixture(), vrl: "(" }),
    ConfigError,
  );
});

Deno.test({
  name: "a ToolHost shows windows, resources and documents",
  timeout: 120_000,
}, async () => {
  await using host = await startHost({
    servers: {
      a: fixture({
        resourceList: [
          { uri: "window://a/one", name: "one" },
          { uri: "dpe://a/doc", name: "doc", mimeType: "text/plain" },
        ],
      }),
    },
  });
  const [window = ""] = await host.getDesktop();
  assertStringIncludes(window, "window://a/one");
  assertEquals(await host.getDesktop({ window: "window://a/none" }), []);
  assertEquals(await host.getDesktop({ size: 0 }), []);
  const { resources } = await host.getResources("a");
  assertEquals(resources.map(({ uri }) => uri), [
    "window://a/one",
    "dpe://a/doc",
  ]);
  const { documents } = await host.getFinder();
  assert(documents.every(({ server }) => server === "a"));
  await assertRejects(() => host.getDpe("dpe://a/doc"), ProtocolError);
  host.registerDpeResolver({
    resolve: () => ({ uri: "https://files.example/doc" }),
  });
  assertEquals(
    (await host.getDpe("dpe://a/doc")).uri,
    "https://files.example/doc",
  );
});
