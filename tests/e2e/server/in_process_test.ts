import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ConnectionError, SmcpAgent } from "../../../agent/mod.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import { ProtocolError } from "../../../protocol/mod.ts";
import { createFetchServer } from "../../../server/fetch/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { scriptedComputer } from "../../../testing/mod.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { captureLog } from "../../support/log_capture.ts";

const script = (event: string) =>
  event === "client:get_tools"
    ? { req_id: "1", tools: [] }
    : { content: [{ type: "text", text: "hello" }] };

for (const create of [createSmcpServer, createFetchServer]) {
  Deno.test(`an Agent and Computers meet in process, without listen() or authentication, until close(): ${create.name}()`, async () => {
    using log = captureLog();
    const smcp = create({
      authenticator: { authenticate: () => ({ refused: "nobody" }) },
    });
    const connection = smcp.connect();
    await using pc = new SmcpComputer({
      connection,
      name: "pc",
      servers: { files: fixture({ only: ["echo"] }) },
      confirm: () => "once",
    });
    await using old = scriptedComputer({
      connection: smcp.connect({ protocol: "0.2" }),
      name: "old",
      script,
    });
    await using agent = new SmcpAgent({ connection, name: "planner" });
    for (const one of [pc, old, agent]) await one.connect();
    await pc.serversSettled();
    for (const one of [pc, old, agent]) await one.join("north");
    await agent.toolsSettled();
    const greeted = await agent.callTool("old", "greet");
    const [tool] = agent.tools.get("pc") ?? [];
    const echoed = await agent.callTool("pc", `${tool?.name}`, { text: "hi" });
    assertEquals(
      [greeted, echoed].map(({ content: [part] }) => part?.text),
      ["hello", "hi"],
    );
    const members = await agent.listRoom();
    assertEquals(
      members.map(({ name, a2c_version }) => [name, a2c_version]).sort(),
      [["old", "0.2.0"], ["pc", "0.4.0"], ["planner", "0.4.0"]],
    );
    assertEquals(
      [pc.url, log.audit[0]?.address, smcp.stats.members],
      ["in process", "in process", 3],
    );

    const ended = Promise.withResolvers<boolean>();
    agent.on("disconnected", (value) => ended.resolve(value.reconnecting));
    await smcp.close();
    assertEquals([await ended.promise, agent.state], [false, "closed"]);
    assertThrows(() => smcp.connect(), ProtocolError, "shutting down");
    await using late = new SmcpAgent({ connection, name: "late" });
    await assertRejects(() => late.connect(), ProtocolError, "shutting down");
  });
}

Deno.test("members in process and over the network share an office, its one Agent and its names (protocol §5)", async () => {
  await using smcp = createSmcpServer();
  const { url } = await smcp.listen({ port: 0 });
  const connection = smcp.connect();
  await using inside = new SmcpAgent({ connection, name: "inside" });
  await using outside = new SmcpAgent({ url, name: "outside" });
  await inside.connect();
  await inside.join("north");
  await outside.connect();
  await assertRejects(
    () => outside.join("north"),
    ConnectionError,
    "Room already has an agent",
  );
  await inside.leave();
  await outside.join("north");
  const entered = Promise.withResolvers<unknown>();
  outside.on("enterOffice", entered.resolve);
  await using pc = scriptedComputer({ connection, name: "pc", script });
  await pc.connect();
  await pc.join("north");
  assertEquals(await entered.promise, { office_id: "north", computer: "pc" });
});

Deno.test("url and connection together, or a connection with options of the network, are refused by name", async () => {
  await using smcp = createSmcpServer();
  const connection = smcp.connect();
  const rows: [options: object, reason: string][] = [
    [{}, "without the option url"],
    [
      { connection, url: "http://127.0.0.1:1" },
      "Cannot use the option url with connection, which needs no network: give one of them",
    ],
    [
      { connection, auth: { api_key: "k" } },
      "give the identity to connect() of the Server",
    ],
  ];
  for (const [options, reason] of rows) {
    assertThrows(
      () => new SmcpComputer({ name: "pc", servers: {}, ...options }),
      TypeError,
      reason,
    );
  }
});
