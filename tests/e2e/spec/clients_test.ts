import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { Socket } from "socket.io";
import { SmcpAgent, type SmcpAgentOptions } from "../../../agent/mod.ts";
import { officeLinkOf } from "../../../computer/computer.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import {
  ErrorCode,
  GET_CONFIG_EVENT,
  GET_TOOLS_EVENT,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  LIST_ROOM_EVENT,
  TOOL_CALL_EVENT,
  UPDATE_CONFIG_EVENT,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_FINDER_NOTIFICATION,
} from "../../../protocol/mod.ts";
import { startBareServer } from "../../support/server/bare_server.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";

type More = Pick<SmcpAgentOptions, "auth" | "transports">;

/** For tests independent of polling: a client that is closed during its upgrade leaks timers of its library. */
const WEBSOCKET: More = { transports: ["websocket"] };

const agentAt = (url: string, more: More = WEBSOCKET) =>
  new SmcpAgent({ url, name: "planner", ...more });

const computerAt = (url: string, more: More = WEBSOCKET) =>
  new SmcpComputer({ url, name: "pc", servers: {}, ...more });

const authOf = ({ handshake }: Socket): Record<string, unknown> =>
  handshake.auth;

/** Resolves when the connection has upgraded to WebSocket. */
const upgraded = ({ conn }: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (conn.transport.name === "websocket") resolve();
    else conn.once("upgrade", () => resolve());
  });

for (
  const [role, clientAt] of [["Agent", agentAt], [
    "Computer",
    computerAt,
  ]] as const
) {
  Deno.test(`${role}: every Engine.IO request carries a2c_version once, regardless of the user's URL, and polling comes first (spec §2)`, async () => {
    await using server = await startBareServer();
    await using client = clientAt(
      `${server.url}/?a2c_version=9.9.9&tenant=x`,
      {},
    );
    await client.connect();
    await upgraded(await server.connection(0));
    // Beside the question to /health, which versions the server lets in.
    const engine = server.requests.filter(({ query }) =>
      query.has("transport")
    );
    const seen = engine.map(({ method, query }) => [
      method,
      query.get("transport"),
    ]);
    assertEquals(seen[0], ["GET", "polling"]);
    for (const kind of [["POST", "polling"], ["GET", "websocket"]]) {
      assert(seen.some((each) => each.join() === kind.join()), kind.join());
    }
    for (const { query } of engine) {
      assertEquals(query.getAll("a2c_version"), ["0.2.0"]);
      assertEquals(query.get("tenant"), "x");
    }
  });

  Deno.test(`${role}: the user's credentials go into the auth object, and cannot set version, role or instance_id (spec §2)`, async () => {
    await using server = await startBareServer();
    await using client = clientAt(server.url, {
      ...WEBSOCKET,
      auth: {
        api_key: "k",
        a2c_version: "9.9.9",
        role: "boss",
        instance_id: "mine",
      },
    });
    await client.connect();
    const auth = authOf(await server.connection(0));
    assertEquals([auth.api_key, auth.role], ["k", role.toLowerCase()]);
    assertNotEquals(auth.instance_id, "mine");
    for (const { query } of server.requests) {
      assertEquals(query.get("a2c_version"), "0.2.0");
      assertEquals(query.has("api_key"), false);
    }
  });

  Deno.test(`${role}: every instance sends its own random instance_id, and the same one when it reconnects (spec §9)`, async () => {
    await using server = await startBareServer();
    await using first = clientAt(server.url);
    await first.connect();
    await using second = clientAt(server.url);
    await second.connect();
    const id = async (index: number) =>
      String(authOf(await server.connection(index)).instance_id);
    for (const index of [0, 1]) {
      assert(/^[0-9a-f-]{36}$/.test(await id(index)));
    }
    assertNotEquals(await id(0), await id(1));
    (await server.connection(0)).conn.close();
    assertEquals(await id(2), await id(0));
  });

  Deno.test(`${role}: unknown and invalid notifications are ignored (spec §3)`, async () => {
    await using server = await startBareServer();
    await using client = clientAt(server.url);
    await client.connect();
    const socket = await server.connection(0);
    socket.emit("notify:of_a_later_version", { any: "thing" });
    socket.emit(UPDATE_CONFIG_NOTIFICATION, { computer: 7 });
    socket.emit(UPDATE_FINDER_NOTIFICATION);
    // It still answers requests, with an error for unknown ones.
    const answer = await socket.emitWithAck("other:thing", {});
    assertEquals(answer.code, 400);
    assertEquals(socket.connected, true);
  });
}

const CALL = {
  agent: "a",
  req_id: "1",
  computer: "pc",
  tool_name: "echo",
  params: { text: "hi" },
  timeout: 30,
};

Deno.test({
  name:
    "a call directly after the ack of a join belongs to the new office, and runs (spec §7)",
  timeout: 120_000,
}, async () => {
  const answer = Promise.withResolvers<{ isError?: boolean }>();
  await using server = await startBareServer((socket, event, ack) => {
    ack(true, null);
    if (event !== JOIN_OFFICE_EVENT) return;
    socket.emit(TOOL_CALL_EVENT, CALL, answer.resolve);
  });
  await using computer = new SmcpComputer({
    url: server.url,
    name: "pc",
    servers: { a: fixture({ only: ["echo"] }) },
    transports: ["websocket"],
    confirm: () => "once",
  });
  await computer.connect();
  await computer.serversSettled();
  await computer.join(OFFICE);
  assertEquals<unknown>(await answer.promise, {
    content: [{ type: "text", text: "hi" }],
  });
});

