import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import type {
  McpHost,
  McpHostOptions,
} from "../../../../computer/host/host.ts";
import type { McpConnection } from "../../../../computer/host/mcp/mcp_connection.ts";
import { toAuthorize } from "../../../../computer/host/oauth/authorized_fetch.ts";
import type { ServerStatus } from "../../../../computer/host/server_status.ts";
import type { ServerSettings } from "../../../../computer/mod.ts";
import {
  AT_ONCE,
  hostOf,
  ONCE,
  reached,
} from "../../../support/computer/host.ts";
import { mcpTool } from "../../../support/computer/server_view.ts";

/** A connection of a test, which does what the test sets. */
class Wire {
  offices: string[] = [];
  isClosed = false;
  lists = 0;
  tools = ["echo"];
  /** What happens while the tools are listed. */
  listing: (wire: Wire, signal?: AbortSignal) => unknown = () => {};
  lose: (reason: Error) => void = () => {};
  notify: (method: string, params?: Record<string, unknown>) => void = () => {};

  /** As the host has it. */
  get connection(): McpConnection {
    const { offices } = this;
    const connection: Partial<McpConnection> = {
      offices,
      capabilities: { tools: {} },
      onLost: (listener) => this.lose = listener,
      onNotification: (listener) =>
        this.notify = (method, params = {}) => listener(method, params),
      listTools: async ({ signal } = {}) => {
        this.lists++;
        const tools = this.tools.map((name) => mcpTool(name));
        await this.listing(this, signal);
        return { tools, problems: [] };
      },
      close: () => {
        this.isClosed = true;
        return Promise.resolve();
      },
    };
    return connection as McpConnection;
  }
}

const settings = (more: Partial<ServerSettings> = {}): ServerSettings =>
  Object({
    type: "stdio",
    server_parameters: { command: "unused" },
    ...more,
  });

const configOf = (name: string, more: Partial<ServerSettings> = {}) => {
  const [config] = parseComputerConfig({
    servers: { [name]: settings(more) },
  }).servers;
  assert(config);
  return config;
};

/** A host whose servers connect to wires; `failing` are the errors of the next attempts, first to last. */
function start(
  servers: Record<string, Partial<ServerSettings>>,
  options: Partial<McpHostOptions> = {},
) {
  const wires: Wire[] = [];
  const failing: (Error | undefined)[] = [];
  const seen = {
    offices: [] as string[],
    listing: new Wire().listing,
  };
  const host = hostOf(
    Object.fromEntries(
      Object.entries(servers).map(([name, more]) => [name, settings(more)]),
    ),
    {
      restart: ONCE,
      connect: () => {
        const error = failing.shift();
        if (error) return Promise.reject(error);
        const wire = new Wire();
        wire.offices = seen.offices;
        wire.listing = seen.listing;
        wires.push(wire);
        return Promise.resolve(wire.connection);
      },
      ...options,
    },
  );
  const events: string[] = [];
  host.on("configChanged", () => events.push("config"));
  host.on("toolsChanged", () => events.push("tools"));
  host.on(
    "serverState",
    ({ bundleId, state }) => events.push(`${bundleId} ${state}`),
  );
  /** The events since the last time. */
  const happened = () => events.splice(0);
  const last = () => wires.at(-1) ?? new Wire();
  const status = (id = "a"): ServerStatus | undefined =>
    host.server(id)?.status;
  return { host, wires, failing, seen, happened, last, status };
}

const names = (host: McpHost) => host.configs.map(({ name }) => name);

