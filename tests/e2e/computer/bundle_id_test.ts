import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { ControlledComputer } from "../../../computer/cli/control/controlled.ts";
import { PersonsDevices } from "../../../computer/cli/control/persons_devices.ts";
import type { ShellContext } from "../../../computer/cli/shell/command.ts";
import {
  completeShell,
  runLine,
} from "../../../computer/cli/shell/run_line.ts";
import { bundleIdOf } from "../../../computer/config/config.ts";
import { loadComputerConfig } from "../../../computer/config/load_config.ts";
import { parseComputerConfig } from "../../../computer/config/parse_config.ts";
import { ToolHost, type ToolHostOptions } from "../../../computer/mod.ts";
import { resultMeta } from "../../../protocol/mod.ts";
import { runHere } from "../../support/command.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { resourceServers } from "../../support/computer/resource_servers.ts";

const YES = { default_tool_meta: { auto_apply: true } };
const ECHO = fixture({ only: ["echo"] }, YES);
const PID = fixture({ only: ["pid"] }, YES);

/** A host whose MCP servers have all started or failed. */
async function startHost(options: ToolHostOptions): Promise<ToolHost> {
  const host = new ToolHost(options);
  await host.start();
  return host;
}

const states = (host: ToolHost) =>
  host.status().servers.map((
    { name, bundleId, state },
  ) => [name, bundleId, state]);

Deno.test("protocol §13: of two servers with one bundle_id the first starts, and the other is a problem until that is gone", async () => {
  await using host = await startHost({
    servers: { "a b": ECHO, "a_b": PID, "c": { ...PID, bundle_id: "d" } },
  });
  assertEquals(states(host), [["a b", "a_b", "running"], [
    "c",
    "d",
    "running",
  ]]);
  assertEquals(host.status().problems, [
    'MCP server "a_b" is not started: "a b" comes first and has the same bundle_id, "a_b"; give one of them a "bundle_id" of its own',
  ]);
  assertEquals(host.listTools().map(({ name }) => name), ["echo", "pid"]);
  await host.removeServer("a b");
  assertEquals(states(host), [["c", "d", "running"], [
    "a_b",
    "a_b",
    "running",
  ]]);
  assert(!host.status().problems.join().includes("same bundle_id"));
});

Deno.test("protocol §13: a server that is added, or whose name alone changes in the file, takes the place of that with its bundle_id", async () => {
  await using host = await startHost({
    servers: { "a b": ECHO, "z": { ...PID, disabled: true } },
  });
  const again = { ...PID, bundle_id: "a_b" };
  await host.addServer("a-b ", again);
  assertEquals(states(host), [["a-b ", "a_b", "running"], [
    "z",
    "z",
    "disabled",
  ]]);
  assertEquals(host.listTools().map(({ name }) => name), ["pid"]);
  // Two of one name, told apart by their ids.
  await host.addServer("z", { ...ECHO, bundle_id: "z2" });
  const refusals: [() => Promise<unknown>, string][] = [
    [() => host.addServer("a-b ", again), "there is one of that name"],
    [
      () => host.updateServer("z2", { ...ECHO, bundle_id: "a_b" }),
      'the bundle_id "a_b" is that of "a-b "',
    ],
    [() => host.stopServer("z"), 'z2 ("z")'],
  ];
  for (const [change, text] of refusals) {
    await assertRejects(change, TypeError, text);
  }
  await host.stopServer("z2");
  assertEquals(states(host).at(-1), ["z", "z2", "stopped"]);
  const { add, update, remove } = await host.configure(parseComputerConfig({
    servers: { "new name": again, "a b": ECHO, "y": ECHO },
  }));
  const names = (servers: readonly { name: string }[]) =>
    servers.map(({ name }) => name);
  assertEquals([names(add), names(update), remove], [["y"], ["new name"], [
    "z",
    "z",
  ]]);
  assertEquals(states(host), [["new name", "a_b", "running"], [
    "y",
    "y",
    "running",
  ]]);
  assertStringIncludes(host.status().problems.join(), '"a b" is not started');
});