Deno.test("a call that arrives after the end of a membership does not run (spec §5)", async () => {
  const answers: { code?: number }[] = [];
  await using server = await startBareServer((socket, event, ack) => {
    if (event !== LEAVE_OFFICE_EVENT) return ack(true, null);
    socket.emit(TOOL_CALL_EVENT, CALL, (answer: { code?: number }) => {
      answers.push(answer);
      ack(true, null);
    });
  });
  await using computer = computerAt(server.url);
  let calls = 0;
  computer.on("callStarted", () => calls++);
  const leave = async (leave: () => Promise<void>) => {
    await computer.connect();
    await computer.join(OFFICE);
    await leave();
  };
  await leave(() => computer.leave());
  await leave(() => officeLinkOf(computer).switchServer({ name: "other" }));
  assertEquals(
    answers.map(({ code }) => code),
    [ErrorCode.NOT_IN_ROOM, ErrorCode.NOT_IN_ROOM],
  );
  assertEquals(calls, 0);
});

Deno.test("a client that leaves while it rejoins its office is in no office (spec §5, §9)", async () => {
  const heard: string[] = [];
  const rejoining = Promise.withResolvers<() => void>();
  await using server = await startBareServer((socket, event, ack) => {
    if (event === LIST_ROOM_EVENT) return ack({ sessions: [], req_id: "1" });
    heard.push(event);
    const again = event === JOIN_OFFICE_EVENT && socket === server.sockets[1];
    if (again) rejoining.resolve(() => ack(true, null));
    else ack(true, null);
  });
  await using agent = agentAt(server.url);
  await agent.connect();
  await agent.join(OFFICE);
  (await server.connection(0)).conn.close();
  const admit = await rejoining.promise;
  await agent.leave();
  assertEquals(heard, [
    JOIN_OFFICE_EVENT,
    JOIN_OFFICE_EVENT,
    LEAVE_OFFICE_EVENT,
  ]);
  admit();
  await upgraded(await server.connection(1));
  assertEquals([agent.office, agent.state], [undefined, "connected"]);
});

Deno.test("a Computer that rejoins its office announces its configuration and tools again (spec §9)", async () => {
  await using office = await startOffice();
  await using proxy = await startProxy(office.url);
  await using computer = office.use(computerAt(proxy.url));
  await computer.connect();
  const told = () =>
    Promise.all(
      (["updateConfig", "updateToolList"] as const).map((event) =>
        new Promise((resolve) => {
          const off = office.agent.on(
            event,
            (payload) => {
              off();
              resolve(payload);
            },
          );
        })
      ),
    );
  const first = told();
  await computer.join(OFFICE);
  assertEquals(await first, [{ computer: "pc" }, { computer: "pc" }]);
  const again = told();
  await proxy.cut();
  assertEquals(await again, [{ computer: "pc" }, { computer: "pc" }]);
});

Deno.test("an Agent fetches the tools of a Computer again when its configuration changed (spec §9)", async () => {
  await using office = await startOffice();
  let fetched = 0;
  const computer = await office.addScriptedComputer("pc", (event) => {
    if (event === GET_TOOLS_EVENT) fetched++;
    return event === GET_TOOLS_EVENT ? { tools: [], req_id: "1" } : {};
  });
  await office.agent.toolsSettled();
  const before = fetched;
  const again = new Promise((resolve) => office.agent.on("tools", resolve));
  computer.send(UPDATE_CONFIG_EVENT, { computer: "pc" });
  assertEquals(await again, { computer: "pc", tools: [] });
  assertEquals(fetched, before + 1);
});

Deno.test("an Agent's calls have a req_id each, unless the caller gives one (spec §7)", async () => {
  const ids: unknown[] = [];
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        const { req_id } = payload as { req_id: string };
        if (event === GET_TOOLS_EVENT) return { tools: [], req_id };
        ids.push(req_id);
        return event === GET_CONFIG_EVENT ? { servers: {} } : { content: [] };
      },
    },
  });
  const { agent } = office;
  for (let i = 0; i < 50; i++) await agent.callTool("pc", "echo");
  await agent.getConfig("pc");
  assertEquals(new Set(ids).size, 51);
  await agent.callTool("pc", "echo", {}, { reqId: "mine" });
  assertEquals(ids.at(-1), "mine");
});

Deno.test("an error of a client's handler is not revealed: the caller gets a plain 500 (spec §6)", async () => {
  await using office = await startOffice({
    computers: {
      pc: (event) => {
        if (event === GET_TOOLS_EVENT) return { tools: [], req_id: "1" };
        throw new Error("redis://user:secret@10.0.0.1 is gone");
      },
    },
  });
  const error = await office.agent.getConfig("pc").then(
    () => undefined,
    (e) => e,
  );
  assertEquals(error.toPayload(), { code: 500, message: "Internal error" });
});
