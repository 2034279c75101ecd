import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { officeLinkOf } from "../../../computer/computer.ts";
import {
  ConfigError,
  ConnectionError,
  SmcpComputer,
} from "../../../computer/mod.ts";
import { ProtocolError, resultMeta } from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startComputer, takeSeat } from "../../support/computer/computer.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";

/** Resolves at the next event. */
const next = <T>(on: (listener: (value: T) => void) => unknown) =>
  new Promise<T>((resolve) => on(resolve));

Deno.test("an Agent sees and calls the tools of a Computer's MCP servers", async () => {
  // The mapper is for the Agent: the result is unchanged.
  const ret_object_mapper = { text: "$.content[0].text" };
  const echo = {
    alias: "say",
    auto_apply: true,
    tags: ["t"],
    ret_object_mapper,
  };
  await using pc = await startComputer({
    files: fixture({ only: ["echo"] }, { tool_meta: { echo } }),
    other: fixture({ only: ["pid"] }),
  });
  const [say, pid] = await pc.office.agent.getTools("pc");
  assertEquals([say, pid?.name], [{
    name: "say",
    description: "does echo",
    params_schema: { type: "object" },
    return_schema: null,
    meta: {
      a2c_mcp_server: "files",
      a2c_tool_meta:
        '{"auto_apply":true,"alias":"say","tags":["t"],"ret_object_mapper":{"text":"$.content[0].text"}}',
    },
  }, "pid"]);
  const { result } = await pc.call("say", { text: "hello" });
  assertEquals(result, { content: [{ type: "text", text: "hello" }] });
});

Deno.test("a tool call ends as in the table of the spec", async () => {
  await using pc = await startComputer({
    a: fixture({}, { forbidden_tools: ["pid"] }),
    halted: fixture({ only: ["halt"] }),
  });
  await pc.computer.stopServer("halted");
  const rows: [string, number | undefined, string][] = [
    ["nothing", 4001, '"nothing"'],
    ["pid", 4002, "forbidden"],
    ["halt", 4003, "stopped"],
    ["throw", 4003, "no such luck"],
    ["fail", undefined, "it went wrong"],
    ["crash", 4003, '"a" was lost'],
  ];
  for (const [tool, code, part] of rows) {
    // Metadata of a result is written under both names.
    if (tool === "crash") {
      const { result } = await pc.call("meta");
      assertEquals(
        [result.meta, result._meta],
        Array(2).fill({ origin: "fixture" }),
      );
    }
    const { text, meta, result } = await pc.call(tool);
    assertEquals([result.isError, meta], [
      true,
      code ? { error_code: code } : {},
    ], tool);
    assertStringIncludes(text, part);
  }
});

Deno.test("a call that its Agent cancels is aborted at the MCP server and answered as cancelled", async () => {
  await using pc = await startComputer({ a: fixture() });
  const { agent } = pc.office;
  const pending = pc.call("slow", {}, { reqId: "x" });
  await pc.call("slow_began");
  agent.cancel("unknown");
  agent.cancel("x");
  assertEquals((await pending).meta, {
    a2c_cancelled: true,
    a2c_cancel_reason: "agent_requested",
  });
  agent.cancel("x");
  assertEquals((await pc.call("slow_aborted")).text, "it was aborted");
});

Deno.test("the Computer ends a call at its timeout with a timeout result, and aborts it at the MCP server", async () => {
  await using pc = await startComputer({ a: fixture() });
  const wire = await takeSeat(pc.office);
  const result = await wire.call({ tool_name: "slow", timeout: 1 });
  assertEquals([result.isError, resultMeta(result)], [true, {
    error_code: 4004,
    a2c_timeout: true,
    timeout: true,
  }]);
  await wire.call({ req_id: "2", tool_name: "slow_aborted" });
});

Deno.test("the same req_id gets the stored result; for another call it is 400", async () => {
  await using pc = await startComputer({ a: fixture() });
  const wire = await takeSeat(pc.office);
  const first = await wire.call({ tool_name: "background" });
  assertEquals(await wire.call({ tool_name: "background" }), first);
  // What goes with the call does not make it another one.
  const again = { tool_name: "background", _meta: { traceparent: "00-2" } };
  assertEquals(await wire.call(again), first);
  const error = await assertRejects(
    () => wire.call({ tool_name: "echo" }),
    ProtocolError,
  );
  assertEquals(error.code, 400);
  // Leaving forgets the results.
  await pc.computer.leave();
  await pc.computer.join(OFFICE);
  assertNotEquals(await wire.call({ tool_name: "background" }), first);
});