Deno.test("notifications of an MCP server are events with its bundle_id", async () => {
  const { host, last } = start({ "my files": {} });
  await using _ = host;
  await host.start();
  const events: unknown[] = [];
  for (
    const event of [
      "resourcesChanged",
      "promptsChanged",
      "resourceUpdated",
    ] as const
  ) host.on(event, (value) => events.push([event, value]));
  const server = host.statuses[0]?.bundleId;
  for (
    const [method, params] of [
      ["notifications/resources/list_changed", {}],
      ["notifications/prompts/list_changed", { uri: "x:1" }],
      ["notifications/resources/updated", { uri: "x:1" }],
      ["notifications/resources/updated", { uri: 5 }],
      ["notifications/resources/updated", {}],
      ["notifications/message", { uri: "x:1" }],
    ] as const
  ) last().notify(method, params);
  assertEquals(events, [
    ["resourcesChanged", { server }],
    ["promptsChanged", { server }],
    ["resourceUpdated", { server, uri: "x:1" }],
  ]);
  assertEquals(last().lists, 1);
});

Deno.test("servers that are added, replaced and removed are announced, and keep their order and ids", async () => {
  const { host, happened, wires } = start({ a: {} });
  await using _ = host;
  await host.start();
  assertEquals(happened(), ["a starting", "a running", "tools"]);
  await host.addServer(configOf("b"));
  assertEquals(happened(), [
    ...["config", "tools", "b starting", "b running", "tools"],
  ]);
  await host.updateServer(configOf("a", { disabled: true }));
  assertEquals(happened(), ["config", "tools", "a disabled", "tools"]);
  assertEquals(wires.map(({ isClosed }) => isClosed), [true, false]);
  assertEquals(names(host), ["a", "b"]);
  // In the place of that with its bundle_id.
  await host.addServer(configOf("c", { bundle_id: "a" }));
  assertEquals(names(host), ["c", "b"]);
  assertEquals(
    host.offers(),
    [
      { name: "echo", server: "c", bundleId: "a" },
    ].slice(1),
  );
  assertEquals(host.problems.length, 1);
  await host.removeServer("b");
  assertEquals(host.offers(), [{ name: "echo", server: "c", bundleId: "a" }]);
  await host.updateServer(configOf("d"), "a");
  assertEquals(host.offers(), [{ name: "echo", server: "d" }]);
  assertEquals(names(host), ["d"]);
  happened();
  host.useBundleIds(false);
  assertEquals(happened(), []);
  host.useBundleIds(true);
  assertEquals(happened(), ["config", "tools"]);
  assertEquals(host.offers(), [{ name: "d__echo", server: "d" }]);
  assertEquals(
    ["echo", "d__echo", "other"].map((name) => host.nameToCall(name)),
    ["d__echo", "d__echo", "other"],
  );
  await host.stopServer("d");
  assertEquals([host.offers(), host.tools()], [[], []]);
  assertEquals(happened(), ["d stopped", "tools"]);
  await host.startServer("d");
  assertEquals(host.offers().length, 1);
});

Deno.test("a change of servers that cannot be is refused, and changes nothing", async () => {
  const { host, happened } = start({ a: {}, b: {} });
  const unknown = 'There is no MCP server "x"; the configuration has "a", "b"';
  const rows: [change: () => unknown, part: string][] = [
    [() => host.addServer(configOf("a")), "there is one of that name"],
    [() => host.updateServer(configOf("x")), unknown],
    [() => host.updateServer(configOf("b"), "a"), 'the bundle_id "b" is that'],
    [() => host.removeServer("x"), unknown],
    [() => host.startServer("x"), unknown],
    [() => host.stopServer("x"), unknown],
  ];
  for (const [change, part] of rows) {
    await assertRejects(() => Promise.try(change), TypeError, part);
  }
  assertEquals([names(host), happened()], [["a", "b"], []]);
  await host.close();
  await assertRejects(() => host.addServer(configOf("c")), TypeError, "closed");
  await host.start();
  assertEquals(host.statuses.map(({ state }) => state), ["stopped", "stopped"]);
});

