import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { connectMcp } from "../../../../computer/host/mcp/connect.ts";
import type { ServerSettings, ServerStatus } from "../../../../computer/mod.ts";
import {
  connectionOf,
  hostOf,
  reached,
  textOf,
  told,
} from "../../../support/computer/host.ts";
import {
  everything,
  filesystem,
  fixture,
  memory,
} from "../../../support/computer/mcp_servers.ts";
import { gone, isAlive, written } from "../../../support/processes.ts";
import { scratch } from "../../../support/scratch.ts";

const REDUCED =
  'its environment is reduced: what it needs of this one belongs in its "env"';

const missing: ServerSettings = {
  type: "stdio",
  server_parameters: { command: "no-such-program" },
};

Deno.test({
  name: "McpHost runs the reference servers and calls their tools",
  timeout: 120_000,
}, async () => {
  const directory = await Deno.makeTempDir();
  try {
    await using host = hostOf({
      everything: everything(),
      files: filesystem(directory),
      memory: memory(join(directory, "memory.json")),
    });
    await host.start();
    assertEquals(host.statuses.map(({ state }) => state), [
      "running",
      "running",
      "running",
    ]);
    assertEquals(host.problems, []);
    const path = join(directory, "note.txt");
    await textOf(host, "files", "write_file", { path, content: "hello" });
    assertEquals(await Deno.readTextFile(path), "hello");
    assertStringIncludes(
      await textOf(host, "everything", "echo", { message: "hi" }),
      "hi",
    );
    await textOf(host, "memory", "create_entities", {
      entities: [{
        name: "Ada",
        entityType: "person",
        observations: ["first"],
      }],
    });
    assertStringIncludes(await textOf(host, "memory", "read_graph"), "Ada");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test({
  name:
    "McpHost offers ready servers: a broken, hanging or disabled one neither delays nor hides them",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({
    hanging: fixture({ start: "hang" }),
    broken: fixture({ start: "exit" }),
    missing,
    lost: {
      ...missing,
      server_parameters: { command: "deno", cwd: "/no/such/directory" },
    },
    unset: fixture({}, { server_parameters: { command: "${input:program}" } }),
    disabled: fixture({}, { disabled: true }),
    healthy: fixture({ only: ["echo"] }),
  });
  const started = host.start();
  await reached(host, "healthy", "running");
  assertEquals(host.tools().map(({ name }) => name), ["echo"]);
  assertEquals(host.server("hanging")?.status.state, "starting");
  for (const name of ["broken", "missing", "lost", "unset"]) {
    await reached(host, name, "failed");
  }
  const errorOf = (name: string) => host.server(name)?.status.error ?? "";
  assertStringIncludes(errorOf("broken"), "exited with code 7");
  assertStringIncludes(errorOf("broken"), "the database is not there");
  assertStringIncludes(errorOf("missing"), '"no-such-program"');
  assertStringIncludes(errorOf("lost"), "/no/such/directory");
  assertStringIncludes(errorOf("unset"), "${input:program}");
  assertEquals(host.server("disabled")?.status.state, "disabled");
  await host.startServer("disabled");
  assertEquals(host.server("disabled")?.status.state, "disabled");
  await host.stopServer("hanging");
  await started;
});

Deno.test({
  name: "McpHost fails a server that is not ready in time",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ hanging: fixture({ start: "hang" }) }, {
    startTimeoutMs: 1,
  });
  await host.start();
  const { state, error } = host.server("hanging")!.status;
  assertEquals([state, error], [
    "failed",
    `it was not ready within 0.001 s (${REDUCED})`,
  ]);
});

Deno.test({
  name: "the last output of an MCP server that was not ready is in the error",
  timeout: 120_000,
}, async () => {
  await using folder = await scratch();
  const file = join(folder.path, "wrote");
  const waits = 'echo "where is it?" >&2; echo yes > "$0"; exec sleep 1000';
  await using host = hostOf({
    a: {
      type: "stdio",
      server_parameters: { command: "sh", args: ["-c", waits, file] },
    },
  }, {
    startTimeoutMs: 1,
    connect: async (config, signal) => {
      // The timeout is over before the program starts; the test lets it write first.
      const late = new AbortController();
      const attempt = connectMcp(config, late.signal);
      await written(file);
      while (!signal.aborted) await new Promise((next) => setTimeout(next, 1));
      late.abort(signal.reason);
      return await attempt;
    },
  });
  await host.start();
  assertEquals(
    host.server("a")?.status.error,
    `it was not ready within 0.001 s (${REDUCED})\nwhere is it?`,
  );
});

Deno.test({
  name: "an MCP server that dies while it lists its tools is reported as such",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ a: fixture({ dies: true }) });
  await host.start();
  const { state, error } = host.server("a")!.status;
  assertEquals([state, error], [
    "failed",
    "The MCP server exited with code 3",
  ]);
});