Deno.test("a result above the Server's limit becomes an error with both sizes", async () => {
  await using pc = await startComputer({ a: fixture() }, {}, {
    server: { maxMessageBytes: 100_000 },
  });
  const rows: [string, Record<string, unknown>, ...string[]][] = [
    ["big", { bytes: 200_000 }, "200039 bytes", "100000"],
    ["deep", { levels: 100 }, "deep"],
  ];
  for (const [tool, params, ...parts] of rows) {
    const { meta, text } = await pc.call(tool, params);
    assertEquals(meta, { error_code: 4003 });
    for (const part of parts) assertStringIncludes(text, part);
  }
  assertEquals((await pc.call("echo", { text: "on" })).text, "on");
});

Deno.test("a call whose result cannot be sent is not run twice either", async () => {
  await using pc = await startComputer({ a: fixture() });
  const wire = await takeSeat(pc.office);
  const bytes = 17 * 2 ** 20; // above the limit of stored results
  const run = async () => [
    await wire.call({ req_id: "1", tool_name: "big", params: { bytes } }),
    await wire.call({ req_id: "2", tool_name: "bottomless" }),
  ];
  const first = await run();
  for (const result of first) {
    assertEquals(resultMeta(result), { error_code: 4003 });
    assertStringIncludes(result.content[0]?.text ?? "", "The tool ran");
  }
  await pc.computer.stopServer("a"); // the tool could not run now
  assertEquals(await run(), first);
});

Deno.test("get_config returns the configuration without secrets", async () => {
  await using pc = await startComputer({
    a: {
      type: "stdio",
      disabled: true,
      server_parameters: {
        command: "x",
        args: ["--token", "s3cret"],
        env: { KEY: "s3cret" },
      },
    },
  }, {
    inputs: [{
      type: "promptString",
      id: "i",
      description: "d",
      default: "s3cret",
      password: true,
    }],
  });
  const config = await pc.office.agent.getConfig("pc");
  assertEquals(JSON.stringify(config).includes("s3cret"), false);
  assertEquals(config.servers.a?.server_parameters, {
    command: "x",
    args: ["--token", "<redacted>"],
    env: { KEY: "<redacted>" },
    cwd: null,
    encoding: "utf-8",
    encoding_error_handler: "strict",
  });
  assertEquals(config.inputs, [{
    type: "promptString",
    id: "i",
    description: "d",
    password: true,
  }]);
});

Deno.test("get_resources passes pages on, and explains why a server cannot be asked", async () => {
  const resourceList = [
    { uri: "x:1", annotations: { priority: 9 }, later: 1 },
    { name: null },
    { name: "no uri" },
  ];
  await using pc = await startComputer({
    full: fixture({ resourceList, resources: "list" }),
    without: fixture({ resources: false }),
    off: fixture({}, { disabled: true }),
    halted: fixture(),
  });
  await pc.computer.stopServer("halted");
  const { agent } = pc.office;
  const first = await agent.getResources("pc", "full");
  assertEquals<unknown>(first.resources, resourceList.slice(0, 2));
  const second = await agent.getResources("pc", "full", {
    cursor: first.next_cursor!,
  });
  assertEquals<unknown>([second.resources, second.next_cursor], [
    resourceList.slice(2),
    undefined,
  ]);
  const rows: [string, number, Record<string, unknown>][] = [
    ["nobody", 404, {}],
    ["off", 404, { reason: "it is disabled" }],
    ["halted", 404, { reason: "it is stopped" }],
    // The second name is that of the Python SDK of 0.2.
    ["without", 4015, { mcp_server_name: "without", capability: "resources" }],
  ];
  for (const [mcp_server, code, fields] of rows) {
    const error = await assertRejects(
      () => agent.getResources("pc", mcp_server),
      ProtocolError,
    );
    assertEquals([error.code, error.fields], [code, { mcp_server, ...fields }]);
  }
});

