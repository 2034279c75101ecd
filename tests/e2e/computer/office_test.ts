import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import {
  ConfigError,
  ConnectionError,
  type ServerStatus,
  SmcpComputer,
} from "../../../computer/mod.ts";
import {
  CANCEL_TOOL_CALL_EVENT,
  GET_DPE_EVENT,
  GET_RESOURCES_EVENT,
  GET_TOOLS_EVENT,
  ProtocolError,
  resultMeta,
} from "../../../protocol/mod.ts";
import { officeLinkOf } from "../../../computer/computer.ts";
import { startComputer, takeSeat } from "../../support/computer/computer.ts";
import { everyTransport } from "../../support/server/every_transport.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";

const textOf = (result: { content: { text?: string }[] }) =>
  result.content.map(({ text }) => text ?? "").join("\n");

/** Resolves at the next event. */
const next = <T>(on: (listener: (value: T) => void) => unknown) =>
  new Promise<T>((resolve) => on(resolve));

Deno.test({
  name: "an Agent sees and calls the tools of a Computer's MCP servers",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({
    files: fixture({ only: ["echo"] }, {
      tool_meta: { echo: { alias: "say", auto_apply: true } },
    }),
    other: fixture({ only: ["pid"] }),
  });
  const { agent } = pc.office;
  const tools = await agent.getTools("pc");
  assertEquals(tools.map(({ name }) => name), ["say", "pid"]);
  assertEquals(tools[0], {
    name: "say",
    description: "does echo",
    params_schema: { type: "object" },
    return_schema: null,
    meta: {
      a2c_mcp_server: "files",
      a2c_tool_meta:
        '{"auto_apply":true,"alias":"say","tags":null,"ret_object_mapper":null}',
    },
  });
  const result = await agent.callTool("pc", "say", { text: "hello" });
  assertEquals(result, { content: [{ type: "text", text: "hello" }] });
});

Deno.test({
  name: "a tool call ends as in the table of the spec",
  timeout: 120_000,
}, async (t) => {
  await using pc = await startComputer({
    a: fixture({}, {
      forbidden_tools: ["pid"],
      tool_meta: { pid: { alias: "id" } },
    }),
    off: fixture({ only: ["dark"] }, { disabled: true }),
    twin1: fixture({ only: ["same"] }),
    twin2: fixture({ only: ["same"] }),
    halted: fixture({ only: ["halt"] }),
  });
  await pc.computer.stopServer("halted");
  const { agent } = pc.office;
  const rows: [string, number | undefined, string][] = [
    ["nothing", 4001, '"nothing"'],
    ["dark", 4001, '"dark"'],
    ["same", 4001, '"twin1" and MCP server "twin2"'],
    ["pid", 4002, "forbidden"],
    ["id", 4002, "forbidden"],
    ["halt", 4003, "stopped"],
    ["throw", 4003, "no such luck"],
    ["fail", undefined, "it went wrong"],
  ];
  for (const [tool, code, part] of rows) {
    await t.step(`${tool}: ${code ?? "nothing added"}`, async () => {
      const result = await agent.callTool("pc", tool, {});
      assertEquals(result.isError, true);
      assertEquals(resultMeta(result), code ? { error_code: code } : {});
      assertStringIncludes(textOf(result), part);
    });
  }
  await t.step("a clash is shown as a problem", () => {
    const [problem, ...more] = pc.computer.status().problems;
    assertStringIncludes(problem ?? "", '"same"');
    assertEquals(more, []);
  });
  await t.step("metadata of a result is written under both names", async () => {
    const result = await agent.callTool("pc", "meta", {});
    assertEquals(result.meta, { origin: "fixture" });
    assertEquals(result._meta, { origin: "fixture" });
  });
  await t.step("an MCP server that dies in a call: 4003", async () => {
    const result = await agent.callTool("pc", "crash", {});
    assertEquals(resultMeta(result), { error_code: 4003 });
    assertStringIncludes(textOf(result), '"a" was lost');
  });
});

Deno.test({
  name:
    "a Computer runs tools for its own process without a Server; a signal, even one already aborted, cancels a call",
  timeout: 120_000,
}, async () => {
  await using computer = new SmcpComputer({
    url: "http://127.0.0.1:9", // never connected
    name: "pc",
    servers: { a: fixture() },
    confirm: () => "once",
  });
  computer.start();
  await computer.serversSettled();
  const call = (signal: AbortSignal) =>
    computer.callTool("slow", {}, { signal });
  const abort = new AbortController();
  const pending = call(abort.signal);
  abort.abort();
  for (const result of [await pending, await call(abort.signal)]) {
    assertEquals(resultMeta(result).a2c_cancelled, true);
  }
  await assertRejects(
    () => computer.getDpe("dpe://h"),
    ProtocolError,
    "Invalid DPE URI",
  );
});

