import { assert, assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { commandOutput } from "../../../../computer/config/command_input.ts";
import { type Child, start } from "../../../support/child.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { hostOf, textOf } from "../../../support/computer/host.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { startOffice } from "../../../support/office.ts";
import { gone, isAlive } from "../../../support/processes.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";

/** On other systems a process that left the group of its MCP server cannot be found. */
const ignore = Deno.build.os !== "linux";

const DYING_HOST = fileURLToPath(
  new URL("../../../support/fixtures/dying_host.ts", import.meta.url),
);

const dying = (way: string): Child =>
  start(Deno.execPath(), ["run", "-A", "--quiet", DYING_HOST, way]);

/** The processes that a dying host started. */
async function startedBy(host: Child): Promise<number[]> {
  const [, pids = ""] = await host.line(/^started (.*)$/);
  return pids.split(" ").map(Number);
}

for (const way of ["exit", "deno_exit", "uncaught", "unhandled", "killed"]) {
  Deno.test({
    name: `nothing is left of an MCP server whose host dies: ${way}`,
    ignore,
    timeout: 120_000,
  }, async () => {
    await using host = dying(way);
    const pids = await startedBy(host);
    await host.status;
    for (const pid of pids) await gone(pid);
  });
}

Deno.test({
  name: "nothing is left when every process of the host's group is killed",
  ignore,
  timeout: 120_000,
}, async () => {
  await using host = start(Deno.execPath(), [
    "run",
    "-A",
    "--quiet",
    DYING_HOST,
    "never",
  ], { group: true });
  const pids = await startedBy(host);
  Deno.kill(-host.pid, "SIGKILL");
  await host.status;
  for (const pid of pids) await gone(pid);
});

Deno.test({
  name:
    "stopServer() and close() also end a grandchild that left group and session",
  ignore,
  timeout: 120_000,
}, async () => {
  const pids: number[] = [];
  {
    await using host = hostOf({ a: fixture(), b: fixture() });
    await host.start();
    const stopped = Number(await textOf(host, "a", "escape"));
    pids.push(Number(await textOf(host, "b", "escape")));
    await host.stopServer("a");
    assertEquals(await isAlive(stopped), false);
    assertEquals(await Promise.all(pids.map(isAlive)), [true]);
  }
  assertEquals(await Promise.all(pids.map(isAlive)), [false]);
});

Deno.test({
  name: "an MCP server that crashes is restarted when nothing of it is left",
  ignore,
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ a: fixture() });
  await host.start();
  const escaped = Number(await textOf(host, "a", "escape"));
  const restarting = new Promise<boolean>((resolve) =>
    host.on("serverState", () => isAlive(escaped).then(resolve))
  );
  await textOf(host, "a", "crash").catch(() => {});
  assertEquals(await restarting, false);
});

Deno.test({
  name: "nothing is left of the command of an input, wherever it went",
  ignore,
  timeout: 120_000,
}, async () => {
  const pid = await commandOutput({
    kind: "shell",
    line: "setsid sleep 1000 >/dev/null 2>&1 & sleep 0.1; echo $!",
  }, new AbortController().signal);
  assertEquals(await isAlive(Number(pid)), false);
});

Deno.test({
  name: "nothing is left of the MCP servers of a command that is killed",
  ignore,
  timeout: 120_000,
}, async () => {
  await using config = await configFile({
    servers: {
      a: fixture({}, { default_tool_meta: { auto_apply: true } }),
    },
  });
  await using office = await startOffice();
  await using computer = runComputer(office, config.file);
  await computer.line(/^MCP server a: running/);
  await computer.line(/^joined/);
  await office.agent.toolsSettled();
  const pids: number[] = [];
  for (const tool of ["pid", "background", "escape"]) {
    const { content } = await office.agent.callTool("pc", tool, {});
    pids.push(Number(content[0]?.text));
  }
  assert(pids.every((pid) => pid > 1), `${pids}`);
  computer.signal("SIGKILL");
  await computer.status;
  for (const pid of pids) await gone(pid);
});
