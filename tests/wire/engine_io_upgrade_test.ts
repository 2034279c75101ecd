import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { RawPolling } from "../support/wire/raw_polling.ts";
import {
  RawWebSocket,
  webSocketTarget,
} from "../support/wire/raw_websocket.ts";
import {
  onEachEngine,
  type WireServer,
} from "../support/server/wire_server.ts";

/** A second transport of a session that began over polling. */
const webSocketOf = (
  { port }: WireServer,
  { sid }: RawPolling,
): Promise<RawWebSocket> =>
  RawWebSocket.open(port, { target: webSocketTarget(`&sid=${sid}`) });

async function upgrade(
  server: WireServer,
  polling: RawPolling,
): Promise<RawWebSocket> {
  const raw = await webSocketOf(server, polling);
  raw.send("2probe");
  assertEquals(await raw.text(""), "3probe");
  raw.send("5");
  return raw;
}

onEachEngine(
  "a session changes from polling to a WebSocket by probe and upgrade",
  async (start) => {
    await using server = await start();
    const polling = await RawPolling.connect(server.url);
    await using raw = await upgrade(server, polling);
    await raw.alive();
  },
);

onEachEngine(
  "a probe ends the pending request with a noop",
  async (start) => {
    await using server = await start();
    const polling = await RawPolling.connect(server.url);
    const waiting = polling.get();
    await using raw = await webSocketOf(server, polling);
    raw.send("2probe");
    await raw.text("3probe");
    assertEquals(await waiting, { status: 200, body: "6" });
    raw.send("5");
    await raw.alive();
  },
);

onEachEngine(
  "packets between probe and upgrade are not lost",
  async (start) => {
    await using server = await start();
    const polling = await RawPolling.connect(server.url);
    await using raw = await webSocketOf(server, polling);
    raw.send("2probe");
    await raw.text("3probe");
    await polling.post('42/smcp,1["server:list_room",{}]');
    raw.send("5");
    assertMatch(await raw.text("43/smcp,"), /^43\/smcp,1\[/);
  },
);

onEachEngine(
  "an upgrade packet and a following event in one segment are both read",
  async (start) => {
    await using server = await start();
    const polling = await RawPolling.connect(server.url);
    await using raw = await webSocketOf(server, polling);
    raw.send("2probe");
    await raw.text("3probe");
    raw.send("5");
    await raw.alive();
  },
);

onEachEngine(
  "after the upgrade requests of the session are refused",
  async (start) => {
    await using server = await start();
    const polling = await RawPolling.connect(server.url);
    await using raw = await upgrade(server, polling);
    await raw.alive();
    assertEquals((await polling.get()).status, 400);
    assertEquals((await polling.post("3")).status, 400);
    await raw.alive();
  },
);

onEachEngine(
  "after the upgrade a second WebSocket of the session is closed",
  async (start) => {
    await using server = await start();
    const polling = await RawPolling.connect(server.url);
    await using raw = await upgrade(server, polling);
    await raw.alive();
    await using second = await webSocketOf(server, polling);
    await second.closed;
    await raw.alive();
  },
);

onEachEngine(
  "a second WebSocket during the upgrade is closed, and the first continues",
  async (start) => {
    await using server = await start();
    const polling = await RawPolling.connect(server.url);
    await using raw = await webSocketOf(server, polling);
    raw.send("2probe");
    await raw.text("3probe");
    await using second = await webSocketOf(server, polling);
    await second.closed;
    raw.send("5");
    await raw.alive();
  },
);

onEachEngine(
  "anything except a probe closes the WebSocket, and the session stays on polling",
  async (start) => {
    await using server = await start();
    for (const packet of ["3probe", "2", "40/smcp,", "1", "abc"]) {
      const polling = await RawPolling.connect(server.url);
      await using raw = await webSocketOf(server, polling);
      raw.send(packet);
      await assertRejects(() => raw.text("3probe"));
      assertEquals((await polling.post('42/smcp,1["x",{}]')).status, 200);
      await polling.packet("43/smcp,1[");
    }
  },
);