Deno.test({
  name:
    "a call that its Agent cancels is aborted at the MCP server and answered as cancelled",
  timeout: 120_000,
}, async (t) => {
  await using servers = await everyTransport();
  for (const [name, settings] of servers.settings) {
    await t.step(name, async () => {
      await using pc = await startComputer({ a: settings });
      const { agent } = pc.office;
      const pending = agent.callTool("pc", "slow", {}, { reqId: "x" });
      await agent.callTool("pc", "slow_began", {});
      agent.cancel("unknown");
      agent.cancel("x");
      assertEquals(resultMeta(await pending), {
        a2c_cancelled: true,
        a2c_cancel_reason: "agent_requested",
      });
      agent.cancel("x");
      await agent.callTool("pc", "slow_aborted", {});
      assertEquals(
        textOf(await agent.callTool("pc", "echo", { text: "on" })),
        "on",
      );
    });
  }
});

Deno.test({
  name:
    "the Computer ends a call at its timeout with a timeout result, and aborts it at the MCP server",
  timeout: 120_000,
}, async (t) => {
  await using servers = await everyTransport();
  for (const [name, settings] of servers.settings) {
    await t.step(name, async () => {
      await using pc = await startComputer({ a: settings });
      const wire = await takeSeat(pc.office);
      const result = await wire.call({ tool_name: "slow", timeout: 1 });
      assertEquals(result.isError, true);
      assertEquals(resultMeta(result), {
        error_code: 4004,
        a2c_timeout: true,
        timeout: true,
      });
      await wire.call({ req_id: "2", tool_name: "slow_aborted" });
    });
  }
});

Deno.test({
  name:
    "the same req_id shares one execution, then gets the stored result; for another call it is 400",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ a: fixture() });
  const wire = await takeSeat(pc.office);
  const first = await wire.call({ tool_name: "background" });
  const again = await wire.call({ tool_name: "background" });
  assertEquals(again, first);
  const error = await assertRejects(
    () => wire.call({ tool_name: "echo" }),
    ProtocolError,
  );
  assertEquals(error.code, 400);
  const twice = new Promise<void>((resolve) => {
    let calls = 0;
    pc.computer.on("callStarted", () => {
      if (++calls === 2) resolve();
    });
  });
  const both = [
    wire.call({ req_id: "2", tool_name: "slow" }),
    wire.call({ req_id: "2", tool_name: "slow" }),
  ];
  await twice;
  assertEquals(pc.computer.status().runningCalls, 1);
  wire.connection.send(CANCEL_TOOL_CALL_EVENT, { agent: "wire", req_id: "2" });
  const [one, two] = await Promise.all(both);
  assertEquals(one, two);
  // Leaving forgets the results.
  await pc.computer.leave();
  await pc.computer.join(OFFICE);
  const anew = await wire.call({ tool_name: "background" });
  assertEquals(textOf(anew) === textOf(first), false);
});

Deno.test({
  name: "a result above the Server's limit becomes an error with both sizes",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ a: fixture() }, {}, {
    server: { maxMessageBytes: 100_000 },
  });
  const { agent } = pc.office;
  const big = await agent.callTool("pc", "big", { bytes: 200_000 });
  assertEquals(resultMeta(big), { error_code: 4003 });
  assertStringIncludes(textOf(big), "100000");
  const deep = await agent.callTool("pc", "deep", { levels: 100 });
  assertEquals(resultMeta(deep), { error_code: 4003 });
  assertEquals(
    textOf(await agent.callTool("pc", "echo", { text: "on" })),
    "on",
  );
});

Deno.test({
  name: "a call whose result cannot be sent is not run twice either",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ a: fixture() });
  const wire = await takeSeat(pc.office);
  const run = async () => [
    await wire.call({
      req_id: "1",
      tool_name: "big",
      params: { bytes: 17 * 2 ** 20 }, // above the limit of stored results
    }),
    await wire.call({ req_id: "2", tool_name: "bottomless" }),
  ];
  const first = await run();
  for (const result of first) {
    assertEquals(resultMeta(result), { error_code: 4003 });
    assertStringIncludes(textOf(result), "The tool ran");
  }
  await pc.computer.stopServer("a"); // the tool could not run now
  assertEquals(await run(), first);
});

