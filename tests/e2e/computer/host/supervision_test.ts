import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandOutput } from "../../../../computer/config/command_input.ts";
import { connectMcp } from "../../../../computer/host/mcp/connect.ts";
import type {
  ServerSettings,
  ServerState,
  ServerStatus,
  SmcpComputer,
} from "../../../../computer/mod.ts";
import { start } from "../../../support/child.ts";
import { startComputer } from "../../../support/computer/computer.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import {
  AT_ONCE,
  connectionOf,
  reached,
  startHost,
  textOf,
} from "../../../support/computer/host.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { next } from "../../../support/computer/resource_servers.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";
import { startOffice } from "../../../support/office.ts";
import { gone, isAlive, leftInGroups } from "../../../support/processes.ts";
import { scratch } from "../../../support/scratch.ts";
import { memoryHeld } from "../../../support/server/memory.ts";

const missing: ServerSettings = {
  type: "stdio",
  server_parameters: { command: "no-such-program" },
};

/** Resolves when a server next enters a state. */
const comes = (computer: SmcpComputer, name: string, state: ServerState) =>
  new Promise<ServerStatus>((resolve) => {
    const off = computer.on("serverState", (status) => {
      if (status.name !== name || status.state !== state) return;
      off();
      resolve(status);
    });
  });

Deno.test("healthy servers keep serving, and a new clash hides nothing else", async () => {
  await using pc = await startComputer({ one: fixture({ only: ["echo"] }) });
  const { computer, office: { agent } } = pc;
  const toolsOf = (...names: string[]) =>
    new Promise<void>((resolve) => {
      const off = agent.on("tools", ({ tools }) => {
        const now = tools?.map(({ name }) => name) ?? [];
        if (now.toSorted().join() !== names.join()) return;
        off();
        resolve();
      });
    });
  const all = toolsOf("echo", "one_more", "pid");
  const added = [
    computer.addServer("hanging", fixture({ start: "hang" })),
    computer.addServer("missing", missing),
    computer.addServer("off", fixture({ only: ["big"] }, { disabled: true })),
    computer.addServer(
      "two",
      fixture({ only: ["pid", "meta", "echo"] }, {
        tool_meta: { meta: { alias: "one_more" } },
        forbidden_tools: ["echo"],
      }),
    ),
  ];
  await all;
  const states = computer.status().servers.map(({ name, state }) =>
    `${name}: ${state}`
  );
  assertEquals(states.slice(0, 2), ["one: running", "hanging: starting"]);
  const clash = toolsOf("echo", "one_more");
  await computer.addServer("three", fixture({ only: ["pid"] }));
  await clash;
  assertStringIncludes(
    (await pc.call("pid")).text,
    '"two" and MCP server "three"',
  );
  assertEquals((await pc.call("echo", { text: "on" })).text, "on");
  await computer.stopServer("hanging");
  await Promise.all(added);
});

Deno.test({
  name:
    "an MCP server killed during a call, 50 times: error at once, restarted, nothing left",
  timeout: 300_000,
}, async () => {
  const groups: number[] = [];
  const memory: number[] = [];
  {
    const windows = ["window://w/1", "window://w/2"];
    await using pc = await startComputer({
      a: fixture({ resourceList: windows.map((uri) => ({ uri, name: uri })) }),
    }, { restart: AT_ONCE });
    for (let round = 1; round <= 50; round++) {
      const pid = Number((await pc.call("pid")).text);
      const child = Number((await pc.call("background")).text);
      assertEquals(
        (await pc.call("subscribed", { count: 2 })).text,
        JSON.stringify(windows),
      );
      groups.push(pid);
      const pending = pc.call("slow");
      await pc.call("slow_began");
      const lost = comes(pc.computer, "a", "restarting");
      const back = comes(pc.computer, "a", "running");
      Deno.kill(pid, "SIGKILL");
      const { text, meta } = await pending;
      assertEquals(meta, { error_code: 4003 });
      assertStringIncludes(
        text,
        '"a" was lost meanwhile and is restarting; the next',
      );
      const { error, nextAttempt } = await lost;
      assertEquals(error, "The MCP server was ended by SIGKILL");
      assert(nextAttempt instanceof Date);
      await gone(child);
      assertEquals((await back).restarts, round);
      assertEquals((await pc.call("echo", { text: "on" })).text, "on");
      if (round % 10 === 0) memory.push(memoryHeld());
    }
    groups.push(Number((await pc.call("pid")).text));
  }
  const first = memory[0] ?? 0;
  const last = memory.at(-1) ?? 0;
  assert(last - first < 16 * 2 ** 20, `${memory}`);
  assertEquals(new Set(groups).size, 51);
  for (const pid of groups) await gone(pid);
  assertEquals(await leftInGroups(groups), []);
});

