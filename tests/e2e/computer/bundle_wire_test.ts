import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import {
  type GetComputerConfigRet,
  mcpServerOf,
  ProtocolError,
  type ProtocolName,
  resultMeta,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { runHere } from "../../support/command.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { startOddHttp } from "../../support/fixtures/odd_http.ts";
import { resourceServers } from "../../support/computer/resource_servers.ts";

const YES = { default_tool_meta: { auto_apply: true } };

/** Starts a Server of a version, with a Computer "pc" and an Agent. */
async function startOffice(
  protocol: ProtocolName,
  options: Pick<
    ConstructorParameters<typeof SmcpComputer>[0],
    "servers" | "inputs"
  >,
) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(createSmcpServer({ protocol }));
  const { url } = await server.listen({ port: 0 });
  const computer = stack.use(
    new SmcpComputer({ url, name: "pc", ...options }),
  );
  const agent = stack.use(new SmcpAgent({ url, name: "planner" }));
  for (const client of [computer, agent]) {
    await client.connect();
    await client.join(OFFICE);
  }
  await computer.serversSettled();
  const ended = stack.move();
  return { computer, agent, [Symbol.asyncDispose]: () => ended.disposeAsync() };
}

const shown = ({ servers }: GetComputerConfigRet) =>
  Object.entries(servers).map(([key, { name, bundle_id }]) => [
    key,
    name,
    bundle_id,
  ]);

const PICK = {
  type: "pickString",
  id: "region",
  description: "Where",
  options: ["eu", { label: "America", value: "us" }],
} as const;

for (const protocol of ["0.2", "0.3", "0.4"] as const) {
  const isNew = protocol !== "0.2";
  Deno.test({
    name: `0.4 §3.6: names of servers and tools at a Server of ${protocol}`,
    timeout: 120_000,
  }, async () => {
    await using refusing = await startOddHttp({
      locked: (res) => res.writeHead(401).end(),
    });
    await using office = await startOffice(protocol, {
      servers: {
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
      },
      inputs: [{ ...PICK, options: [...PICK.options] }],
    });
    const { agent, computer } = office;
    const tools = await agent.getTools("pc");
    const names = isNew
      ? ["my_files__say", "my_files__pid", "web-1__locked"]
      : ["say", "fs_pid", "locked"];
    assertEquals(tools.map(({ name }) => name), names);
    assertEquals(computer.listTools().map(({ name }) => name), names);
    assertEquals(
      tools.map(({ bundle_id }) => bundle_id),
      isNew ? ["my_files", "my_files", "web-1"] : Array(3).fill(undefined),
    );
    const [files, web] = isNew ? ["my_files", "web-1"] : ["my files", "web"];
    assertEquals(tools.map(mcpServerOf), [files, files, web]);
    assertEquals(
      tools.map(({ meta }) => meta?.a2c_mcp_server),
      ["my files", "my files", "web"],
    );
    for (const [i, text] of [[0, "hello"], [1, undefined]] as const) {
      const { content, isError } = await agent.callTool(
        "pc",
        names[i] ?? "",
        text === undefined ? {} : { text },
      );
      assert(!isError);
      if (text !== undefined) assertEquals(content[0]?.text, text);
    }
    for (const name of isNew ? ["say", "fs_pid", "my_files__echo"] : ["echo"]) {
      const missing = await agent.callTool("pc", name, {});
      assertEquals(resultMeta(missing).error_code, 4001, name);
    }
    const config = await agent.getConfig("pc");
    assertEquals(
      shown(config),
      isNew
        ? [["my_files", "my files", "my_files"], ["web-1", "web", "web-1"]]
        : [["my files", "my files", undefined], ["web", "web", undefined]],
    );
    assertEquals(
      config.inputs?.map((input) => "options" in input && input.options),
      isNew
        ? [[
          { label: "eu", value: "eu" },
          { label: "America", value: "us" },
        ]]
        : [["eu", "us"]],
    );
    const refused = await agent.callTool("pc", names[2] ?? "", {});
    assertEquals(
      [resultMeta(refused).error_code, resultMeta(refused).mcp_server],
      [4006, web],
    );
    const code = async (server: string) => {
      const error = await assertRejects(
        () => agent.getResources("pc", server),
        ProtocolError,
      );
      return [error.code, error.fields.mcp_server];
    };
    const unknown = isNew ? 4014 : 404;
    assertEquals(await code("nobody"), [unknown, "nobody"]);
    assertEquals(await code(isNew ? "my files" : "my_files"), [
      unknown,
      isNew ? "my files" : "my_files",
    ]);
    assertEquals(await code(web ?? ""), [4015, web]);
  });
}

