import {
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { parseComputerConfig } from "../../../computer/config/parse_config.ts";
import type { McpHostOptions } from "../../../computer/host/host.ts";
import { connectMcp } from "../../../computer/host/mcp/connect.ts";
import { resultMeta } from "../../../protocol/mod.ts";
import {
  type ComputerOffice,
  startComputer,
} from "../../support/computer/computer.ts";
import { hostOf } from "../../support/computer/host.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { startOffice } from "../../support/office.ts";
import { gone } from "../../support/processes.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { scratch } from "../../support/scratch.ts";

const server = (alias: string, more: Parameters<typeof fixture>[1] = {}) =>
  fixture({ only: ["pid", "slow", "slow_began"] }, {
    tool_meta: {
      pid: { alias: `${alias}_pid`, auto_apply: true },
      slow: { alias: `${alias}_slow`, auto_apply: true },
      slow_began: { alias: `${alias}_began`, auto_apply: true },
    },
    ...more,
  });

const config = (servers: Record<string, unknown>, inputs: unknown[] = []) =>
  parseComputerConfig({ servers, inputs });

const pidOf = async (office: ComputerOffice["office"], alias: string) =>
  Number(
    (await office.agent.callTool("pc", `${alias}_pid`, {})).content[0]?.text,
  );

Deno.test({
  name:
    "configure() replaces changed servers, and calls on the others continue",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({
    a: server("a"),
    b: server("b"),
    c: server("c"),
  });
  const { office, computer } = pc;
  const { agent } = office;
  const [a, b, c] = await Promise.all(
    ["a", "b", "c"].map((x) => pidOf(office, x)),
  );
  const cancel = new AbortController();
  const slow = (alias: string) =>
    agent.callTool("pc", `${alias}_slow`, {}, {
      signal: cancel.signal,
      timeoutMs: 600_000,
    });
  const [onA, onB] = [slow("a"), slow("b")];
  await Promise.all(
    ["a", "b"].map((x) => agent.callTool("pc", `${x}_began`, {})),
  );
  const told = Promise.all(
    (["updateConfig", "updateToolList"] as const).map((
      event,
    ) => new Promise<void>((resolve) => agent.on(event, () => resolve()))),
  );
  const known = new Promise<void>((resolve) =>
    agent.on("tools", ({ tools }) => {
      const names = tools?.map(({ name }) => name) ?? [];
      if (
        names.includes("d_pid") && names.includes("b2_pid") &&
        !names.includes("c_pid")
      ) resolve();
    })
  );
  const changes = await computer.configure(
    config({ a: server("a"), b: server("b2"), d: server("d") }),
  );
  assertEquals(
    [changes.add, changes.update].map((list) => list.map(({ name }) => name)),
    [["d"], ["b"]],
  );
  assertEquals(changes.remove, ["c"]);
  assertEquals(resultMeta(await onB).error_code, 4003);
  await Promise.all([told, known, gone(b ?? 0), gone(c ?? 0)]);
  assertEquals(Object.keys((await agent.getConfig("pc")).servers), [
    "a",
    "b",
    "d",
  ]);
  assertEquals(await pidOf(office, "a"), a);
  assertNotEquals(await pidOf(office, "b2"), b);
  cancel.abort();
  await onA.catch(() => {});
});

Deno.test({
  name:
    "configure() restarts the servers whose inputs changed, and keeps the values of the others",
  timeout: 120_000,
}, async () => {
  const prompt = (id: string, description = "") => ({
    type: "promptString",
    id,
    description,
  });
  let asked = 0;
  const uses = (id: string, alias: string) =>
    server(alias, {
      server_parameters: {
        command: Deno.execPath(),
        env: { X: `\${input:${id}}` },
      },
    });
  const servers = { a: uses("one", "a"), b: uses("two", "b") };
  await using pc = await startComputer({}, {
    askInput: () => Promise.resolve(`${++asked}`),
  });
  const { computer, office } = pc;
  await computer.configure(config(servers, [prompt("one"), prompt("two")]));
  assertEquals(asked, 2);
  const before = await Promise.all([pidOf(office, "a"), pidOf(office, "b")]);
  await computer.configure(
    config(servers, [prompt("one"), prompt("two", "other"), prompt("three")]),
  );
  assertEquals(asked, 3);
  const [a, b] = await Promise.all([pidOf(office, "a"), pidOf(office, "b")]);
  assertEquals(a, before[0]);
  assertNotEquals(b, before[1]);
  const ids = (await office.agent.getConfig("pc")).inputs?.map(({ id }) => id);
  assertEquals(ids, ["one", "two", "three"]);
  computer.inputs.remove("three");
  assertEquals((await office.agent.getConfig("pc")).inputs?.length, 2);
});

Deno.test({
  name: "a server that is replaced repeatedly and then removed leaves no child",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ a: server("a") });
  const { office, computer } = pc;
  const first = await pidOf(office, "a");
  const started: string[] = [];
  computer.on("serverState", ({ state }) => started.push(state));
  await Promise.all([
    computer.updateServer("a", server("b")),
    computer.updateServer("a", server("c")),
    computer.updateServer("a", server("d")),
  ]);
  assertEquals(started.filter((state) => state === "running"), ["running"]);
  const last = await pidOf(office, "d");
  const replaced = new Promise<void>((resolve) =>
    computer.on("configChanged", () => resolve())
  );
  const updating = computer.updateServer("a", server("e"));
  await replaced;
  await Promise.all([updating, computer.removeServer("a")]);
  assertEquals(computer.status().servers, []);
  await Promise.all([first, last].map(gone));
  assertEquals(started.filter((state) => state === "running"), ["running"]);
});

