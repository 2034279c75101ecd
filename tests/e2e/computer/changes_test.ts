import { assertEquals, assertNotEquals } from "@std/assert";
import { join } from "node:path";
import { watchConfig } from "../../../computer/config/load_config.ts";
import { parseComputerConfig } from "../../../computer/config/parse_config.ts";
import type { McpHostOptions } from "../../../computer/host/host.ts";
import { connectMcp } from "../../../computer/host/mcp/connect.ts";
import { startComputer } from "../../support/computer/computer.ts";
import { startHost } from "../../support/computer/host.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { runComputer } from "../../support/computer/run_computer.ts";
import { type Office, startOffice } from "../../support/office.ts";
import { gone } from "../../support/processes.ts";
import { scratch } from "../../support/scratch.ts";
import { holdTimers } from "../../support/timers.ts";

/** An MCP server whose tools are `ALIAS_pid` and so on. */
const server = (alias: string, more: Parameters<typeof fixture>[1] = {}) => {
  const tools = ["pid", "slow", "slow_began"];
  const meta = (
    tool: string,
  ) => [tool, { alias: `${alias}_${tool}`, auto_apply: true }];
  return fixture({ only: tools }, {
    tool_meta: Object.fromEntries(tools.map(meta)),
    ...more,
  });
};

const config = (servers: Record<string, unknown>, inputs: unknown[] = []) =>
  parseComputerConfig({ servers, inputs });

const pidsOf = (office: Office, ...aliases: string[]) =>
  Promise.all(aliases.map(async (alias) => {
    const { content } = await office.agent.callTool("pc", `${alias}_pid`, {});
    return Number(content[0]?.text);
  }));

/** A call that has begun, and lasts until it is cancelled. */
async function startSlow({ agent }: Office, alias: string) {
  const abort = new AbortController();
  const { signal } = abort;
  const result = agent.callTool("pc", `${alias}_slow`, {}, {
    signal,
    timeoutMs: 600_000,
  });
  await agent.callTool("pc", `${alias}_slow_began`, {});
  const cancel = async () => {
    abort.abort();
    await result.catch(() => {});
  };
  return { result, cancel };
}

Deno.test("configure() replaces changed servers, and calls on the others continue", async () => {
  await using pc = await startComputer({
    a: server("a"),
    b: server("b"),
    c: server("c"),
  });
  const { office, computer } = pc;
  const { agent } = office;
  const [a, b = 0, c = 0] = await pidsOf(office, "a", "b", "c");
  const [onA, onB] = await Promise.all([
    startSlow(office, "a"),
    startSlow(office, "b"),
  ]);
  const told = (["updateConfig", "updateToolList"] as const).map((event) =>
    new Promise<void>((resolve) => agent.on(event, () => resolve()))
  );
  const known = new Promise<void>((resolve) =>
    agent.on("tools", ({ tools }) => {
      const names = tools?.map(({ name }) =>
        name
      ).filter((name) => name.endsWith("_pid")) ?? [];
      if (names.toSorted().join() === "a_pid,b2_pid,d_pid") {
        resolve();
      }
    })
  );
  const { add, update, remove } = await computer.configure(
    config({ a: server("a"), b: server("b2"), d: server("d") }),
  );
  const names = (servers: typeof add) => servers.map(({ name }) => name);
  assertEquals([names(add), names(update), remove], [["d"], ["b"], ["c"]]);
  assertEquals((await onB.result)._meta?.error_code, 4003);
  await Promise.all([...told, known, gone(b), gone(c)]);
  assertEquals(Object.keys((await agent.getConfig("pc")).servers), [
    "a",
    "b",
    "d",
  ]);
  const [aNow, bNow] = await pidsOf(office, "a", "b2");
  assertEquals(aNow, a);
  assertNotEquals(bNow, b);
  await onA.cancel();
});

Deno.test("configure() restarts the servers whose inputs changed, and keeps the values of the others", async () => {
  const prompt = (id: string, description = "") => ({
    type: "promptString",
    id,
    description,
  });
  const uses = (id: string, alias: string) =>
    server(alias, {
      server_parameters: {
        command: Deno.execPath(),
        env: { X: `\${input:${id}}` },
      },
    });
  const servers = { a: uses("one", "a"), b: uses("two", "b") };
  let asked = 0;
  await using pc = await startComputer({}, {
    askInput: () => Promise.resolve(`${++asked}`),
  });
  const { computer, office } = pc;
  const { agent } = office;
  await computer.configure(config(servers, [prompt("one"), prompt("two")]));
  assertEquals(asked, 2);
  const [a, b] = await pidsOf(office, "a", "b");
  await computer.configure(
    config(servers, [prompt("one"), prompt("two", "other"), prompt("three")]),
  );
  assertEquals(asked, 3);
  const [aNow, bNow] = await pidsOf(office, "a", "b");
  assertEquals(aNow, a);
  assertNotEquals(bNow, b);
  const ids = async () =>
    (await agent.getConfig("pc")).inputs?.map(({ id }) => id);
  assertEquals(await ids(), ["one", "two", "three"]);
  computer.inputs.remove("three");
  assertEquals(await ids(), ["one", "two"]);
});

