import { assertEquals, assertRejects } from "@std/assert";
import { RawPolling } from "../support/wire/raw_polling.ts";
import { RawWebSocket } from "../support/wire/raw_websocket.ts";
import { onEachEngine } from "../support/server/wire_server.ts";

/** Frequent pings, with an answer timeout that no test reaches. */
const LONG_PONG_TIMEOUT = { heartbeat: { intervalMs: 20, timeoutMs: 60_000 } };

/** An answer timeout that expires, but not before the next request arrives. */
const SHORT_PONG_TIMEOUT = { heartbeat: { intervalMs: 20, timeoutMs: 1_500 } };

onEachEngine(
  "the server pings over polling, and continues after a pong",
  async (start) => {
    await using server = await start(LONG_PONG_TIMEOUT);
    const raw = await RawPolling.open(server.url);
    for (let i = 0; i < 3; i++) {
      assertEquals(await raw.get(), { status: 200, body: "2" });
      assertEquals(await raw.post("3"), { status: 200, body: "ok" });
    }
  },
);

onEachEngine(
  "the server pings over a WebSocket, and continues after a pong",
  async (start) => {
    await using server = await start(LONG_PONG_TIMEOUT);
    await using raw = await RawWebSocket.open(server.port);
    await raw.text("0");
    for (let i = 0; i < 3; i++) {
      assertEquals((await raw.frame()).payload.toString(), "2");
      raw.send("3");
    }
  },
);

onEachEngine(
  "a session over polling ends when its ping is not answered",
  async (start) => {
    await using server = await start(SHORT_PONG_TIMEOUT);
    const raw = await RawPolling.open(server.url);
    assertEquals((await raw.get()).body, "2");
    assertEquals(await raw.get(), { status: 200, body: "1" });
    assertEquals((await raw.get()).status, 400);
  },
);

onEachEngine(
  "a WebSocket is closed when its ping is not answered",
  async (start) => {
    await using server = await start(SHORT_PONG_TIMEOUT);
    await using raw = await RawWebSocket.open(server.port);
    await raw.text("2");
    await assertRejects(() => raw.text("2"));
  },
);

onEachEngine(
  "events are answered while a pong is due",
  async (start) => {
    await using server = await start(LONG_PONG_TIMEOUT);
    await using raw = await RawWebSocket.open(server.port);
    // Each wait below drops the frames before it: a ping only comes once the last one is answered.
    await raw.text("2");
    raw.send("40/smcp,");
    await raw.text("40/smcp,{");
    for (let i = 0; i < 3; i++) {
      await raw.alive(i);
      raw.send("3");
      await raw.text("2");
    }
  },
);

onEachEngine(
  "a client that pings is closed: since version 4 only the server pings",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.open(server.port);
    await raw.text("0");
    raw.send("2");
    await assertRejects(() => raw.frame().then(() => raw.frame()));
  },
);