/** Connects as usual, and records the maximum number of concurrent processes. */
function counted() {
  let alive = 0;
  let most = 0;
  const connect: McpHostOptions["connect"] = async (config, signal) => {
    most = Math.max(most, ++alive);
    try {
      const connection = await connectMcp(config, signal);
      const close = connection.close.bind(connection);
      connection.close = () => close().finally(() => alive--);
      return connection;
    } catch (error) {
      alive--;
      throw error;
    }
  };
  return { connect, most: () => most };
}

Deno.test({
  name:
    "the process of a server starts after its predecessor's is gone, even if replaced twice, or removed and added",
  timeout: 120_000,
}, async () => {
  const { connect, most } = counted();
  const [b, c] = ["b", "c"].map((alias) =>
    config({ a: server(alias) }).servers[0]!
  );
  await using host = hostOf({ a: server("a") }, { connect });
  const names = () => host.tools().map(({ name }) => name.split("_")[0]);
  await host.start();
  await Promise.all([host.updateServer(b!), host.updateServer(c!)]);
  assertEquals([most(), names()], [1, ["c", "c", "c"]]);
  await Promise.all([host.removeServer("a"), host.addServer(b!)]);
  assertEquals([most(), names()], [1, ["b", "b", "b"]]);
  // Stopped before its predecessor is gone: it stays stopped.
  await Promise.all([host.updateServer(c!), host.stopServer("a")]);
  assertEquals([host.server("a")?.status.state, names()], ["stopped", []]);
});

Deno.test({
  name:
    "smcp-computer run --watch applies each valid version of the file; an invalid one changes nothing",
  timeout: 120_000,
}, async () => {
  await using office = await startOffice();
  await using folder = await scratch();
  const file = `${folder.path}/computer.json`;
  const write = async (text: string) => {
    await Deno.writeTextFile(`${file}.new`, text); // like editors
    await Deno.rename(`${file}.new`, file);
  };
  const servers = (servers: Record<string, unknown>) =>
    JSON.stringify({ servers });
  await write(servers({ a: server("a"), b: server("b") }));
  await using computer = runComputer(office, file, { flags: ["--watch"] });
  await Promise.all([
    computer.line(/^joined/),
    computer.line(/^MCP server a: running/),
    computer.line(/^MCP server b: running/),
  ]);
  const a = await pidOf(office, "a");
  const cancel = new AbortController();
  const { agent } = office;
  const slow = agent.callTool("pc", "a_slow", {}, {
    signal: cancel.signal,
    timeoutMs: 600_000,
  });
  await agent.callTool("pc", "a_began", {});

  await write('{"servers": {"a": {"type": "stdio"}}}');
  const mistakes = await computer.line(
    /computer\.json:1:\d+: servers\.a\.server_parameters: it is missing/,
  );
  assertStringIncludes(mistakes[0], file.slice(-13));
  await computer.line(/^kept the previous configuration/);
  assertEquals(Object.keys((await agent.getConfig("pc")).servers), ["a", "b"]);

  await write(servers({ a: server("a"), b: server("b2"), c: server("c") }));
  await computer.line(/^configuration: added c, replaced b$/);
  await pidOf(office, "c");
  await pidOf(office, "b2");
  assertEquals(await pidOf(office, "a"), a);

  await Deno.writeTextFile(file, servers({ a: server("a") })); // in place
  await computer.line(/^configuration: removed b, removed c$/);
  assertEquals(await pidOf(office, "a"), a);
  cancel.abort();
  await slow.catch(() => {});
  await computer.line(/^call of a_slow by planner: cancelled/);
});