Deno.test({
  name: "McpHost waits for a server without a limit if configured",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ a: fixture({ only: ["echo"] }) }, {
    startTimeoutMs: Infinity,
  });
  await host.start();
  assertEquals(host.server("a")?.status.state, "running");
});

Deno.test({
  name: "a tool added at run time is listed and callable",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ a: fixture({ only: ["add_tool"] }) });
  await host.start();
  const changed = new Promise((resolve) => host.on("toolsChanged", resolve));
  await textOf(host, "a", "add_tool", { name: "extra" });
  await changed;
  assertEquals(host.tools().map(({ name }) => name), ["add_tool", "extra"]);
  assertEquals(await textOf(host, "a", "extra", { text: "hi" }), "hi");
});

Deno.test({
  name:
    "invalid entries of a tool list are skipped or repaired, and reported as problems",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({
    a: fixture({
      only: ["echo"],
      extraTools: [
        { name: "no_schema", inputSchema: null },
        {
          name: "odd_output",
          inputSchema: { type: "object" },
          outputSchema: 5,
        },
        { description: "no name" },
        "not even an object",
      ],
    }),
  });
  await host.start();
  assertEquals(host.tools().map(({ name }) => name), [
    "echo",
    "no_schema",
    "odd_output",
  ]);
  assertEquals(host.server("a")?.status.problems.length, 4);
});

Deno.test({
  name: "a tool list that never ends is a failed start",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ a: fixture({ endless: true }) });
  await host.start();
  assertEquals(host.server("a")?.status.state, "failed");
  assertStringIncludes(host.server("a")?.status.error ?? "", "never ends");
});

Deno.test({
  name:
    "an MCP server that dies ends its pending calls at once, even if its child holds the output",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ a: fixture() });
  await host.start();
  const grandchild = Number(await textOf(host, "a", "background"));
  const pid = Number(await textOf(host, "a", "pid"));
  assertEquals(await isAlive(grandchild), true);
  const began = told(host, "fixture://began");
  const pending = textOf(host, "a", "slow");
  await began;
  Deno.kill(pid, "SIGKILL");
  const lost = new Promise<ServerStatus>((resolve) =>
    host.on("serverState", resolve)
  );
  await assertRejects(() => pending, Error, "Connection closed");
  const { state, error, nextAttempt } = await lost;
  assertEquals([state, error, nextAttempt instanceof Date], [
    "restarting",
    "The MCP server was ended by SIGKILL",
    true,
  ]);
  assertEquals(host.tools(), []);
  await gone(grandchild);
  await reached(host, "a", "running");
  assertEquals(await textOf(host, "a", "echo", { text: "again" }), "again");
});

Deno.test({
  name: "McpHost.close() leaves no child and no grandchild",
  timeout: 120_000,
}, async () => {
  const pids: number[] = [];
  {
    await using host = hostOf({
      a: fixture(),
      b: everything(),
      c: fixture({ start: "hang" }),
    });
    const started = host.start();
    await Promise.all([
      reached(host, "a", "running"),
      reached(host, "b", "running"),
    ]);
    pids.push(Number(await textOf(host, "a", "background")));
    pids.push(Number(await textOf(host, "a", "pid")));
    void started;
  }
  for (const pid of pids) await gone(pid);
});

Deno.test({
  name:
    "addServer, updateServer, removeServer, startServer and stopServer act at once",
  timeout: 120_000,
}, async () => {
  const one = fixture({ only: ["echo"] });
  const two = fixture({ only: ["pid"] });
  const [configOne, configTwo] = ["one", "one"].map((name, i) =>
    hostOf({ [name]: i === 0 ? one : two }).configs[0]!
  );
  await using host = hostOf({});
  const names = () => host.tools().map(({ name }) => name);
  await host.addServer(configOne!);
  assertEquals(names(), ["echo"]);
  await assertRejects(() => host.addServer(configOne!), TypeError, '"one"');
  await host.updateServer(configTwo!);
  assertEquals(names(), ["pid"]);
  await host.stopServer("one");
  assertEquals(names(), []);
  const found = host.resolve("pid");
  assertEquals(found.kind === "refuse" && found.code, 4003);
  await host.startServer("one");
  assertEquals(names(), ["pid"]);
  await host.removeServer("one");
  assertEquals([names(), host.configs], [[], []]);
  await assertRejects(() => host.removeServer("one"), TypeError, '"one"');
});