Deno.test("a server whose bundle_id is taken starts when the one before it is removed", async () => {
  const { host, happened, wires } = start({ a: {} });
  await using _ = host;
  const second = configOf("b", { bundle_id: "a" });
  const third = configOf("c", { bundle_id: "a" });
  host.shadow([second, third]);
  assertEquals(happened(), ["config", "tools"]);
  host.shadow([second, third]);
  assertEquals(happened(), []);
  host.shadow([third, second]);
  assertEquals(happened(), ["config", "tools"]);
  host.shadow([second, third]);
  assertEquals(host.problems.map((text) => text.slice(0, 42)), [
    'MCP server "b" is not started: "a" comes f',
    'MCP server "c" is not started: "a" comes f',
  ]);
  await host.start();
  await host.removeServer("a");
  assertEquals([names(host), host.problems.length], [["b"], 1]);
  assertEquals(wires.map(({ isClosed }) => isClosed), [true, false]);
  await host.removeServer("a");
  await host.removeServer("a");
  assertEquals([names(host), host.problems], [[], []]);
  assertThrows(() => host.names.find("a"), TypeError, "has none");
});

Deno.test("a server whose bundle_id was taken stays a problem where the one before it gets another", async () => {
  const { host } = start({ a: {} });
  await using _ = host;
  host.shadow([configOf("b", { bundle_id: "a" })]);
  await host.updateServer(configOf("c"), "a");
  assertEquals([names(host), host.problems.length], [["c"], 1]);
});

Deno.test("an MCP server that is lost is restarting until it runs, and what failed before is counted until then", async () => {
  const { host, happened, last, status, failing, wires } = start({ a: {} });
  await using _ = host;
  const server = host.server("a");
  assert(server);
  assertEquals(await server.connectAgain(new Wire().connection), undefined);
  assertEquals(happened(), []); // nothing has started it
  failing.push(new Error("missing"));
  await host.start();
  assertEquals(happened(), ["a starting", "a failed"]);
  assertEquals([status()?.error, status()?.restarts], ["missing", 0]);
  assert(status()?.nextAttempt);
  await host.startServer("a");
  assertEquals(happened(), ["a starting", "a running", "tools"]);
  assertEquals([status()?.error, status()?.nextAttempt], [
    undefined,
    undefined,
  ]);

  const lost = last();
  lost.lose(new Error("gone"));
  assertEquals(happened(), ["a restarting", "tools"]);
  assertEquals(status()?.error, "gone");
  assert(status()?.nextAttempt);
  failing.push(new Error("still missing"));
  assertEquals(await server.connectAgain(lost.connection), undefined);
  assertEquals(happened(), ["a restarting", "a restarting"]);
  assertEquals(status()?.error, "still missing");
  const again = await server.connectAgain(lost.connection);
  assertEquals([again, status()?.restarts], [server.connection, 1]);
  assertEquals(happened(), ["a restarting", "a running", "tools"]);

  // One that is unusable is closed; another one is given as it is.
  assert(again);
  assertEquals(await server.connectAgain(lost.connection), again);
  assertEquals(wires.length, 2);
  const next = await server.connectAgain(again);
  assertEquals([wires.length, next === again, wires[1]?.isClosed], [
    ...[3, false, true],
  ]);
  await host.stopServer("a");
  assertEquals(await server.connectAgain(again), undefined);
  assertEquals([wires.length, status()?.state], [3, "stopped"]);
});

Deno.test("an MCP server restarts by itself until it runs, and its errors are forgotten then", async () => {
  const { host, last, status, failing } = start({ a: {} }, {
    restart: AT_ONCE,
  });
  await using _ = host;
  await host.start();
  failing.push(new Error("one"), new TypeError("two"));
  const restarted = reached(host, "a", "restarting")
    .then(() => reached(host, "a", "running"));
  last().lose(new Error("gone"));
  await restarted;
  assertEquals([status()?.restarts, status()?.error, failing], [
    1,
    undefined,
    [],
  ]);
  await host.stopServer("a");
  await host.startServer("a");
  assertEquals(status()?.restarts, 0);
});

