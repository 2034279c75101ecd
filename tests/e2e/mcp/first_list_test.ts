import { assertEquals } from "@std/assert";
import { join } from "node:path";
import {
  SmcpComputer,
  type SmcpComputerOptions,
} from "../../../computer/mod.ts";
import { officeMcp } from "../../../mcp/mod.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { sdkClient } from "../../support/mcp/clients.ts";
import { inProcess } from "../../support/mcp/gateway.ts";
import { startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";
import { watchTimers } from "../../support/timers.ts";

/** How long a list waits for MCP servers that start. */
const SETTLE_MS = 5_000;

/** An office whose Computer has joined while one of its MCP servers, "late", waits for the test to start. */
async function startStarting() {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await scratch());
  const gate = join(folder.path, "gate");
  await new Deno.Command("mkfifo", { args: [gate] }).output();
  const { server_parameters: { command, args = [], ...parameters }, ...late } =
    fixture({
      only: ["echo"],
      prefix: "late",
      resourceList: [{ uri: "memo://late", name: "late" }],
    });
  const servers: SmcpComputerOptions["servers"] = {
    early: fixtureHere({ only: ["echo"] }),
    late: {
      ...late,
      server_parameters: {
        ...parameters,
        command: "sh",
        args: ["-c", 'read -r _ < "$0"; exec "$@"', gate, command, ...args],
      },
    },
  };
  const office = stack.use(await startOffice());
  const { url } = office;
  const computer = stack.use(new SmcpComputer({ url, name: "pc", servers }));
  const early = new Promise<void>((resolve) => {
    computer.on("serverState", ({ name, state }) => {
      if (name === "early" && state === "running") resolve();
    });
  });
  const started = computer.start();
  await early;
  await computer.connect();
  await computer.join("north");
  const mcp = stack.use(officeMcp(office.agent));
  const kept = stack.move();
  return {
    office,
    computer,
    mcp,
    /** Lets the late MCP server run. */
    async open() {
      await Deno.writeTextFile(gate, "\n");
      await started;
    },
    started,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

Deno.test("the first lists of a client are complete while MCP servers start", async () => {
  await using starting = await startStarting();
  await using client = await sdkClient(inProcess(starting.mcp), "2026");
  const lists = Promise.all([
    client.listTools(),
    client.listResources(),
  ]);
  await starting.open();
  const [{ tools }, { resources }] = await lists;
  assertEquals(
    tools.map(({ name }) => name),
    ["pc__early__echo", "pc__late__late_echo"],
  );
  assertEquals(
    resources.map(({ uri }) => uri).filter((uri) => uri.includes("late")),
    [`a2c://pc/resource/late/${encodeURIComponent("memo://late")}`],
  );
});

Deno.test("a list waits for some seconds alone, and what comes later is notified", async () => {
  await using starting = await startStarting();
  await using client = await sdkClient(inProcess(starting.mcp), "2026");
  const changed = Promise.withResolvers<void>();
  client.setNotificationHandler(
    "notifications/tools/list_changed",
    () => changed.resolve(),
  );
  await client.listen({ toolsListChanged: true });
  let armed = Promise.withResolvers<void>();
  using _ = watchTimers((delay) => {
    if (delay !== undefined && delay > 4_000 && delay <= SETTLE_MS) {
      armed.resolve();
    }
  });
  const listed = client.listTools();
  await armed.promise;
  armed = Promise.withResolvers();
  assertEquals((await listed).tools.length, 1);
  await starting.open();
  await changed.promise;
  assertEquals((await client.listTools()).tools.length, 2);
});

Deno.test("a Computer announces that an MCP server does not start, too", async () => {
  await using starting = await startStarting();
  const { agent } = starting.office;
  await agent.toolsSettled();
  assertEquals(agent.startingServers.get("pc"), 1);
  const fetched = new Promise<void>((resolve) => {
    agent.on("tools", () => {
      if (!agent.startingServers.has("pc")) resolve();
    });
  });
  await starting.computer.stopServer("late");
  await fetched;
  await starting.started;
});