Deno.test("a restart is announced: tools and windows disappear and return", async () => {
  await using pc = await startComputer({
    a: fixture({ resourceList: [{ uri: "window://w/1", name: "w" }] }),
    b: fixture({ only: ["pid"] }, { tool_meta: { pid: { alias: "other" } } }),
  }, { restart: { minDelayMs: 50, jitter: 0 } });
  const { agent } = pc.office;
  const shown = async () => {
    while (true) {
      const changed = next(agent, "updateDesktop");
      if ((await agent.getDesktop("pc")).length > 0) return;
      await changed;
    }
  };
  await pc.call("subscribed", { count: 1 });
  await shown();
  const tools: number[] = [];
  const known = new Promise<void>((resolve) =>
    agent.on("tools", (event) => {
      tools.push(event.tools?.length ?? 0);
      if (tools.at(-1) !== 1 && tools.includes(1)) resolve();
    })
  );
  const updated = next(agent, "updateDesktop");
  await pc.call("crash");
  await updated;
  await known;
  await shown();
  assertEquals(
    (await pc.call("subscribed", { count: 1 })).text,
    '["window://w/1"]',
  );
});

Deno.test("a missing program is retried, and found once it is installed", async () => {
  await using folder = await scratch();
  const program = join(folder.path, "deno");
  const { server_parameters, ...settings } = fixture({ only: ["echo"] });
  await using host = await startHost({
    a: {
      ...settings,
      server_parameters: { ...server_parameters, command: program },
    },
  }, { restart: AT_ONCE });
  await reached(host, "a", "failed");
  await reached(host, "a", "starting"); // automatically
  assertStringIncludes(host.server("a")?.status.error ?? "", program);
  await Deno.symlink(Deno.execPath(), program);
  await reached(host, "a", "running");
  assertEquals(host.server("a")?.status.error, undefined);
  assertEquals(await textOf(host, "a", "echo", { text: "found" }), "found");
});

Deno.test("an MCP server whose input command failed is restarted until it succeeds", async () => {
  await using folder = await scratch();
  const file = join(folder.path, "token");
  await using pc = await startComputer({
    a: fixture({ only: ["environment"] }, {
      server_parameters: { command: Deno.execPath(), env: { T: "${input:t}" } },
    }),
    // The second value stays missing, so another attempt would not help.
    b: fixture({}, {
      server_parameters: { command: "${input:t}${input:nobody}" },
    }),
  }, {
    inputs: [
      { type: "command", id: "t", description: "", command: `cat ${file}` },
      { type: "promptString", id: "nobody", description: "" },
    ],
    restart: { minDelayMs: 1, maxDelayMs: 20 },
  });
  const [a, b] = pc.computer.status().servers;
  assertNotEquals(a?.state, "running");
  assertEquals([b?.state, b?.nextAttempt], ["failed", undefined]);
  assertStringIncludes(b?.error ?? "", 'input "nobody"');
  const running = comes(pc.computer, "a", "running");
  await Deno.writeTextFile(file, "t0ken\n");
  await running;
  assertEquals(JSON.parse((await pc.call("environment")).text).T, "t0ken");
});

Deno.test("a start without the value of an input waits for the user; a stopped server stays stopped", async () => {
  await using host = await startHost({
    unset: fixture({}, { server_parameters: { command: "${input:x}" } }),
    missing,
    off: fixture({}, { disabled: true }),
  }, { restart: { minDelayMs: 60_000 } });
  const states = () =>
    host.statuses.map((
      { state, nextAttempt },
    ) => [state, nextAttempt instanceof Date]);
  assertEquals(states(), [["failed", false], ["failed", true], [
    "disabled",
    false,
  ]]);
  await host.stopServer("missing");
  await host.startServer("off");
  assertEquals(states().slice(1), [["stopped", false], ["disabled", false]]);
  await host.startServer("missing");
  assertEquals(states()[1], ["failed", true]);
});

