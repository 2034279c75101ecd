import { assertEquals } from "@std/assert";
import { RawPolling } from "../support/wire/raw_polling.ts";
import { RawWebSocket } from "../support/wire/raw_websocket.ts";
import { onEachEngine } from "../support/server/wire_server.ts";

onEachEngine(
  "a close packet over polling ends the session, and the pending request",
  async (start) => {
    await using server = await start();
    const raw = await RawPolling.open(server.url);
    const waiting = raw.get();
    assertEquals(await raw.post("1"), { status: 200, body: "ok" });
    const { status, body } = await waiting; // 400 when it came after the other one
    assertEquals(status === 400 ? "6" : body, "6");
    assertEquals((await raw.get()).status, 400);
    assertEquals((await raw.post("40/smcp,")).status, 400);
  },
);

onEachEngine(
  "a close packet over a WebSocket ends the session",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    assertEquals(server.smcp.stats.connections, 1);
    raw.send("1");
    await raw.closed;
    await noConnections(server.url);
  },
);

onEachEngine(
  "the end of TCP without a close packet ends the session",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    raw.end();
    await raw.closed;
    await noConnections(server.url);
  },
);

onEachEngine(
  "close() of the server closes each WebSocket by a close frame",
  async (start) => {
    const server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    await server[Symbol.asyncDispose]();
    assertEquals(await raw.closed, 1005);
  },
);

/** Resolves when the server has no connections. */
async function noConnections(url: string): Promise<void> {
  for (let i = 0; i < 1000; i++) {
    const response = await fetch(`${url}/health`);
    if ((await response.json()).connections === 0) return;
  }
  throw new Error("A connection is left over");
}
