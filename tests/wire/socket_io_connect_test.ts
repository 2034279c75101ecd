import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { RawPolling } from "../support/wire/raw_polling.ts";
import { RawWebSocket } from "../support/wire/raw_websocket.ts";
import { onEachEngine } from "../support/server/wire_server.ts";

const open = async (port: number): Promise<RawWebSocket> => {
  const raw = await RawWebSocket.open(port);
  await raw.text("0{");
  return raw;
};

/** Waits for the server. */
const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

const bodyOf = (packet: string): Record<string, unknown> =>
  JSON.parse(packet.slice(packet.indexOf("{")));

onEachEngine(
  "CONNECT is answered by CONNECT with an id, over a WebSocket",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.open(server.port);
    const engine = bodyOf(await raw.text("0{"));
    raw.send("40/smcp,");
    const { sid, ...rest } = bodyOf(await raw.text("40/smcp,"));
    assertMatch(String(sid), /^[\w-]{20}$/);
    assertEquals([rest, sid === engine.sid], [{}, false]);
  },
);

onEachEngine(
  "CONNECT is answered by CONNECT with an id, over polling",
  async (start) => {
    await using server = await start();
    const raw = await RawPolling.open(server.url);
    assertEquals(await raw.post("40/smcp,"), { status: 200, body: "ok" });
    assertMatch(await raw.packet("40/smcp,"), /^40\/smcp,\{"sid":"[\w-]{20}"/);
    await raw.post("1");
  },
);

onEachEngine("CONNECT may have a payload", async (start) => {
  await using server = await start();
  await using raw = await open(server.port);
  raw.send('40/smcp,{"role":"agent"}');
  assertMatch(await raw.text("4"), /^40\/smcp,\{"sid"/);
});

onEachEngine(
  "CONNECT to any other namespace is answered by CONNECT_ERROR, and the connection stays open",
  async (start) => {
    await using server = await start();
    await using raw = await open(server.port);
    for (const namespace of ["/other", "/smc", "/smcp2", "/__proto__"]) {
      raw.send(`40${namespace},`);
      const answer = await raw.text("44");
      assertEquals(
        answer.startsWith(`44${namespace},{"message":`),
        true,
        answer,
      );
    }
    raw.send("40");
    assertMatch(await raw.text("44"), /^44\{"message":/);
    raw.send("40/smcp,");
    await raw.text("40/smcp,{");
  },
);

onEachEngine(
  "CONNECT whose payload is refused is answered by CONNECT_ERROR",
  async (start) => {
    await using server = await start({
      authenticator: { authenticate: () => ({ refused: "not today" }) },
    });
    await using raw = await open(server.port);
    raw.send('40/smcp,{"api_key":"wrong"}');
    const { message, data } = bodyOf(await raw.text("44/smcp,"));
    assertEquals([typeof message, Object(data).code], ["string", 401]);
  },
);

onEachEngine(
  "a second CONNECT to the namespace closes the connection",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    raw.send("40/smcp,");
    await assertRejects(() => raw.text("4"));
  },
);

onEachEngine("a client that never sends CONNECT is closed", async (start) => {
  await using server = await start({ handshakeTimeoutMs: 50 });
  await using raw = await open(server.port);
  await assertRejects(() => raw.text("4"));
});

/** Packets other than CONNECT, and invalid ones. */
const NO_CONNECT = [
  "4",
  "4abc",
  "40/smcp",
  "40/smcp,{",
  "40/smcp,[]",
  '40/smcp,"x"',
  '42/smcp,["x"]',
  '42["x"]',
  "43/smcp,1[]",
  "47/smcp,",
  "4-1/smcp,",
  "abc",
  "9",
];

onEachEngine(
  "any packet before CONNECT closes the connection, or is refused",
  async (start) => {
    await using server = await start();
    for (const packet of NO_CONNECT) {
      await using raw = await open(server.port);
      raw.send(packet);
      const answered = raw.text("4").catch(() => "closed");
      if (packet === "40/smcp") { // "smcp" without its comma is the same namespace
        assertMatch(await answered, /^40\/smcp,/);
      } else assertEquals(await answered, "closed", packet);
    }
  },
);

onEachEngine(
  "DISCONNECT ends the session; CONNECT over the same connection opens another",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    await raw.alive();
    raw.send("41/smcp,");
    while (server.smcp.stats.connections > 0) await turn();
    raw.send("40/smcp,");
    assertMatch(await raw.text("4"), /^40\/smcp,\{"sid"/);
    await raw.alive();
  },
);

onEachEngine(
  "the office is notified of DISCONNECT, over either transport",
  async (start) => {
    await using server = await start();
    await using agent = await RawWebSocket.connect(server.port);
    agent.send(join("agent", "a"));
    await agent.text("43/smcp,0[true");
    await using computer = await RawWebSocket.connect(server.port);
    computer.send(join("computer", "c"));
    await agent.text('42/smcp,["notify:enter_office"');
    computer.send("41/smcp,");
    await agent.text('42/smcp,["notify:leave_office"');

    const polling = await RawPolling.connect(server.url);
    await polling.post(join("computer", "p"));
    await agent.text('42/smcp,["notify:enter_office"');
    await polling.post("41/smcp,");
    await agent.text('42/smcp,["notify:leave_office"');
    await polling.post("1");
  },
);

const join = (role: string, name: string): string =>
  `42/smcp,0["server:join_office",${
    JSON.stringify({ role, name, office_id: "o" })
  }]`;