Deno.test("an MCP server that hangs is detected after a failed call, and restarted", async () => {
  await using host = await startHost({ a: fixture() }, {
    restart: AT_ONCE,
    connect: (config, signal) => connectMcp(config, signal, { pongMs: 1 }),
  });
  const pid = Number(await textOf(host, "a", "pid"));
  Deno.kill(pid, "SIGSTOP");
  const abort = new AbortController();
  const { signal } = abort;
  const pending = connectionOf(host, "a").callTool("echo", {}, { signal })
    .catch(() => {});
  abort.abort("timeout");
  await pending;
  await reached(host, "a", "restarting");
  assertEquals(
    host.server("a")?.status.error,
    "The MCP server was ended by SIGKILL",
  );
  await gone(pid);
  await reached(host, "a", "running");
  assertNotEquals(Number(await textOf(host, "a", "pid")), pid);
});

/** On other systems a process that left the group of its MCP server cannot be found. */
const ignore = Deno.build.os !== "linux";

const file = (name: string) =>
  fileURLToPath(
    new URL(`../../../support/fixtures/${name}.ts`, import.meta.url),
  );

Deno.test({
  name:
    "nothing is left of an MCP server whose host dies, in any way, or with its whole group",
  ignore,
}, async () => {
  const ways = [
    "exit",
    "deno_exit",
    "uncaught",
    "unhandled",
    "killed",
    "never",
  ];
  await Promise.all(ways.map(async (way) => {
    const args = ["run", "-A", "--quiet", file("dying_host"), way];
    await using host = start(Deno.execPath(), args, { group: way === "never" });
    const [, pids = ""] = await host.line(/^started (.*)$/);
    if (way === "never") host.signal("SIGKILL");
    await host.status;
    for (const pid of pids.split(" ")) await gone(Number(pid));
  }));
});

Deno.test({
  name:
    "a grandchild that left group and session ends with stopServer(), with close(), and before a restart",
  ignore,
}, async () => {
  const host = await startHost({ a: fixture(), b: fixture() });
  const escape = async (name: string) =>
    Number(await textOf(host, name, "escape"));
  const stopped = await escape("a");
  const crashed = await escape("b");
  await host.stopServer("a");
  assertEquals([await isAlive(stopped), await isAlive(crashed)], [false, true]);
  const restarting = new Promise<boolean>((resolve) =>
    host.on("serverState", () => isAlive(crashed).then(resolve))
  );
  await textOf(host, "b", "crash").catch(() => {});
  assertEquals(await restarting, false);
  await reached(host, "b", "running");
  const closed = await escape("b");
  await host.close();
  assertEquals(await isAlive(closed), false);
});

Deno.test({
  name: "nothing is left of the command of an input, wherever it went",
  ignore,
}, async () => {
  const line = "setsid sleep 1000 >/dev/null 2>&1 & sleep 0.1; echo $!";
  const { signal } = new AbortController();
  const pid = await commandOutput({ command: line }, signal);
  assertEquals(await isAlive(Number(pid)), false);
});

Deno.test({
  name: "nothing is left of the MCP servers of a command that is killed",
  ignore,
}, async () => {
  await using config = await configFile({
    servers: { a: fixture({}, { default_tool_meta: { auto_apply: true } }) },
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

const flood = (...args: string[]) =>
  new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--frozen", file("log_flood"), ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();

Deno.test("a Computer's log that is not read blocks neither its work nor its exit", async () => {
  const child = flood();
  assertEquals(await new Response(child.stdout).text(), "logged\n");
  assertEquals((await child.status).code, 0);
  await child.stderr.cancel();
});

Deno.test("a Computer's log reports dropped lines once it is read again", async () => {
  const child = flood("patient");
  const stdout = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await stdout.read()).value, "logged\n");
  const lines = (await new Response(child.stderr).text()).trimEnd().split("\n");
  assertEquals((await stdout.read()).done, true);
  await child.status;
  const [, left] = /^(\d+) lines were left out here/.exec(lines.at(-1) ?? "") ??
    [];
  assertMatch(lines[0] ?? "", /warning 0 /);
  assert(lines.length > 1000 && Number(left) > 0);
  assertEquals(lines.length - 1 + Number(left), 20_000);
});