Deno.test("a server that is replaced repeatedly and then removed leaves no child", async () => {
  await using pc = await startComputer({ a: server("a") });
  const { office, computer } = pc;
  const [first = 0] = await pidsOf(office, "a");
  let runs = 0;
  computer.on(
    "serverState",
    ({ state }) => runs += Number(state === "running"),
  );
  await Promise.all(
    ["b", "c", "d"].map((alias) => computer.updateServer("a", server(alias))),
  );
  assertEquals(runs, 1);
  const [last = 0] = await pidsOf(office, "d");
  const replaced = new Promise<void>((resolve) =>
    computer.on("configChanged", () => resolve())
  );
  const updating = computer.updateServer("a", server("e"));
  await replaced;
  await Promise.all([updating, computer.removeServer("a")]);
  assertEquals([computer.status().servers, runs], [[], 1]);
  await Promise.all([first, last].map(gone));
});

Deno.test("the process of a server starts after its predecessor's is gone, even if replaced twice, or removed and added", async () => {
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
  const [b, c] = ["b", "c"].map((alias) =>
    config({ a: server(alias) }).servers[0]!
  );
  await using host = await startHost({ a: server("a") }, { connect });
  const first = () => host.tools()[0]?.name;
  await Promise.all([host.updateServer(b!), host.updateServer(c!)]);
  assertEquals([most, first()], [1, "c_pid"]);
  await Promise.all([host.removeServer("a"), host.addServer(b!)]);
  assertEquals([most, first()], [1, "b_pid"]);
  // Stopped before its predecessor is gone: it stays stopped.
  await Promise.all([host.updateServer(c!), host.stopServer("a")]);
  assertEquals([host.server("a")?.status.state, first()], [
    "stopped",
    undefined,
  ]);
});

Deno.test("smcp-computer run --watch applies each valid version of the file; an invalid one changes nothing", async () => {
  await using office = await startOffice();
  await using folder = await scratch();
  const file = join(folder.path, "computer.json");
  const write = async (text: string) => {
    await Deno.writeTextFile(`${file}.new`, text); // like editors
    await Deno.rename(`${file}.new`, file);
  };
  const text = (servers: Record<string, unknown>, rules?: unknown[]) =>
    JSON.stringify({ servers, rules });
  await write(text({ a: server("a"), b: server("b") }));
  await using computer = runComputer(office, file, { flags: ["--watch"] });
  await Promise.all([
    computer.line(/^joined/),
    computer.line(/^MCP server a: running/),
    computer.line(/^MCP server b: running/),
  ]);
  const [a] = await pidsOf(office, "a");
  const slow = await startSlow(office, "a");

  await write('{"servers": {"a": {"type": "stdio"}}}');
  await computer.line(
    /\/computer\.json:1:\d+: servers\.a\.server_parameters: it is missing/,
  );
  await computer.line(/^kept the previous configuration/);
  assertEquals(Object.keys((await office.agent.getConfig("pc")).servers), [
    "a",
    "b",
  ]);

  await write(text({ a: server("a"), b: server("b2"), c: server("c") }));
  await computer.line(/^configuration: added c, replaced b$/);
  const [aNow] = await pidsOf(office, "a", "b2", "c");
  assertEquals(aNow, a);

  await Deno.writeTextFile(file, text({ a: server("a") })); // in place
  await computer.line(/^configuration: removed b, removed c$/);
  assertEquals(await pidsOf(office, "a"), [a]);
  await slow.cancel();
  await computer.line(/^call of a_slow by planner: cancelled/);

  await write(text({ a: server("a") }, [{ tool: "slow", then: "deny" }]));
  await computer.line(/^configuration: other rules$/);
});

Deno.test("watchConfig() reads a change in a directory with constant changes", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "computer.json");
  const write = (name: string) => {
    const server = { type: "stdio", server_parameters: { command: "x" } };
    return Deno.writeTextFile(
      file,
      JSON.stringify({ servers: { [name]: server } }),
    );
  };
  await write("first");
  using _neverQuiet = holdTimers(100);
  const heard: string[] = [];
  let news = Promise.withResolvers<void>();
  using _watching = await watchConfig(file, {
    changed: ({ servers }) => {
      heard.push(...servers.map(({ name }) => name));
      news.resolve();
    },
    refused: () => {}, // the file was read during a write
  });
  await news.promise;
  news = Promise.withResolvers();
  await write("second");
  await news.promise;
  assertEquals(heard, ["first", "second"]);
});
