import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { bundleIdOf } from "../../../computer/config/config.ts";
import { loadComputerConfig } from "../../../computer/config/load_config.ts";
import { parseComputerConfig } from "../../../computer/config/parse_config.ts";
import { ToolHost, type ToolHostOptions } from "../../../computer/mod.ts";
import {
  completeShell,
  runLine,
} from "../../../computer/cli/shell/run_line.ts";
import type { ShellContext } from "../../../computer/cli/shell/command.ts";
import { resultMeta } from "../../../protocol/mod.ts";
import { runHere } from "../../support/command.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { configFile } from "../../support/computer/config_file.ts";
import { resourceServers } from "../../support/computer/resource_servers.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";

const YES = { default_tool_meta: { auto_apply: true } };

/** A host whose MCP servers have all started or failed. */
async function startHost(options: ToolHostOptions): Promise<ToolHost> {
  const host = new ToolHost(options);
  await host.start();
  return host;
}

const states = (host: ToolHost): [string, string, string][] =>
  host.status().servers.map(({ name, bundleId, state }) => [
    name,
    bundleId,
    state,
  ]);

const ECHO = fixture({ only: ["echo"] }, YES);
const PID = fixture({ only: ["pid"] }, YES);

Deno.test({
  name:
    "0.4 §3.4: of two servers with one bundle_id the first starts, and the other is a problem until that is gone",
  timeout: 120_000,
}, async () => {
  await using host = await startHost({
    servers: { "a b": ECHO, "a_b": PID, "c": { ...PID, bundle_id: "d" } },
  });
  assertEquals(states(host), [
    ["a b", "a_b", "running"],
    ["c", "d", "running"],
  ]);
  assertEquals(host.status().problems, [
    'MCP server "a_b" is not started: "a b" comes first and has the same bundle_id, "a_b"; give one of them a "bundle_id" of its own',
  ]);
  assertEquals(host.listTools().map(({ name }) => name), ["echo", "pid"]);
  await host.removeServer("a b");
  assertEquals(states(host), [
    ["c", "d", "running"],
    ["a_b", "a_b", "running"],
  ]);
  assert(!host.status().problems.join().includes("same bundle_id"));
});

Deno.test({
  name:
    "0.4 §3.4: a server that is added, or whose name alone changes in the file, takes the place of that with its bundle_id",
  timeout: 120_000,
}, async () => {
  await using host = await startHost({
    servers: { "a b": ECHO, "z": { ...PID, disabled: true } },
  });
  await host.addServer("a-b ", { ...PID, bundle_id: "a_b" });
  assertEquals(states(host), [
    ["a-b ", "a_b", "running"],
    ["z", "z", "disabled"],
  ]);
  assertEquals(host.listTools().map(({ name }) => name), ["pid"]);
  await assertRejects(
    () => host.addServer("a-b ", { ...PID, bundle_id: "a_b" }),
    TypeError,
    "there is one of that name",
  );
  await assertRejects(
    () => host.updateServer("z", { ...ECHO, bundle_id: "a_b" }),
    TypeError,
    'the bundle_id "a_b" is that of "a-b "',
  );
  // Two of one name, told apart by their ids.
  await host.addServer("z", { ...ECHO, bundle_id: "z2" });
  await assertRejects(() => host.stopServer("z"), TypeError, 'z2 ("z")');
  await host.stopServer("z2");
  assertEquals(states(host).at(-1), ["z", "z2", "stopped"]);
  const { add, update, remove } = await host.configure(parseComputerConfig({
    servers: {
      "new name": { ...PID, bundle_id: "a_b" },
      "a b": ECHO,
      "y": ECHO,
    },
  }));
  assertEquals([
    add.map(({ name }) => name),
    update.map(({ name }) => name),
    remove,
  ], [["y"], ["new name"], ["z", "z"]]);
  assertEquals(states(host), [
    ["new name", "a_b", "running"],
    ["y", "y", "running"],
  ]);
  assertStringIncludes(host.status().problems.join(), '"a b" is not started');
});