Deno.test("protocol §13: the shell takes a name or an id, completes both, and refuses a name that two servers have", async () => {
  await using pc = await startComputer([
    { ...ECHO, name: "my tools" },
    { ...PID, name: "twin", bundle_id: "twin-1" },
    { ...ECHO, name: "twin", bundle_id: "twin-2" },
  ]);
  const { computer } = pc;
  const context: ShellContext = {
    computer,
    control: new ControlledComputer({
      computer,
      devices: new PersonsDevices("/nonexistent/keys.json", () => "pc"),
      office: undefined,
    }),
    note: () => {},
    look: () => ({ columns: 200, colour: false }),
    calls: [],
  };
  const say = async (line: string) =>
    (await runLine(line, context, new AbortController().signal)).text;
  const status = await say("status");
  assertStringIncludes(status, "my tools (my_tools)");
  assertStringIncludes(status, "twin (twin-2)");
  const answers = {
    "stop twin":
      'error: "twin" is the name of 2 MCP servers; say which by its bundle_id: twin-1 ("twin"), twin-2 ("twin")',
    "stop twin-1": "MCP server twin: stopped",
    "stop my_tools": "MCP server my tools: stopped",
  };
  for (const [line, answer] of Object.entries(answers)) {
    assertEquals(await say(line), answer);
  }
  assertEquals(computer.status().servers.map(({ state }) => state), [
    "stopped",
    "stopped",
    "running",
  ]);
  const [completions] = completeShell("stop ", context);
  assertEquals(completions.toSorted(), [
    "all",
    "my tools",
    "my_tools",
    "twin-1",
    "twin-2",
  ]);
  // Adds a third, and replaces it.
  const twin = { ...PID, name: "twin", bundle_id: "twin-3" };
  for (const server of [twin, twin, { ...PID, name: "my tools" }]) {
    await say(`server add ${JSON.stringify(server)}`);
  }
  assertEquals(computer.status().servers.map(({ bundleId }) => bundleId), [
    "my_tools",
    "twin-1",
    "twin-2",
    "twin-3",
  ]);
  // An Agent of 0.2 sees names, and ids where names are the same.
  const { servers } = await pc.office.agent.getConfig("pc");
  assertEquals(Object.keys(servers), [
    "my tools",
    "twin-1",
    "twin-2",
    "twin-3",
  ]);
  assert(Object.values(servers).every((one) => !("bundle_id" in one)));
});

Deno.test("protocol §13: check shows a bundle_id that is taken, and ids where they differ", async () => {
  const check = async (
    servers: Record<string, unknown>,
    ...flags: string[]
  ) => {
    await using config = await configFile({ servers });
    return await runHere("computer", [
      "check",
      "--config",
      config.file,
      ...flags,
    ]);
  };
  const { code, stdout } = await check({
    "a b": ECHO,
    pid: { ...PID, bundle_id: "a_b" },
    c: PID,
  });
  assertEquals(code, 1, stdout);
  for (
    const part of [
      "✓ a b (a_b)",
      "✓ c ",
      'problem: MCP server "pid" is not started: "a b" comes first',
    ]
  ) {
    assertStringIncludes(stdout, part);
  }
  const clashing = { a: ECHO, b: ECHO };
  assertStringIncludes(
    (await check(clashing)).stdout,
    'problem: More than one tool is named "echo"',
  );
  const later = await check(clashing, "--protocol", "0.4");
  assertEquals(later.code, 0, later.stdout);
  assertStringIncludes(later.stdout, "tools: b__echo");
});

Deno.test("protocol §13: a file in which two names derive one bundle_id is refused, in every format, and import gives one an id", async () => {
  const { server_parameters: plain } = ECHO;
  const own = { "a b": ECHO, "a_b": PID };
  const foreign = { mcpServers: { "a b": plain, "a_b": plain } };
  const files = [
    { servers: own },
    Object.entries(own).map(([name, one]) => ({ ...one, name })),
    foreign,
    { servers: { "文": ECHO, "件": ECHO } }, // without a letter
  ];
  for (const content of files) {
    await using config = await configFile(content);
    for (const command of [["check"], ["run", "--office", "home"]]) {
      const { code, stderr } = await runHere("computer", [
        ...command,
        "--config",
        config.file,
      ]);
      assertEquals(code, 1, stderr);
      assertStringIncludes(stderr, "have one bundle_id, ");
      assertStringIncludes(stderr, 'give one of them a "bundle_id"');
    }
  }
  await using config = await configFile(foreign);
  const out = `${config.file}.own`;
  const { code, stdout } = await runHere("computer", [
    "import",
    "--from",
    config.file,
    "--out",
    out,
  ]);
  assertEquals(code, 0, stdout);
  assert(!stdout.includes("have one bundle_id"), stdout);
  // They are one program, too.
  assertStringIncludes(
    stdout,
    'more than once: a b, a_b; each gets "tool_prefix"',
  );
  const { servers } = await loadComputerConfig(out);
  assertEquals(servers.map(bundleIdOf), ["a_b", "a_b-2"]);
  assertEquals(servers.map(({ tool_prefix }) => tool_prefix), ["auto", "auto"]);
});

Deno.test("protocol §13: confirmations have the bundle_id where it differs, and resolvers of documents the name of the MCP server", async () => {
  const { papers } = resourceServers({
    name: "papers",
    resources: [{ uri: "dpe://papers/report", name: "Report" }],
  });
  const asked: unknown[] = [];
  await using host = await startHost({
    servers: {
      "a b": fixture({ only: ["pid"] }),
      c: fixture({ only: ["echo"] }),
      "my papers": papers!,
    },
    confirm: ({ server, bundleId, name }) => {
      asked.push([server, bundleId, name]);
      return "no";
    },
  });
  for (const name of ["pid", "echo"]) {
    assertEquals(resultMeta(await host.callTool(name)).error_code, 4005);
  }
  assertEquals(asked, [["a b", "a_b", "pid"], ["c", undefined, "echo"]]);
  const names: string[] = [];
  host.registerDpeResolver({
    resolve: (_uri, _contents, { mcp_server_name }) => {
      names.push(mcp_server_name);
      return { uri: "https://host/report" };
    },
  });
  const { uri } = await host.getDpe("dpe://papers/report");
  assertEquals([uri, names], ["https://host/report", ["my papers"]]);
});
