import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
} from "@std/assert";
import { join } from "node:path";
import { connectMcp } from "../../../../computer/host/mcp/connect.ts";
import type {
  ServerSettings,
  ServerState,
  ServerStatus,
  SmcpComputer,
} from "../../../../computer/mod.ts";
import { resultMeta } from "../../../../protocol/mod.ts";
import {
  type ComputerOffice,
  startComputer,
  takeSeat,
} from "../../../support/computer/computer.ts";
import { configFile } from "../../../support/computer/config_file.ts";
import { startHttpFixture } from "../../../support/fixtures/mcp_http.ts";
import {
  connectionOf,
  hostOf,
  reached,
  textOf,
  told,
} from "../../../support/computer/host.ts";
import { fixture } from "../../../support/computer/mcp_servers.ts";
import { memoryHeld } from "../../../support/server/memory.ts";
import { startOffice } from "../../../support/office.ts";
import { gone, leftInGroups } from "../../../support/processes.ts";
import { startProxy } from "../../../support/proxy.ts";
import { next } from "../../../support/computer/resource_servers.ts";
import { runComputer } from "../../../support/computer/run_computer.ts";

/** Restarts at once, any number of times. */
const AT_ONCE = { minDelayMs: 1, maxDelayMs: 5, healthyMs: 0 };

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

const call = async (
  { office: { agent } }: ComputerOffice,
  tool: string,
  params: Record<string, unknown> = {},
) => {
  const result = await agent.callTool("pc", tool, params);
  return {
    text: result.content.map(({ text }) => text ?? "").join("\n"),
    meta: resultMeta(result),
  };
};

Deno.test({
  name: "healthy servers keep serving, and a new clash hides nothing else",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ one: fixture({ only: ["echo"] }) });
  const { agent } = pc.office;
  const toolsOf = (...names: string[]) =>
    new Promise<void>((resolve) => {
      const off = agent.on("tools", ({ tools }) => {
        const now = tools?.map(({ name }) => name) ?? [];
        if (now.toSorted().join() !== names.toSorted().join()) return;
        off();
        resolve();
      });
    });
  const all = toolsOf("echo", "one_more", "pid");
  const added = [
    pc.computer.addServer("hanging", fixture({ start: "hang" })),
    pc.computer.addServer("missing", missing),
    pc.computer.addServer(
      "off",
      fixture({ only: ["big"] }, { disabled: true }),
    ),
    pc.computer.addServer(
      "two",
      fixture({ only: ["pid", "meta", "echo"] }, {
        tool_meta: { meta: { alias: "one_more" } },
        forbidden_tools: ["echo"],
      }),
    ),
  ];
  await all;
  const states = () =>
    pc.computer.status().servers.map(({ name, state }) => `${name}: ${state}`);
  assertEquals(states().slice(0, 2), ["one: running", "hanging: starting"]);
  const clash = toolsOf("echo", "one_more");
  await pc.computer.addServer("three", fixture({ only: ["pid"] }));
  await clash;
  assertStringIncludes(
    (await call(pc, "pid")).text,
    '"two" and MCP server "three"',
  );
  assertEquals((await call(pc, "echo", { text: "on" })).text, "on");
  await pc.computer.stopServer("hanging");
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
      const { text: pid } = await call(pc, "pid");
      const { text: child } = await call(pc, "background");
      assertEquals(
        (await call(pc, "subscribed", { count: 2 })).text,
        JSON.stringify(windows),
      );
      groups.push(Number(pid));
      const pending = call(pc, "slow");
      await call(pc, "slow_began");
      const lost = comes(pc.computer, "a", "restarting");
      const back = comes(pc.computer, "a", "running");
      Deno.kill(Number(pid), "SIGKILL");
      const { text, meta } = await pending;
      assertEquals(meta, { error_code: 4003 });
      assertStringIncludes(
        text,
        '"a" was lost meanwhile and is restarting; the next',
      );
      assertEquals(
        (await lost).error,
        "The MCP server was ended by SIGKILL",
      );
      await gone(Number(child));
      assertEquals((await back).restarts, round);
      assertEquals((await call(pc, "echo", { text: "on" })).text, "on");
      if (round % 10 === 0) memory.push(memoryHeld());
    }
    groups.push(Number((await call(pc, "pid")).text));
  }
  const [first = 0, last = 0] = [memory[0], memory.at(-1)];
  console.log(
    `held after 10, 20, … rounds: ${
      memory.map((bytes) => `${Math.round(bytes / 2 ** 20)} MiB`).join(", ")
    }`,
  );
  assert(last - first < 16 * 2 ** 20, `${first} grew to ${last}`);
  assertEquals(new Set(groups).size, 51);
  for (const pid of groups) await gone(pid);
  assertEquals(await leftInGroups(groups), []);
});