for (const protocol of ["0.2", "0.3", "0.4"] as const) {
  Deno.test(`each request about an MCP server fails with the code and the fields of ${protocol}`, async () => {
    await using pc = await startComputer(
      {
        full: fixture({ resources: "list" }),
        without: fixture({ resources: false }),
      },
      {},
      { server: { protocol } },
    );
    const { agent } = pc.office;
    const requests: [capability: string, (server: string) => unknown][] = [
      ["resources", (server) => agent.getResources("pc", server)],
      ["resources", (server) => agent.readResource("pc", server, "x:1")],
      ["resources", (server) => agent.watchResource("pc", server, "x:1")],
      ["prompts", (server) => agent.getPrompt("pc", server, "greet")],
    ];
    const isOld = protocol === "0.2";
    const lacks = (mcp_server: string, capability: string) => ({
      mcp_server,
      ...(isOld && { mcp_server_name: mcp_server }),
      capability,
    });
    for (const [capability, ask] of requests) {
      const failure = async (server: string) => {
        const error = await assertRejects(
          async () => await ask(server),
          ProtocolError,
        );
        return [error.code, error.fields];
      };
      const nobody = [isOld ? 404 : 4014, { mcp_server: "nobody" }];
      assertEquals<unknown>(await failure("nobody"), nobody, `${ask}`);
      assertEquals<unknown>(
        await failure("without"),
        [4015, lacks("without", capability)],
        `${ask}`,
      );
    }
    const unheard = await assertRejects(
      () => agent.watchResource("pc", "full", "x:1"),
      ProtocolError,
    );
    assertEquals<unknown>(
      [unheard.code, unheard.fields],
      [4015, lacks("full", "resources.subscribe")],
    );
  });
}

Deno.test("a Computer validates each request itself; get_dpe without a resolver is 4011, after the URI was checked", async () => {
  await using pc = await startComputer({});
  const wire = await takeSeat(pc.office);
  assertEquals(await wire.ask("client:get_tools", {}), {
    tools: [],
    req_id: "1",
  });
  const rows: [string, Record<string, unknown>, number][] = [
    ["client:get_resources", { mcp_server: "" }, 400],
    ["client:get_dpe", { uri: "dpe://host/doc" }, 4011],
    ["client:get_dpe", { uri: "dpe://host" }, 4012],
  ];
  for (const [event, request, code] of rows) {
    const error = await assertRejects(
      () => wire.ask(event, request),
      ProtocolError,
    );
    assertEquals([error.code, error.fields.uri], [code, request.uri]);
  }
});

Deno.test("a Computer announces its tools when they change, a burst of changes once", async () => {
  await using pc = await startComputer({ a: fixture({ only: ["add_tool"] }) });
  const { agent } = pc.office;
  const CHANGES = 20; // on a slow machine some of them come apart
  let announced = 0;
  agent.on("updateToolList", ({ computer }) => {
    assertEquals(computer, "pc");
    announced++;
  });
  const known = new Promise<void>((resolve) =>
    agent.on("tools", ({ tools }) => {
      if (tools?.length === 1 + CHANGES) resolve();
    })
  );
  const names = Array.from({ length: CHANGES }, (_, i) => `extra${i}`);
  await Promise.all(names.map((name) => pc.call("add_tool", { name })));
  await known;
  assert(announced < CHANGES, `${announced} announcements`);
});

Deno.test("added and removed servers show at once in configuration and tools", async () => {
  await using pc = await startComputer({});
  const { computer, office: { agent } } = pc;
  const changed = next<unknown>((l) => agent.on("updateConfig", l));
  await computer.addServer("a", fixture({ only: ["echo"] }));
  assertEquals((await agent.getTools("pc")).length, 1);
  assertEquals(Object.keys((await agent.getConfig("pc")).servers), ["a"]);
  assertEquals(await changed, { computer: "pc" });
  await assertRejects(
    () =>
      computer.addServer("b", {
        type: "stdio",
        server_parameters: { command: "" },
      }),
    ConfigError,
    "servers.b.server_parameters.command",
  );
  await computer.removeServer("a");
  assertEquals(await agent.getTools("pc"), []);
});