Deno.test({
  name:
    "0.4 §3.6: the shell takes a name or an id, completes both, and refuses a name that two servers have",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer([
    { ...ECHO, name: "my tools" },
    { ...PID, name: "twin", bundle_id: "twin-1" },
    { ...ECHO, name: "twin", bundle_id: "twin-2" },
  ]);
  const context: ShellContext = {
    computer: pc.computer,
    look: () => ({ columns: 200, colour: false }),
    calls: [],
  };
  const say = async (line: string) =>
    (await runLine(line, context, new AbortController().signal)).text;
  assertStringIncludes(await say("status"), "my tools (my_tools)");
  assertStringIncludes(await say("status"), "twin (twin-2)");
  assertEquals(
    await say("stop twin"),
    'error: "twin" is the name of 2 MCP servers; say which by its bundle_id: twin-1 ("twin"), twin-2 ("twin")',
  );
  assertEquals(await say("stop twin-1"), "MCP server twin: stopped");
  assertEquals(await say("stop my_tools"), "MCP server my tools: stopped");
  assertEquals(
    pc.computer.status().servers.map(({ state }) => state),
    ["stopped", "stopped", "running"],
  );
  const [completions] = completeShell("stop ", context);
  assertEquals(
    completions.toSorted(),
    ["all", "my tools", "my_tools", "twin-1", "twin-2"],
  );
  // Adds a third, and replaces it.
  const twin = JSON.stringify({ ...PID, name: "twin", bundle_id: "twin-3" });
  await say(`server add ${twin}`);
  await say(`server add ${twin}`);
  await say(`server add ${JSON.stringify({ ...PID, name: "my tools" })}`);
  assertEquals(
    pc.computer.status().servers.map(({ bundleId }) => bundleId),
    ["my_tools", "twin-1", "twin-2", "twin-3"],
  );
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

Deno.test({
  name:
    "0.4 §3.4: check shows a bundle_id that is taken, and ids where they differ",
  timeout: 120_000,
}, async () => {
  await using config = await configFile({
    servers: { "a b": ECHO, pid: { ...PID, bundle_id: "a_b" }, c: PID },
  });
  const { code, stdout } = await runHere("computer", [
    "check",
    "--config",
    config.file,
  ]);
  assertEquals(code, 1, stdout);
  assertStringIncludes(stdout, "✓ a b (a_b)");
  assertStringIncludes(stdout, "✓ c ");
  assertStringIncludes(
    stdout,
    'problem: MCP server "pid" is not started: "a b" comes first',
  );
  await using clashing = await configFile({ servers: { a: ECHO, b: ECHO } });
  const args = ["check", "--config", clashing.file];
  const before = await runHere("computer", args);
  assertStringIncludes(before.stdout, 'More than one tool is named "echo"');
  const later = await runHere("computer", [...args, "--protocol", "0.4"]);
  assertEquals(later.code, 0, later.stdout);
  assertStringIncludes(later.stdout, "tools: b__echo");
});

Deno.test("0.4 §3.4: a file in which two names derive one bundle_id is refused, in every format, and import gives one an id", async (t) => {
  const { server_parameters: plain } = ECHO;
  const own = { "a b": ECHO, "a_b": PID };
  const files = {
    own: { servers: own },
    list: Object.entries(own).map(([name, one]) => ({ ...one, name })),
    foreign: { mcpServers: { "a b": plain, "a_b": plain } },
    "without a letter": { servers: { "文": ECHO, "件": ECHO } },
  };
  for (const [format, content] of Object.entries(files)) {
    await t.step(format, async () => {
      await using config = await configFile(content);
      for (const command of ["check", "run"]) {
        const { code, stderr } = await runHere("computer", [
          ...[command, "--config", config.file],
          ...(command === "run" ? ["--office", "home"] : []),
        ]);
        assertEquals(code, 1, stderr);
        assertStringIncludes(stderr, "have one bundle_id, ");
        assertStringIncludes(stderr, 'give one of them a "bundle_id"');
      }
    });
  }
  await t.step("import", async () => {
    await using config = await configFile(files.foreign);
    const { code, stdout } = await runHere("computer", [
      ...["import", "--from", config.file, "--out", `${config.file}.own`],
    ]);
    assertEquals(code, 0, stdout);
    assert(!stdout.includes("have one bundle_id"), stdout);
    const { servers } = await loadComputerConfig(`${config.file}.own`);
    assertEquals(servers.map(bundleIdOf), ["a_b", "a_b-2"]);
  });
});

Deno.test({
  name:
    "0.4 §3.5: a ToolHost confirms a call with the bundle_id where it differs",
  timeout: 120_000,
}, async () => {
  const asked: unknown[] = [];
  await using host = await startHost({
    servers: {
      "a b": fixture({ only: ["pid"] }),
      c: fixture({ only: ["echo"] }),
    },
    confirm: ({ server, bundleId, name }) => {
      asked.push([server, bundleId, name]);
      return "no";
    },
  });
  for (const { name } of host.listTools()) {
    assertEquals(resultMeta(await host.callTool(name)).error_code, 4005);
  }
  assertEquals(asked, [["a b", "a_b", "pid"], ["c", undefined, "echo"]]);
});

Deno.test({
  name:
    "0.4 §3.6: a resolver of documents gets the name of the MCP server, not its bundle_id",
  timeout: 120_000,
}, async () => {
  const { papers } = resourceServers({
    name: "papers",
    resources: [{ uri: "dpe://papers/report", name: "Report" }],
  });
  assert(papers);
  await using host = await startHost({ servers: { "my papers": papers } });
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
