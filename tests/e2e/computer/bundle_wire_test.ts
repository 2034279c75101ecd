import { assertEquals, assertMatch, assertRejects } from "@std/assert";
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import {
  mcpServerOf,
  ProtocolError,
  type ProtocolName,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { runHere } from "../../support/command.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { resourceServers } from "../../support/computer/resource_servers.ts";
import { startHttpFixture } from "../../support/fixtures/mcp_http.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";

const YES = { default_tool_meta: { auto_apply: true } };

/** Starts a Computer "pc" at a Server of a version. */
const startAt = (
  protocol: ProtocolName,
  servers: Parameters<typeof startComputer>[0],
  options: Parameters<typeof startComputer>[1] = {},
) =>
  startComputer(servers, { confirm: () => "no", ...options }, {
    server: { protocol },
  });

for (const protocol of ["0.2", "0.3", "0.4"] as const) {
  const isNew = protocol !== "0.2";
  Deno.test(`protocol §13: names of servers and tools at a Server of ${protocol}`, async () => {
    await using refusing = await startHttpFixture("streamable", {
      only: ["locked"],
      resources: false,
    });
    await using pc = await startAt(protocol, {
      "my files": fixture({ only: ["echo", "pid"] }, {
        ...YES,
        tool_meta: { echo: { alias: "say" } },
        tool_prefix: "fs_",
      }),
      "web": {
        type: "streamable",
        server_parameters: { url: refusing.url },
        ...YES,
        bundle_id: "web-1",
      },
    }, {
      inputs: [{
        type: "pickString",
        id: "region",
        description: "Where",
        options: ["eu", { label: "America", value: "us" }],
      }],
    });
    const { computer, office: { agent } } = pc;
    const tools = await agent.getTools("pc");
    const names = isNew
      ? ["my_files__say", "my_files__pid", "web-1__locked"]
      : ["say", "fs_pid", "locked"];
    const [files, web] = isNew
      ? ["my_files", "web-1"] as const
      : ["my files", "web"] as const;
    assertEquals(
      tools.map((
        tool,
      ) => [
        tool.name,
        tool.bundle_id,
        mcpServerOf(tool),
        tool.meta?.a2c_mcp_server,
      ]),
      names.map((name, i) => {
        const address = i === 2 ? web : files;
        return [
          name,
          isNew ? address : undefined,
          address,
          i === 2 ? "web" : "my files",
        ];
      }),
    );
    assertEquals(computer.listTools().map(({ name }) => name), names);
    assertEquals((await pc.call(names[0]!, { text: "hello" })).text, "hello");
    assertEquals((await pc.call(names[1]!)).result.isError, undefined);
    for (const name of isNew ? ["fs_pid", "my_files__echo"] : ["echo"]) {
      assertEquals((await pc.call(name)).meta.error_code, 4001, name);
    }
    const config = await agent.getConfig("pc");
    assertEquals(
      Object.entries(config.servers).map((
        [key, { name, bundle_id }],
      ) => [key, name, bundle_id]),
      isNew
        ? [["my_files", "my files", "my_files"], ["web-1", "web", "web-1"]]
        : [["my files", "my files", undefined], ["web", "web", undefined]],
    );
    assertEquals(
      config.inputs?.map((input) => "options" in input && input.options),
      [
        isNew
          ? [{ label: "eu", value: "eu" }, { label: "America", value: "us" }]
          : ["eu", "us"],
      ],
    );
    const unknown = isNew ? 4014 : 404;
    const other = isNew ? "my files" : "my_files";
    for (
      const [server, code] of [["nobody", unknown], [other, unknown], [
        web,
        4015,
      ]] as const
    ) {
      const error = await assertRejects(
        () => agent.getResources("pc", server),
        ProtocolError,
      );
      assertEquals([error.code, error.fields.mcp_server], [code, server]);
    }
    refusing.refuse(401);
    const { meta } = await pc.call(names[2]!);
    assertEquals([meta.error_code, meta.mcp_server], [4006, web]);
  });
}

Deno.test("protocol §13: smcp-agent shows ids where they differ, and takes a name or an id", async () => {
  await using pc = await startAt("0.4", {
    ...resourceServers({ name: "a" }),
    "my files": fixture({ only: ["echo"] }, YES),
  });
  const at = ["--url", pc.office.url, "--office", OFFICE];
  await pc.office.agent.leave();
  const rows: [line: string[], shown: RegExp][] = [
    [["tools"], /^ {2}my files \(my_files\): 1 tool\n {4}my_files__echo\b/m],
    [["config"], /^ {2}my files \(my_files\) +stdio/m],
    [["resources", "a"], /^a: 0 resources/],
    [["resources", "my files"], /^my_files: \d+ resources?/],
    [["resources", "my_files"], /^my_files: \d+ resources?/],
  ];
  for (const [line, shown] of rows) {
    const { code, stdout, stderr } = await runHere("agent", [...line, ...at]);
    assertEquals(code, 0, stderr);
    assertMatch(stdout, shown);
  }
});

Deno.test("protocol §8.1: the Desktop is in order of use, then of bundle_id", async () => {
  const ids = { a: "z", b: undefined, c: "A" };
  const servers = Object.fromEntries(
    Object.entries(ids).map(([name, bundle_id]) => {
      const uri = `window://${name}/w`;
      const [[, server] = []] = Object.entries(
        resourceServers({
          name,
          resources: [{ uri, name }],
          contents: { [uri]: [{ text: name }] },
        }),
      );
      return [name, {
        ...server!,
        ...YES,
        ...(bundle_id !== undefined && { bundle_id }),
      }];
    }),
  );
  const order = async (
    { office: { agent } }: Awaited<ReturnType<typeof startAt>>,
  ) => (await agent.getDesktop("pc")).map((text) => text.at(-1)).join("");
  await using pc = await startAt("0.4", servers);
  assertEquals(await order(pc), "cba");
  await pc.call("b__b_subscribed", { count: 0 });
  assertEquals(await order(pc), "bca");
  await using before = await startAt("0.2", servers);
  assertEquals(await order(before), "abc");
});

Deno.test("protocol §14: a reconnect to a Server of another version renames the tools, and notifies the office", async () => {
  await using before = createSmcpServer();
  await using after = createSmcpServer({ protocol: "0.4" });
  const { url } = await before.listen({ port: 0 });
  const later = await after.listen({ port: 0 });
  await using proxy = await startProxy(url);
  await using computer = new SmcpComputer({
    url: proxy.url,
    name: "pc",
    servers: { files: fixture({ only: ["echo"] }, YES) },
  });
  await computer.connect();
  await computer.join(OFFICE);
  await computer.serversSettled();
  const names = () => computer.listTools().map(({ name }) => name);
  assertEquals(names(), ["echo"]);
  await using agent = new SmcpAgent({ url: later.url, name: "planner" });
  await agent.connect();
  await agent.join(OFFICE);
  const { promise, resolve } = Promise.withResolvers<string[]>();
  agent.on("tools", ({ computer, tools }) => {
    if (computer === "pc" && tools) resolve(tools.map(({ name }) => name));
  });
  let changes = 0;
  computer.on("toolsChanged", () => changes++);
  proxy.turnTo(later.url);
  proxy.cut();
  assertEquals(await promise, ["files__echo"]);
  assertEquals([names(), computer.status().protocol, changes], [
    ["files__echo"],
    "0.4",
    1,
  ]);
  const result = await agent.callTool("pc", "files__echo", { text: "hi" });
  assertEquals(result.content[0]?.text, "hi");
});

Deno.test("protocol §14: a Computer with the option of a version uses its names before it is connected", async () => {
  const servers = { files: fixture({ only: ["echo"] }, YES) };
  const rows = [[undefined, "echo"], ["0.2", "echo"], [
    "0.4",
    "files__echo",
  ]] as const;
  for (const [protocol, name] of rows) {
    await using computer = new SmcpComputer({
      url: "http://127.0.0.1:1",
      name: "pc",
      servers,
      ...(protocol && { protocol }),
    });
    await computer.start();
    assertEquals(computer.listTools().map(({ name }) => name), [name]);
  }
});

for (
  const [protocol, address] of [["0.2", "my notes"], [
    "0.4",
    "my_notes",
  ]] as const
) {
  Deno.test(`protocol §13: prompts and resources of an MCP server are asked for by what names it in ${protocol}`, async () => {
    const server = new McpServer({ name: "notes", version: "1.0.0" });
    server.registerPrompt("greet", {}, () => ({
      messages: [{ role: "user", content: { type: "text", text: "hello" } }],
    }));
    server.registerResource("first", "notes://first", {}, ({ href }) => ({
      contents: [{ uri: href, text: "a note" }],
    }));
    await using pc = await startAt(protocol, {
      "my notes": { type: "in-process", server },
    });
    const { computer, office: { agent } } = pc;
    const [prompt] = await agent.getPrompts("pc");
    assertEquals([prompt?.name, prompt?.mcp_server], ["greet", address]);
    const { messages } = await agent.getPrompt("pc", address, "greet");
    assertEquals(messages[0]?.content.text, "hello");
    const [note] = await agent.readResource("pc", address, "notes://first");
    assertEquals(note?.text, "a note");
    // At the Computer itself both names will do.
    for (const typed of ["my notes", "my_notes"]) {
      const { resources } = await computer.getResources(typed);
      assertEquals(resources.map(({ uri }) => uri), ["notes://first"]);
    }
  });
}