Deno.test({
  name: "get_config returns the configuration without secrets",
  timeout: 120_000,
}, async () => {
  const settings = fixture({}, { disabled: true });
  await using pc = await startComputer({
    a: {
      ...settings,
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
  assertEquals(config.inputs, [
    { type: "promptString", id: "i", description: "d", password: true },
  ]);
});

Deno.test({
  name:
    "get_resources passes pages on, and explains why a server cannot be asked",
  timeout: 120_000,
}, async (t) => {
  const resourceList = [
    { uri: "x:1", annotations: { priority: 9 } },
    { uri: "x:2" },
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
    ["nobody", 404, { mcp_server: "nobody" }],
    ["off", 404, { mcp_server: "off", reason: "it is disabled" }],
    ["halted", 404, { mcp_server: "halted", reason: "it is stopped" }],
    ["without", 4015, {
      mcp_server: "without",
      mcp_server_name: "without", // as the Python SDK of 0.2 reads it
      capability: "resources",
    }],
  ];
  for (const [server, code, fields] of rows) {
    await t.step(`${server}: ${code}`, async () => {
      const error = await assertRejects(
        () => agent.getResources("pc", server),
        ProtocolError,
      );
      assertEquals([error.code, error.fields], [code, fields]);
    });
  }
});

Deno.test({
  name: "get_dpe without a resolver is 4011, after the URI was checked",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({});
  const wire = await takeSeat(pc.office);
  for (
    const [uri, code] of [["dpe://host/doc", 4011], [
      "dpe://host",
      4012,
    ]] as const
  ) {
    const error = await assertRejects(
      () => wire.ask(GET_DPE_EVENT, { uri }),
      ProtocolError,
    );
    assertEquals([error.code, error.fields.uri], [code, uri]);
  }
});

Deno.test(
  { name: "a Computer validates each request itself", timeout: 120_000 },
  async () => {
    await using pc = await startComputer({});
    const wire = await takeSeat(pc.office);
    assertEquals(await wire.ask(GET_TOOLS_EVENT, {}), {
      tools: [],
      req_id: "1",
    });
    const error = await assertRejects(
      () => wire.ask(GET_RESOURCES_EVENT, { mcp_server: "" }),
      ProtocolError,
    );
    assertEquals(error.code, 400);
  },
);

Deno.test({
  name:
    "a Computer announces its tools when they change, a burst of changes once",
  timeout: 120_000,
}, async () => {
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
  await Promise.all(
    Array.from(
      { length: CHANGES },
      (_, i) => agent.callTool("pc", "add_tool", { name: `extra${i}` }),
    ),
  );
  await known;
  assert(announced < CHANGES, `${announced} announcements`);
});

Deno.test({
  name: "added and removed servers show at once in configuration and tools",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({});
  const { agent } = pc.office;
  const changed = next<unknown>((l) => agent.on("updateConfig", l));
  await pc.computer.addServer("a", fixture({ only: ["echo"] }));
  assertEquals((await agent.getTools("pc")).length, 1);
  assertEquals(Object.keys((await agent.getConfig("pc")).servers), ["a"]);
  assertEquals(await changed, { computer: "pc" });
  await assertRejects(
    () =>
      pc.computer.addServer("b", {
        type: "stdio",
        server_parameters: { command: "" },
      }),
    ConfigError,
    "servers.b.server_parameters.command",
  );
  await pc.computer.removeServer("a");
  assertEquals(await agent.getTools("pc"), []);
});

Deno.test({
  name:
    "an input that changes is announced as configuration and as tools (spec §8.5)",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({});
  const { computer, office: { agent } } = pc;
  const heard: string[] = [];
  const both = [
    "updateConfig",
    "updateToolList",
  ] as const;
  const announced = () => {
    const last = next((l) => agent.on("updateFinder", l));
    officeLinkOf(computer).announceAll();
    return last;
  };
  await announced();
  for (const event of both) agent.on(event, () => void heard.push(event));
  const told = next((l) => agent.on("updateConfig", l));
  computer.inputs.put({ type: "promptString", id: "x", description: "" });
  await told;
  await announced();
  assertEquals(heard, [...both, ...both]);
});

Deno.test({
  name:
    "a Computer is in its office before its MCP servers are ready, and never waits for one",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({
    healthy: fixture({ only: ["echo"] }),
  });
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
  const states: ServerStatus[] = [];
  computer.on("serverState", (status) => states.push(status));
  const ready = new Promise<void>((resolve) =>
    office.agent.on("tools", ({ computer, tools }) => {
      if (computer === "slow" && tools?.length === 1) resolve();
    })
  );
  await computer.connect();
  await computer.join(OFFICE);
  await ready;
  assertEquals(
    computer.status().servers.map(({ name, state }) => [name, state]),
    [["hanging", "starting"], ["healthy", "running"]],
  );
  assertEquals(states.at(-1)?.name, "healthy");
});

Deno.test({
  name:
    "a Computer rejoins its office after a lost connection, without effect on calls and servers",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({});
  const { office } = pc;
  await using proxy = await startProxy(office.url);
  await using computer = new SmcpComputer({
    url: proxy.url,
    name: "roaming",
    servers: { a: fixture() },
  });
  await computer.connect();
  await computer.serversSettled();
  await computer.join(OFFICE);
  const pid = textOf(await office.agent.callTool("roaming", "pid", {}));
  const back = next<{ rejoined: boolean }>((l) => computer.on("joined", l));
  await proxy.cut();
  assertEquals((await back).rejoined, true);
  assertEquals(textOf(await office.agent.callTool("roaming", "pid", {})), pid);
});

Deno.test({
  name: "SmcpComputer reports invalid options and errors of the Server",
  timeout: 120_000,
}, async () => {
  const error = await assertRejects(
    () => {
      const computer = new SmcpComputer({
        url: "http://127.0.0.1:1",
        name: "pc",
        servers: {},
      });
      return computer.connect().finally(() => computer.close());
    },
    ConnectionError,
  );
  assertEquals(error.code, "unreachable");
  assertThrows(
    () => new SmcpComputer({ url: "x", name: "pc", servers: {} }),
    TypeError,
    '"x"',
  );
});