Deno.test({
  name:
    "a stdio server gets the MCP SDK's default environment, its own env and its cwd, nothing else",
  timeout: 120_000,
}, async () => {
  const directory = await Deno.realPath(await Deno.makeTempDir());
  Deno.env.set("SMCP_TEST_SECRET", "s3cret");
  try {
    await using host = hostOf({
      a: fixture({}, {
        server_parameters: {
          ...fixture().server_parameters,
          env: { GIVEN: "yes" },
          cwd: directory,
        },
      }),
    });
    await host.start();
    const environment = JSON.parse(await textOf(host, "a", "environment"));
    assertEquals(environment.GIVEN, "yes");
    assertEquals(environment.PATH, Deno.env.get("PATH"));
    assertEquals("SMCP_TEST_SECRET" in environment, false);
    assertEquals(await textOf(host, "a", "directory"), directory);
  } finally {
    Deno.env.delete("SMCP_TEST_SECRET");
    await Deno.remove(directory);
  }
});

Deno.test({
  name: "encoding and encoding_error_handler of a stdio server take effect",
  timeout: 120_000,
}, async () => {
  const withEncoding = (
    encoding: string,
    encoding_error_handler: "strict" | "ignore" | "replace",
  ) =>
    fixture({}, {
      server_parameters: {
        ...fixture().server_parameters,
        encoding,
        encoding_error_handler,
      },
    });
  await using host = hostOf({
    latin1: withEncoding("latin1", "strict"),
    strict: withEncoding("utf-8", "strict"),
    ignore: withEncoding("utf-8", "ignore"),
    replace: withEncoding("utf-8", "replace"),
    unknown: withEncoding("klingon", "strict"),
  });
  await host.start();
  const raw = (server: string) =>
    textOf(host, server, "raw", { text: "aäb", encoding: "latin1" });
  assertEquals(await raw("latin1"), "aäb");
  assertEquals(await raw("ignore"), "ab");
  assertEquals(await raw("replace"), "a\ufffdb");
  await assertRejects(() => raw("strict"), Error, "encoding_error_handler");
  assertEquals(await textOf(host, "strict", "echo", { text: "fine" }), "fine");
  assertStringIncludes(host.server("unknown")?.status.error ?? "", "klingon");
});

Deno.test({
  name: "a stdio server may answer with more than the MCP SDK's 10 MiB",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ a: fixture() });
  await host.start();
  const bytes = 24 * 2 ** 20;
  assertEquals((await textOf(host, "a", "big", { bytes })).length, bytes);
});

Deno.test({
  name: "listResources() passes pages on unchanged",
  timeout: 120_000,
}, async () => {
  const resourceList = [
    {
      uri: "x:1",
      annotations: { priority: 1.5, lastModified: "2026-01-15" },
      later: 1,
    },
    { name: null },
    { uri: "x:3" },
  ];
  await using host = hostOf({ a: fixture({ resourceList }) });
  await host.start();
  const connection = connectionOf(host, "a");
  const first = await connection.listResources(undefined);
  assertEquals<unknown>(first, {
    resources: resourceList.slice(0, 2),
    nextCursor: "2",
  });
  const second = await connection.listResources("2");
  assertEquals<unknown>(second, { resources: resourceList.slice(2) });
  assertEquals(await connection.readResource("x:1"), [
    { uri: "x:1", text: "contents of x:1" },
  ]);
  await connection.subscribe("x:1");
});

Deno.test({
  name: "calls continue after resources/list_changed",
  timeout: 120_000,
}, async () => {
  await using host = hostOf({ a: fixture() });
  await host.start();
  const changed = new Promise((resolve) =>
    host.on("resourcesChanged", resolve)
  );
  await textOf(host, "a", "change_resources");
  assertEquals(await changed, { server: "a" });
  assertEquals(await textOf(host, "a", "echo", { text: "on" }), "on");
});
