import { assertEquals, assertRejects } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import { ProtocolVersionError } from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startServerCommand } from "../../support/server/server_command.ts";
import { joinRaw } from "../../support/wire/raw_client.ts";
import { rawHttp, upgradeHead } from "../../support/wire/raw_http.ts";

const REQUEST = { agent: "agent", req_id: "1", computer: "computer" };

/** The names of get_config, of which the second is of seed 002. */
const NAMES = ["client:get_config", "client:get_mcp_config"];

/** A Server of profile 0.1 with an Agent and a Computer that send no version, like older SDKs. */
async function oldOffice() {
  const stack = new AsyncDisposableStack();
  const server = stack.use(createSmcpServer({ protocol: "0.1" }));
  const { url, port } = await server.listen();
  const at = { url, version: null, path: "/socket.io/" };
  const join = async (role: "agent" | "computer", office = "office") =>
    stack.use(await joinRaw(at, role, role, office));
  const agent = await join("agent");
  const computer = await join("computer");
  await agent.next("notify:enter_office");
  return {
    url,
    port,
    agent,
    computer,
    join,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("profile 0.1 admits clients without a version, and shows no versions (protocol §12)", async () => {
  await using office = await oldOffice();
  const { agent, computer } = office;
  const session = (role: "agent" | "computer") => ({
    sid: office[role].socket.id,
    name: role,
    role,
    office_id: "office",
  });
  const list = { agent: "agent", req_id: "1", office_id: "office" };
  assertEquals(await agent.ask("server:list_room", list), {
    sessions: [session("agent"), session("computer")],
    req_id: "1",
  });
  assertEquals(computer.heard, []);
});

Deno.test("profile 0.1 refuses any sent version except 0.1.x, over polling and upgrade (protocol §12)", async () => {
  await using office = await oldOffice();
  for (
    const [version, ...statuses] of [
      ["0.2.0", 400, 400],
      ["abc", 400, 400],
      ["0.1.5", 200, 101],
    ] as const
  ) {
    const target = `/smcp/?EIO=4&a2c_version=${version}&transport=`;
    const heads = [
      [`GET ${target}polling HTTP/1.1`, "Host: 127.0.0.1"],
      upgradeHead(`${target}websocket`),
    ];
    for (const [at, head] of heads.entries()) {
      const { status, headers, body } = await rawHttp(office.port, head);
      assertEquals(status, statuses[at], version);
      if (version === "abc") assertEquals(JSON.parse(body).code, 400);
      if (version !== "0.2.0") continue;
      const refusal = JSON.parse(body).server_version;
      const code = headers["x-a2c-error-code"];
      assertEquals([code, refusal], ["4008", "0.1.2"]);
    }
  }
});

Deno.test("profile 0.1 refuses this package's own clients, which support only 0.2 (protocol §12)", async () => {
  await using office = await oldOffice();
  await using agent = new SmcpAgent({ url: office.url, name: "planner" });
  const error = await assertRejects(
    () => agent.connect(),
    ProtocolVersionError,
  );
  assertEquals(error.serverVersion, "0.1.2");
});

Deno.test("profile 0.1 routes get_config to Computers with either name, from Agents with either name (protocol §12)", async () => {
  await using office = await oldOffice();
  const { agent, computer } = office;
  const config = { servers: {}, inputs: null };
  const refusal = { code: 400, message: `Unknown event ${"x".repeat(300)}` };
  for (const [at, known] of NAMES.entries()) {
    computer.handle(known, (_, ack) => ack(config));
    for (const unknown of [[], [refusal], [{ error: refusal }], undefined]) {
      computer.handle(NAMES[1 - at] ?? "", (_, ack) => {
        if (unknown !== undefined) ack(...unknown); // or it never acks
      });
      for (const asked of NAMES) {
        assertEquals(await agent.ask(asked, REQUEST), config, asked);
      }
    }
  }
  // An error rather than no answer.
  computer.handle(NAMES[0] ?? "", (_, ack) => ack(refusal));
  computer.handle(NAMES[1] ?? "", (_, ack) => ack());
  assertEquals(await agent.ask(NAMES[0] ?? "", REQUEST), refusal);
});

Deno.test("profile 0.1 keeps offices, isolation and errors, without the events of 0.2 (protocol §12)", async () => {
  await using office = await oldOffice();
  const { agent, computer } = office;
  const stranger = await office.join("agent", "other");
  assertEquals(await stranger.join("computer", "x", "other"), [
    false,
    "Cannot join as computer: the role of this connection is agent",
  ]);
  for (
    const [client, event, code] of [
      [stranger, "client:get_tools", 404],
      [stranger, "client:get_mcp_config", 404],
      [computer, "client:get_mcp_config", 403],
      [agent, "client:get_dpe", 400],
    ] as const
  ) assertEquals(Object(await client.ask(event, REQUEST)).code, code, event);
});

Deno.test({
  name:
    "SMCP_PROTOCOL starts a server of profile 0.1, and an unknown version is refused (protocol §12)",
  timeout: 120_000,
}, async () => {
  const env = { SMCP_PROTOCOL: "0.1" };
  await using command = await startServerCommand(["--port=0"], env);
  assertEquals(command.line.startsWith("A2C-SMCP 0.1.2 server"), true);
  const health = await (await fetch(`${command.url}/health`)).json();
  assertEquals(health.protocol_version, "0.1.2");
  await using odd = await startServerCommand(["--protocol", "0.9"], env);
  assertEquals(await odd.exited, 2);
});
