import { assertEquals, assertRejects } from "@std/assert";
import { SmcpAgent } from "../../../agent/mod.ts";
import {
  ENTER_OFFICE_NOTIFICATION,
  GET_CONFIG_EVENT,
  GET_DPE_EVENT,
  GET_TOOLS_EVENT,
  LIST_ROOM_EVENT,
  ProtocolVersionError,
  UPDATE_CONFIG_EVENT,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_DESKTOP_EVENT,
  UPDATE_DESKTOP_NOTIFICATION,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { joinRaw, type RawClient } from "../../support/wire/raw_client.ts";
import { rawHttp, upgradeHead } from "../../support/wire/raw_http.ts";
import { startServerCommand } from "../../support/server/server_command.ts";

/** The older names of seed 002. */
const OLDER = {
  getConfig: "client:get_mcp_config",
  updateConfig: "server:update_mcp_config",
  updateConfigNotification: "notify:update_mcp_config",
  updateDesktop: "server:desktop_refresh",
  updateDesktopNotification: "notify:desktop_refresh",
};

const REQUEST = { agent: "agent", req_id: "1", computer: "computer" };
const CONFIG = { servers: {}, inputs: null };

/** A Server of profile 0.1 with an Agent and a Computer that send no version, like older SDKs. */
async function oldOffice() {
  const stack = new AsyncDisposableStack();
  const server = stack.use(createSmcpServer({ protocol: "0.1" }));
  const { url, port } = await server.listen();
  const old = { version: null, path: "/socket.io/" };
  const agent = stack.use(
    await joinRaw({ url, ...old }, "agent", "agent", "office"),
  );
  const computer = stack.use(
    await joinRaw({ url, ...old }, "computer", "computer", "office"),
  );
  await agent.next(ENTER_OFFICE_NOTIFICATION);
  return {
    url,
    port,
    agent,
    computer,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("profile 0.1 admits clients without a version, and shows no versions (spec §12)", async () => {
  await using office = await oldOffice();
  const answer = await office.agent.ask(LIST_ROOM_EVENT, {
    agent: "agent",
    req_id: "1",
    office_id: "office",
  });
  assertEquals(answer, {
    sessions: [
      {
        sid: office.agent.socket.id,
        name: "agent",
        role: "agent",
        office_id: "office",
      },
      {
        sid: office.computer.socket.id,
        name: "computer",
        role: "computer",
        office_id: "office",
      },
    ],
    req_id: "1",
  });
});

Deno.test("profile 0.1 refuses any sent version except 0.1.x, over polling and upgrade (spec §12)", async () => {
  await using office = await oldOffice();
  const ask = async (version: string) => {
    const query = `EIO=4&a2c_version=${version}`;
    return [
      await rawHttp(office.port, [
        `GET /smcp/?${query}&transport=polling HTTP/1.1`,
        "Host: 127.0.0.1",
      ]),
      await rawHttp(
        office.port,
        upgradeHead(`/smcp/?${query}&transport=websocket`),
      ),
    ];
  };
  for (const answer of await ask("0.2.0")) {
    assertEquals(answer.status, 400);
    assertEquals(answer.headers["x-a2c-error-code"], "4008");
    assertEquals(JSON.parse(answer.body).server_version, "0.1.2");
  }
  for (const answer of await ask("abc")) {
    assertEquals([answer.status, JSON.parse(answer.body).code], [400, 400]);
  }
  assertEquals((await ask("0.1.5")).map(({ status }) => status), [200, 101]);
});

Deno.test("profile 0.1 refuses this package's own clients, which support only 0.2 (spec §12)", async () => {
  await using office = await oldOffice();
  await using agent = new SmcpAgent({ url: office.url, name: "planner" });
  const error = await assertRejects(
    () => agent.connect(),
    ProtocolVersionError,
  );
  assertEquals(error.serverVersion, "0.1.2");
});

Deno.test("profile 0.1 notifies under both names, regardless of the one that the Computer used (spec §12)", async () => {
  await using office = await oldOffice();
  const { agent, computer } = office;
  const cases = [
    [UPDATE_CONFIG_EVENT, UPDATE_CONFIG_NOTIFICATION],
    [OLDER.updateConfig, UPDATE_CONFIG_NOTIFICATION],
    [UPDATE_DESKTOP_EVENT, UPDATE_DESKTOP_NOTIFICATION],
    [OLDER.updateDesktop, UPDATE_DESKTOP_NOTIFICATION],
  ] as const;
  const older = {
    [UPDATE_CONFIG_NOTIFICATION]: OLDER.updateConfigNotification,
    [UPDATE_DESKTOP_NOTIFICATION]: OLDER.updateDesktopNotification,
  };
  for (const [sent, heard] of cases) {
    assertEquals(await computer.request(sent, { computer: "computer" }), []);
    const payloads = [await agent.next(heard), await agent.next(older[heard])];
    assertEquals(payloads, [{ computer: "computer" }, {
      computer: "computer",
    }]);
  }
  assertEquals(computer.heard, []);
});

Deno.test("profile 0.1 routes get_config to Computers with either name, from Agents with either name (spec §12)", async () => {
  for (const known of [GET_CONFIG_EVENT, OLDER.getConfig]) {
    const refusal = { code: 400, message: `Unknown event ${"x".repeat(300)}` };
    for (const unknown of [[], [refusal], [{ error: refusal }]]) {
      await using office = await oldOffice();
      for (const name of [GET_CONFIG_EVENT, OLDER.getConfig]) {
        office.computer.handle(
          name,
          (_payload, ack) => name === known ? ack(CONFIG) : ack(...unknown),
        );
      }
      for (const asked of [GET_CONFIG_EVENT, OLDER.getConfig]) {
        assertEquals(await office.agent.ask(asked, REQUEST), CONFIG);
      }
    }
  }
});

Deno.test("profile 0.1 does not wait for a Computer that never acks the other name (spec §12)", async () => {
  await using office = await oldOffice();
  office.computer.handle(GET_CONFIG_EVENT, () => {});
  office.computer.handle(OLDER.getConfig, (_payload, ack) => ack(CONFIG));
  assertEquals(await office.agent.ask(GET_CONFIG_EVENT, REQUEST), CONFIG);
});

Deno.test("profile 0.1 returns an error of the Computer when no name got an answer (spec §12)", async () => {
  await using office = await oldOffice();
  const refusal = { code: 400, message: "Invalid payload" };
  office.computer.handle(GET_CONFIG_EVENT, (_payload, ack) => ack(refusal));
  office.computer.handle(OLDER.getConfig, (_payload, ack) => ack());
  assertEquals(await office.agent.ask(GET_CONFIG_EVENT, REQUEST), refusal);
});

Deno.test("profile 0.1 keeps offices, isolation and errors, without the events of 0.2 (spec §12)", async () => {
  await using office = await oldOffice();
  const { url, agent, computer } = office;
  const old = { version: null, path: "/socket.io/" };
  await using stranger = await joinRaw(
    { url, ...old },
    "agent",
    "agent",
    "other",
  );
  const codeOf = async (client: RawClient, event: string) => {
    const answer = await client.ask(event, REQUEST);
    return Reflect.get(Object(answer), "code");
  };
  assertEquals(await stranger.join("computer", "x", "other"), [
    false,
    "Cannot join as computer: the role of this connection is agent",
  ]);
  assertEquals(await codeOf(stranger, GET_TOOLS_EVENT), 404);
  assertEquals(await codeOf(stranger, OLDER.getConfig), 404);
  assertEquals(await codeOf(computer, OLDER.getConfig), 403);
  assertEquals(await codeOf(agent, GET_DPE_EVENT), 400);
});

Deno.test("version 0.2 accepts no name of seed 002 (spec §12)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using agent = await joinRaw(url, "agent", "agent", "office");
  for (const name of [OLDER.getConfig, OLDER.updateConfig]) {
    const [answer] = await agent.request(name, REQUEST);
    assertEquals(Reflect.get(Object(answer), "code"), 400);
  }
});

Deno.test({
  name: "--protocol and SMCP_PROTOCOL start a server of profile 0.1 (spec §12)",
  timeout: 120_000,
}, async () => {
  for (
    const [args, env] of [
      [["--protocol", "0.1"], {}],
      [[], { SMCP_PROTOCOL: "0.1" }],
    ] as const
  ) {
    await using command = await startServerCommand(["--port=0", ...args], env);
    assertEquals(command.line.startsWith("A2C-SMCP 0.1.2 server"), true);
    const health = await (await fetch(`${command.url}/health`)).json();
    assertEquals(health.protocol_version, "0.1.2");
  }
  await using command = await startServerCommand(["--protocol", "0.9"]);
  assertEquals(await command.exited, 2);
});