Deno.test("an input that changes is announced as configuration and as tools (protocol §8.5)", async () => {
  await using pc = await startComputer({});
  const { computer, office: { agent } } = pc;
  const announced = () => {
    const last = next((l) => agent.on("updateFinder", l));
    officeLinkOf(computer).announceAll();
    return last;
  };
  await announced();
  const heard: string[] = [];
  const both = ["updateConfig", "updateToolList"] as const;
  for (const event of both) agent.on(event, () => void heard.push(event));
  const told = next((l) => agent.on("updateConfig", l));
  computer.inputs.put({ type: "promptString", id: "x", description: "" });
  await told;
  await announced();
  assertEquals(heard, [...both, ...both]);
});

Deno.test("a Computer is in its office before its MCP servers are ready, and never waits for one", async () => {
  await using pc = await startComputer({});
  const { office } = pc;
  const computer = office.use(
    new SmcpComputer({
      url: office.url,
      name: "slow",
      servers: {
        hanging: fixture({ start: "hang" }),
        healthy: fixture({ only: ["echo"] }),
      },
    }),
  );
  const ready = new Promise<void>((resolve) =>
    office.agent.on("tools", ({ computer, tools }) => {
      if (computer === "slow" && tools?.length === 1) resolve();
    })
  );
  await computer.connect();
  await computer.join(OFFICE);
  await ready;
  assertEquals(computer.status().servers.map(({ state }) => state), [
    "starting",
    "running",
  ]);
});

Deno.test("a Computer rejoins its office after a lost connection, without effect on calls and servers", async () => {
  await using pc = await startComputer({});
  const { office: { agent, url } } = pc;
  await using proxy = await startProxy(url);
  await using computer = new SmcpComputer({
    url: proxy.url,
    name: "roaming",
    servers: { a: fixture() },
  });
  await computer.connect();
  await computer.serversSettled();
  await computer.join(OFFICE);
  const pid = await agent.callTool("roaming", "pid", {});
  const back = next<{ rejoined: boolean }>((l) => computer.on("joined", l));
  proxy.cut();
  assertEquals((await back).rejoined, true);
  assertEquals(await agent.callTool("roaming", "pid", {}), pid);
});

Deno.test("SmcpComputer reports invalid options and errors of the Server", async () => {
  await using computer = new SmcpComputer({
    url: "http://127.0.0.1:1",
    name: "pc",
    servers: {},
  });
  const error = await assertRejects(() => computer.connect(), ConnectionError);
  assertEquals(error.code, "unreachable");
  assertThrows(
    () => new SmcpComputer({ url: "x", name: "pc", servers: {} }),
    TypeError,
    '"x"',
  );
});

Deno.test("switchServer() changes the name or the Server while the MCP servers keep running", async () => {
  await using other = createSmcpServer();
  const { url: elsewhere } = await other.listen({ port: 0 });
  await using pc = await startComputer({ files: fixture({ only: ["pid"] }) });
  const { computer, office: { agent, url } } = pc;
  const link = officeLinkOf(computer);
  const names = async () =>
    (await agent.listRoom()).map(({ name }) => name).sort();
  const before = await computer.callTool("pid");

  await link.switchServer({ name: "workshop" });
  assertEquals(await names(), ["planner"], "it left");
  assertEquals(computer.office, undefined);
  await computer.connect();
  await computer.join(OFFICE);
  assertEquals(await names(), ["planner", "workshop"]);
  const { content } = await agent.callTool("workshop", "pid", {});
  assertEquals(content, before.content, "the same process");

  await link.switchServer({ url: elsewhere });
  assertEquals(await names(), ["planner"]);
  await computer.connect();
  await computer.join("south");
  await assertRejects(() => link.switchServer({ url: "nowhere" }), TypeError);
  assertEquals([computer.url, computer.name, computer.office], [
    elsewhere,
    "workshop",
    "south",
  ]);
  assertEquals(await computer.callTool("pid"), before);

  await link.switchServer({ url, name: "pc" });
  await computer.connect();
  await computer.join(OFFICE);
  assertEquals(await names(), ["pc", "planner"]);
});
