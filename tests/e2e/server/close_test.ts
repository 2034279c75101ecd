import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  ENTER_OFFICE_NOTIFICATION,
  GET_TOOLS_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  TOOL_CALL_EVENT,
} from "../../../protocol/mod.ts";
import { createMetrics, createSmcpServer } from "../../../server/mod.ts";
import { ANY_REQUEST } from "../../support/any_request.ts";
import { startProxy } from "../../support/proxy.ts";
import { connectRaw, joinRaw, rawPair } from "../../support/wire/raw_client.ts";
import { rawHttp, upgradeHead } from "../../support/wire/raw_http.ts";

const SHUTTING_DOWN = {
  code: 500,
  message: "The server is shutting down: reconnect and try again",
  reason: "server shutting down",
};

Deno.test("close() lets pending calls finish and refuses new calls, joins and sessions", async () => {
  await using server = createSmcpServer();
  const { url, port } = await server.listen();
  await using pair = await rawPair(url);
  await using late = await connectRaw(url);
  const { agent, computer } = pair;
  const ack = Promise.withResolvers<(...args: unknown[]) => void>();
  computer.handle(TOOL_CALL_EVENT, (_payload, answer) => ack.resolve(answer));
  const call = agent.ask(TOOL_CALL_EVENT, ANY_REQUEST);
  const answer = await ack.promise;

  const closing = server.close();
  assertEquals(await agent.ask(GET_TOOLS_EVENT, ANY_REQUEST), SHUTTING_DOWN);
  assertEquals(await late.join("computer", "late", "office"), [
    false,
    SHUTTING_DOWN.message,
  ]);
  const query = "/smcp/?EIO=4&a2c_version=0.2.0&transport=";
  for (const session of ["", "&sid=x&sid="]) { // Engine.IO takes the last
    const get = await rawHttp(port, [
      `GET ${query}polling${session} HTTP/1.1`,
      "Host: 127.0.0.1",
    ]);
    const upgrade = await rawHttp(
      port,
      upgradeHead(`${query}websocket${session}`),
    );
    for (const refused of [get, upgrade]) {
      assertEquals([refused.status, JSON.parse(refused.body)], [
        503,
        SHUTTING_DOWN,
      ]);
    }
  }
  const health = await (await fetch(`${url}/health`)).json();
  assertEquals(health.status, "draining");

  const gone = agent.disconnected();
  answer({ content: [], done: true });
  assertEquals(await call, { content: [], done: true });
  // The reason that makes clients reconnect; "io server disconnect" would not.
  assertEquals(await gone, "transport close");
  await closing;
});

Deno.test("close() answers calls that exceed graceMs with an error, never with silence", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url);
  const call = pair.agent.ask(TOOL_CALL_EVENT, ANY_REQUEST);
  await pair.computer.next(TOOL_CALL_EVENT);
  await server.close({ graceMs: 1 });
  assertEquals(await call, SHUTTING_DOWN);
});

Deno.test("a shutdown counts as leaving, with the same notifications (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using pair = await rawPair(url, "o");
  const { agent, computer } = pair;
  const gone = [agent.disconnected(), computer.disconnected()];
  await server.close();
  await Promise.all(gone);
  // The first to leave gets no notification of the other.
  assertEquals([...agent.heard, ...computer.heard], [{
    event: LEAVE_OFFICE_NOTIFICATION,
    payload: { office_id: "o", agent: "agent" },
  }]);
});

for (const transport of ["polling", "websocket"] as const) {
  Deno.test(`clients reconnect by themselves after a restart, over ${transport}`, async () => {
    const first = createSmcpServer();
    await using proxy = await startProxy((await first.listen()).url);
    await using client = await joinRaw(
      { url: proxy.url, reconnection: true, transports: [transport] },
      "agent",
      "a",
      "o",
    );
    const gone = client.disconnected();
    const back = gone.then(() => client.connected());
    await first.close();
    await gone;
    await using second = createSmcpServer();
    proxy.turnTo((await second.listen()).url);
    // Attempts without a listener fail; the client continues.
    await back.catch(() =>
      new Promise<void>((resolve) => {
        if (client.socket.connected) resolve();
        else client.socket.once("connect", resolve);
      })
    );
    assertEquals(await client.join("agent", "a", "o"), [true, null]);
  });
}

Deno.test("close() twice is one shutdown, and an unused server closes", async () => {
  await using server = createSmcpServer();
  await Promise.all([server.close(), server.close()]);
  await using other = createSmcpServer();
  await other.listen();
});

Deno.test("listen() during or after close() rejects and leaves no port open", async () => {
  const server = createSmcpServer({ metrics: createMetrics() });
  const listen = () =>
    Promise.allSettled([server.listen(), server.listenMetrics()]);
  const overtaken = listen();
  await server.close();
  for (const result of [...await overtaken, ...await listen()]) {
    assertEquals(result.status, "rejected");
    assertStringIncludes(
      String("reason" in result && result.reason),
      "TypeError: Cannot listen: the server is closed",
    );
  }
});

Deno.test("a lost connection releases its seat (spec §5)", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  await using computer = await joinRaw(url, "computer", "c", "o");
  for (let round = 0; round < 3; round++) {
    await using agent = await joinRaw(url, "agent", `a${round}`, "o");
    assertEquals(await computer.next(ENTER_OFFICE_NOTIFICATION), {
      office_id: "o",
      agent: `a${round}`,
    });
    agent.socket.io.engine.close(); // without a packet of Socket.IO
    assertEquals(await computer.next(LEAVE_OFFICE_NOTIFICATION), {
      office_id: "o",
      agent: `a${round}`,
    });
  }
});
