import { assert, assertEquals, assertRejects } from "@std/assert";
import { ConnectionError, SmcpAgent } from "../../../agent/mod.ts";
import { HANDSHAKE_TIMEOUT_MS } from "../../../client/socket_wire.ts";
import { SmcpComputer } from "../../../computer/mod.ts";
import {
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  LIST_ROOM_EVENT,
} from "../../../protocol/mod.ts";
import { createSmcpServer } from "../../../server/mod.ts";
import { startBareServer } from "../../support/server/bare_server.ts";
import { OFFICE } from "../../support/office.ts";
import { startProxy } from "../../support/proxy.ts";
import { holdTimers } from "../../support/timers.ts";

type Transports = ("polling" | "websocket")[];

const ATTEMPTS = 30;

const TRANSPORTS: Transports[] = [
  ["websocket"],
  ["polling"],
  ["polling", "websocket"],
];

const clients = {
  Agent: (url: string, transports: Transports) =>
    new SmcpAgent({ url, name: "planner", transports }),
  Computer: (url: string, transports: Transports) =>
    new SmcpComputer({ url, name: "pc", servers: [], transports }),
};

for (const [role, make] of Object.entries(clients)) {
  Deno.test(`${role}: close() and leave() during a join also free the seat`, async () => {
    await using server = createSmcpServer({ limits: false });
    const { url } = await server.listen({ port: 0 });
    await using next = make(url, ["websocket"]);
    await next.connect();
    for (const end of ["close", "leave"] as const) {
      for (let i = 0; i < ATTEMPTS; i++) {
        await using before = make(url, ["websocket"]);
        await before.connect();
        const joining = assertRejects(() => before.join(OFFICE));
        await before[end]();
        await next.join(OFFICE);
        await next.leave();
        await joining;
      }
    }
  });

  Deno.test(`${role}: close() does not wait for a Server that no longer answers`, async () => {
    await using server = await startBareServer((_socket, event, ack) => {
      if (event === LIST_ROOM_EVENT) return ack({ sessions: [], req_id: "1" });
      if (event !== LEAVE_OFFICE_EVENT) ack(true, null);
    });
    using timers = holdTimers(HANDSHAKE_TIMEOUT_MS); // the limit of leave()
    await using client = make(server.url, ["websocket"]);
    await client.connect();
    await client.join(OFFICE);
    await client.close();
    assert(timers.armed.length > 0, "no such timer was armed");
  });
}

Deno.test("a closed client sends nothing, and cannot connect again", async () => {
  const heard: string[] = [];
  await using server = await startBareServer((_socket, event, ack) => {
    heard.push(event);
    if (event === LIST_ROOM_EVENT) return ack({ sessions: [], req_id: "1" });
    ack(true, null);
  });
  await using proxy = await startProxy(server.url);
  await using agent = new SmcpAgent({ url: proxy.url, name: "planner" });
  await agent.connect();
  await agent.join(OFFICE);
  const closing = agent.close();
  assertEquals(agent.state, "closed");
  await assertRejects(() => agent.listRoom(), ConnectionError, "Not connected");
  await assertRejects(() => agent.join(OFFICE), ConnectionError);
  const refused = async () => {
    const error = await assertRejects(
      () => agent.connect(),
      ConnectionError,
      "Cannot connect: close() was called, which is permanent; create another client",
    );
    assertEquals(error.code, "closed");
  };
  await refused();
  await closing;
  await refused();
  assertEquals(
    heard.filter((event) => event !== LIST_ROOM_EVENT),
    [JOIN_OFFICE_EVENT, LEAVE_OFFICE_EVENT],
  );
});

Deno.test("SmcpAgent.close() ends at once if the connection breaks while it leaves", async () => {
  await using server = await startBareServer((socket, event, ack) => {
    if (event === LIST_ROOM_EVENT) return ack({ sessions: [], req_id: "1" });
    if (event === LEAVE_OFFICE_EVENT) return socket.conn.close();
    ack(true, null);
  });
  await using client = clients.Agent(server.url, ["websocket"]);
  await client.connect();
  const heard: string[] = [];
  client.on("disconnected", ({ reason, reconnecting }) => {
    heard.push(`${reason} ${reconnecting}`);
  });
  await client.join(OFFICE);
  await client.close();
  assertEquals(heard.length, 1);
  assertEquals(heard[0]?.endsWith("false"), true, heard[0]);
});

/** Ordered so that transports whose library leaves timers of 0 ms, seen by leak checks, come last. */
for (const transports of TRANSPORTS) {
  for (const [role, make] of Object.entries(clients)) {
    const over = transports.join(", then ");
    const isClean = !transports.includes("polling");

    Deno.test({
      name:
        `${role}: close() resolves when the seat is free for the next one, over ${over}`,
      sanitizeOps: isClean,
      sanitizeResources: isClean,
    }, async () => {
      await using server = createSmcpServer();
      const { url } = await server.listen({ port: 0 });
      await using next = make(url, transports);
      await next.connect();
      for (let i = 0; i < ATTEMPTS; i++) {
        const before = make(url, transports);
        await before.connect();
        await before.join(OFFICE);
        await before.close();
        await next.join(OFFICE);
        await next.leave();
      }
    });

    Deno.test({
      name:
        `${role}: leave() resolves when the seat is free for the next one, over ${over}`,
      sanitizeOps: isClean,
      sanitizeResources: isClean,
    }, async () => {
      await using server = createSmcpServer();
      const { url } = await server.listen({ port: 0 });
      await using first = make(url, transports);
      await using second = make(url, transports);
      await first.connect();
      await second.connect();
      for (let i = 0; i < ATTEMPTS; i++) {
        await first.join(OFFICE);
        await first.leave();
        await second.join(OFFICE);
        await second.leave();
      }
    });
  }
}