Deno.test({
  name: "a restart is announced: tools and windows disappear and return",
  timeout: 120_000,
}, async () => {
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
  await call(pc, "subscribed", { count: 1 });
  await shown();
  const tools: number[] = [];
  const known = new Promise<void>((resolve) =>
    agent.on("tools", (event) => {
      tools.push(event.tools?.length ?? 0);
      if (tools.at(-1) !== 1 && tools.includes(1)) resolve();
    })
  );
  const updated = next(agent, "updateDesktop");
  await call(pc, "crash");
  await updated;
  await known;
  await shown();
  assertEquals(
    (await call(pc, "subscribed", { count: 1 })).text,
    '["window://w/1"]',
  );
});

Deno.test({
  name: "a missing program is retried, and found once it is installed",
  timeout: 120_000,
}, async () => {
  const directory = await Deno.makeTempDir();
  const program = join(directory, "deno");
  try {
    const { server_parameters, ...settings } = fixture({ only: ["echo"] });
    await using host = hostOf({
      a: {
        ...settings,
        server_parameters: { ...server_parameters, command: program },
      },
    }, { restart: AT_ONCE });
    await host.start();
    await reached(host, "a", "failed");
    await reached(host, "a", "starting"); // automatically
    assertStringIncludes(host.server("a")?.status.error ?? "", program);
    await Deno.symlink(Deno.execPath(), program);
    await reached(host, "a", "running");
    assertEquals(host.server("a")?.status.error, undefined);
    assertEquals(await textOf(host, "a", "echo", { text: "found" }), "found");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test({
  name:
    "a start without the value of an input waits for the user; a stopped server stays stopped",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({
    unset: fixture({}, { server_parameters: { command: "${input:x}" } }),
    missing,
    off: fixture({}, { disabled: true }),
  }, { restart: { minDelayMs: 60_000 } });
  await host.start();
  const states = () =>
    host.statuses.map(({ state, nextAttempt }) => [
      state,
      nextAttempt instanceof Date,
    ]);
  assertEquals(states(), [
    ["failed", false],
    ["failed", true],
    ["disabled", false],
  ]);
  await host.stopServer("missing");
  await host.startServer("off");
  assertEquals(states().slice(1), [["stopped", false], ["disabled", false]]);
  await host.startServer("missing");
  assertEquals(states()[1], ["failed", true]);
});

Deno.test({
  name:
    "an MCP server that hangs is detected after a failed call, and restarted",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ a: fixture() }, {
    restart: AT_ONCE,
    connect: (config, signal) => connectMcp(config, signal, { pongMs: 1 }),
  });
  await host.start();
  const pid = Number(await textOf(host, "a", "pid"));
  Deno.kill(pid, "SIGSTOP");
  const abort = new AbortController();
  const pending = connectionOf(host, "a").callTool("echo", {}, {
    signal: abort.signal,
  }).catch(() => {});
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

Deno.test({
  name: "progress of an MCP server extends no timeout",
  timeout: 120_000,
}, async () => {
  await using pc = await startComputer({ a: fixture() });
  const wire = await takeSeat(pc.office);
  const result = await wire.call({ tool_name: "progress", timeout: 1 });
  assertEquals(resultMeta(result).error_code, 4004);
});

for (const type of ["streamable", "sse"] as const) {
  Deno.test({
    name: `an MCP server over ${type} that comes back is reconnected`,
    timeout: 120_000,
  }, async () => {
    await using server = await startHttpFixture(type);
    await using proxy = await startProxy(server.url);
    const url = `${proxy.url}/mcp`;
    await using host = hostOf({ a: { type, server_parameters: { url } } }, {
      restart: AT_ONCE,
    });
    await host.start();
    await server.requested("GET", 1); // what it tells by itself is lost before
    const began = told(host, "fixture://began");
    const pending = textOf(host, "a", "slow").catch(() => "lost");
    await began;
    await server.kill();
    assertEquals(await pending, "lost");
    await reached(host, "a", "restarting");
    await using again = await startHttpFixture(type);
    proxy.turnTo(again.url);
    await reached(host, "a", "running");
    assertEquals(await textOf(host, "a", "echo", { text: "on" }), "on");
  });
}

Deno.test({
  name: "a session that the MCP server forgot is replaced with a new one",
  timeout: 120_000,
}, async () => {
  await using server = await startHttpFixture("streamable");
  await using host = hostOf({
    a: { type: "streamable", server_parameters: { url: server.url } },
  }, { restart: AT_ONCE });
  await host.start();
  server.forget();
  const back = new Promise<void>((resolve) =>
    host.on("serverState", ({ state }) => {
      if (state === "running") resolve();
    })
  );
  assertEquals(await textOf(host, "a", "echo").catch(() => "gone"), "gone");
  await back;
  assertEquals(await textOf(host, "a", "echo", { text: "on" }), "on");
});

Deno.test({
  name:
    "MCP servers that read their input end with their Computer, even when it is killed",
  timeout: 120_000,
}, async () => {
  await using office = await startOffice();
  const auto = { default_tool_meta: { auto_apply: true } };
  await using config = await configFile({ servers: { a: fixture({}, auto) } });
  await using computer = runComputer(office, config.file);
  await computer.line(/^MCP server a: running/);
  await computer.line(/^joined/);
  const { content: [block] } = await office.agent.callTool("pc", "pid", {});
  computer.signal("SIGKILL");
  await computer.status;
  await gone(Number(block?.text));
});