Deno.test({
  name:
    "0.4 §3.6: smcp-agent shows ids where they differ, and takes a name or an id",
  timeout: 120_000,
}, async () => {
  await using office = await startOffice("0.4", {
    servers: {
      ...resourceServers({ name: "a" }),
      "my files": fixture({ only: ["echo"] }, YES),
    },
  });
  const at = ["--url", office.computer.url, "--office", OFFICE];
  await office.agent.leave();
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runHere("agent", [...args, ...at]);
    assertEquals(code, 0, stderr);
    return stdout;
  };
  assertMatch(
    await run("tools"),
    /^ {2}my files \(my_files\): 1 tool\n {4}my_files__echo\b/m,
  );
  assertMatch(await run("config"), /^ {2}my files \(my_files\) +stdio/m);
  assertMatch(await run("resources", "a"), /^a: 0 resources/);
  for (const typed of ["my files", "my_files"]) {
    assertMatch(await run("resources", typed), /^my_files: \d+ resources?/);
  }
});

Deno.test({
  name: "0.4 §9: the Desktop is in order of use, then of bundle_id",
  timeout: 120_000,
}, async () => {
  const window = (name: string) => ({
    name,
    resources: [{ uri: `window://${name}/w`, name }],
    contents: { [`window://${name}/w`]: [{ text: name }] },
  });
  const { a, b, c } = resourceServers(window("a"), window("b"), window("c"));
  assert(a && b && c);
  const servers = {
    "a": { ...a, ...YES, bundle_id: "z" },
    "b": { ...b, ...YES },
    "c": { ...c, ...YES, bundle_id: "A" },
  };
  await using office = await startOffice("0.4", { servers });
  const { agent } = office;
  const order = async () =>
    (await agent.getDesktop("pc")).map((text) => text.at(-1));
  assertEquals(await order(), ["c", "b", "a"]);
  await agent.callTool("pc", "b__b_subscribed", { count: 0 });
  assertEquals(await order(), ["b", "c", "a"]);
  await using before = await startOffice("0.2", { servers });
  const names = (await before.agent.getDesktop("pc")).map((text) =>
    text.at(-1)
  );
  assertEquals(names, ["a", "b", "c"]);
});

Deno.test({
  name:
    "0.4 §18: a reconnect to a Server of another version renames the tools, and tells the office",
  timeout: 120_000,
}, async () => {
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
  assertEquals([names(), computer.status().protocol], [["files__echo"], "0.4"]);
  assertEquals(changes, 1);
  const result = await agent.callTool("pc", "files__echo", { text: "hi" });
  assertEquals(result.content[0]?.text, "hi");
});

Deno.test({
  name:
    "0.4 §18: a Computer that is told a version has its names before it is connected",
  timeout: 120_000,
}, async () => {
  const servers = { files: fixture({ only: ["echo"] }, YES) };
  const url = "http://127.0.0.1:1";
  const named = async (protocol?: "0.2" | "0.3" | "0.4") => {
    await using computer = new SmcpComputer({
      url,
      name: "pc",
      servers,
      ...(protocol && { protocol }),
    });
    await computer.start();
    return computer.listTools().map(({ name }) => name);
  };
  assertEquals(await named(), ["echo"]);
  assertEquals(await named("0.2"), ["echo"]);
  assertEquals(await named("0.4"), ["files__echo"]);
});

for (
  const [protocol, address] of [["0.2", "my notes"], [
    "0.4",
    "my_notes",
  ]] as const
) {
  Deno.test({
    name:
      `0.4 §3.6: prompts and resources of an MCP server are asked for by what names it in ${protocol}`,
    timeout: 120_000,
  }, async () => {
    const server = new McpServer({ name: "notes", version: "1.0.0" });
    server.registerPrompt("greet", {}, () => ({
      messages: [{ role: "user", content: { type: "text", text: "hello" } }],
    }));
    server.registerResource("first", "notes://first", {}, ({ href }) => ({
      contents: [{ uri: href, text: "a note" }],
    }));
    await using office = await startOffice(protocol, {
      servers: { "my notes": { type: "in-process", server } },
    });
    const { agent, computer } = office;
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