Deno.test("an MCP server that leads back to an office is not tried again until the Computer is in another one", async () => {
  const { host, seen, status, wires, happened } = start({ a: {}, b: {} });
  await using _ = host;
  seen.offices = ["o1", "o1", "o2"];
  await host.start();
  assertEquals(host.behind, ["o1", "o2"]);
  happened();
  host.isIn(["o3"], "north");
  host.isIn(["o3"], "north");
  assertEquals(happened(), []);
  host.isIn(["o2"], "north");
  assertEquals([status()?.failure, status("b")?.failure], [
    "leads_back",
    "leads_back",
  ]);
  assertEquals([status()?.nextAttempt, host.behind], [undefined, []]);
  assertEquals(wires.map(({ isClosed }) => isClosed), [true, true]);
  await host.startServer("a");
  assertEquals([status()?.failure, status()?.nextAttempt], [
    "leads_back",
    undefined,
  ]);
  await host.stopServer("b");
  host.officeChanged(false);
  assertEquals(status()?.state, "failed");
  const runs = reached(host, "a", "running");
  host.officeChanged(true);
  await runs;
  assertEquals(status("b")?.state, "stopped");
});

Deno.test("an MCP server that waits for an authorization is started again once there is one, and no other", async () => {
  const { host, status, failing, wires } = start({ a: {}, b: {}, c: {} });
  await using _ = host;
  failing.push(toAuthorize("unauthorized"), new Error("missing"));
  await host.start();
  const states = ["a", "b", "c"].map((id) => status(id)?.state);
  assertEquals<unknown>(states, ["failed", "failed", "running"]);
  assertEquals(status()?.failure, "refused");
  assertEquals(host.views.map(({ refusal }) => refusal?.code), [
    ...[4006, undefined, undefined],
  ]);
  const runs = reached(host, "a", "running");
  host.authorized();
  await runs;
  assertEquals([status("b")?.state, wires.length], ["failed", 2]);
  assertEquals(host.views[0]?.refusal, undefined);
});

Deno.test("a server that is stopped while it starts has stopped, and its connection is closed", async () => {
  const opened = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<AbortSignal>();
  const wire = new Wire();
  const { host, happened, status } = start({ a: {}, off: { disabled: true } }, {
    connect: async (_, signal) => {
      begun.resolve(signal);
      await opened.promise;
      return wire.connection;
    },
  });
  const started = host.start();
  const signal = await begun.promise;
  const stopped = host.close();
  assert(signal.aborted);
  opened.resolve();
  await Promise.all([started, stopped]);
  assertEquals([wire.isClosed, status()?.state, status("off")?.state], [
    ...[true, "stopped", "disabled"],
  ]);
  assertEquals(status()?.nextAttempt, undefined);
  assertEquals(happened(), ["a starting"]);
});

Deno.test("an MCP server does not run where something happens while its tools are listed", async () => {
  const rows: [
    listing: (host: McpHost, wire: Wire, signal?: AbortSignal) => unknown,
    error: string,
    failure: string | undefined,
  ][] = [
    [(_, wire) => wire.lose(new Error("it is gone")), "it is gone", undefined],
    [(host) => host.isIn(["o1"], "north"), "it leads back", "leads_back"],
    [
      // It ignores that its time is over.
      (_, __, signal) =>
        new Promise((resolve) => signal?.addEventListener("abort", resolve)),
      "it was not ready within 0.001 s",
      "not_ready",
    ],
    [() => Promise.reject(new Error("no list")), "no list", undefined],
  ];
  for (const [listing, error, failure] of rows) {
    const { host, seen, status, last, happened } = start({ a: {} }, {
      startTimeoutMs: error.includes("0.001") ? 1 : 60_000,
    });
    await using _ = host;
    seen.offices = ["o1"];
    seen.listing = (wire, signal) => listing(host, wire, signal);
    await host.start();
    assertEquals(happened(), ["a starting", "a failed"], error);
    assertEquals(status()?.error?.slice(0, error.length), error);
    assertEquals([status()?.failure, last().isClosed], [failure, true]);
    assertEquals(status()?.nextAttempt === undefined, failure === "leads_back");
    const stops = [host.stopServer("a"), host.stopServer("a")];
    await Promise.all(stops);
    assertEquals(happened(), ["a stopped"]);
    assertEquals(status()?.nextAttempt, undefined);
  }
});
