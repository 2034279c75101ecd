/**
 * Packets of Socket.IO, byte by byte, on both engines: CONNECT and DISCONNECT, events and their acks,
 * attachments.
 *
 * @module
 */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Buffer } from "node:buffer";
import { LEAVES_TIMER, onEachEngine } from "../support/server/wire_server.ts";
import { RawPolling, SEPARATOR } from "../support/wire/raw_polling.ts";
import { OP, RawWebSocket } from "../support/wire/raw_websocket.ts";

const open = async (port: number): Promise<RawWebSocket> => {
  const raw = await RawWebSocket.open(port);
  await raw.text("0{");
  return raw;
};

const bodyOf = (packet: string): Record<string, unknown> =>
  JSON.parse(packet.slice(packet.indexOf("{")));

/** An event that is answered, with this id. */
const request = (id: number | string): string =>
  `42/smcp,${id}["server:list_room",{}]`;

const idOf = (ack: string): string => /^43\/smcp,(\d+)\[/.exec(ack)?.[1] ?? ack;

const join = (role: string): string =>
  `42/smcp,0["server:join_office",{"role":"${role}","name":"${role}","office_id":"o"}]`;

/** A member of the office on a WebSocket. */
async function joined(port: number, role: string): Promise<RawWebSocket> {
  const raw = await RawWebSocket.connect(port);
  raw.send(join(role));
  await raw.text("43/smcp,0[true");
  return raw;
}

onEachEngine(
  "CONNECT is answered by CONNECT with an id of its own, with or without a payload",
  async ({ url, port }) => {
    await using raw = await RawWebSocket.open(port);
    const engine = bodyOf(await raw.text("0{"));
    raw.send("40/smcp,");
    const { sid, ...rest } = bodyOf(await raw.text("40/smcp,"));
    assertMatch(String(sid), /^[\w-]{20}$/);
    assertEquals([rest, sid === engine.sid], [{}, false]);
    await using second = await open(port);
    second.send('40/smcp,{"role":"agent"}');
    assertMatch(await second.text("4"), /^40\/smcp,\{"sid"/);
    const polling = await RawPolling.open(url);
    assertEquals(await polling.post("40/smcp,"), { status: 200, body: "ok" });
    assertMatch(await polling.packet("40"), /^40\/smcp,\{"sid":"[\w-]{20}"/);
    await polling.post("1");
  },
);

onEachEngine(
  "CONNECT to any other namespace is answered by CONNECT_ERROR, and the connection stays open",
  async ({ port }) => {
    await using raw = await open(port);
    for (const namespace of ["", "/other", "/smc", "/smcp2", "/__proto__"]) {
      raw.send(`40${namespace}${namespace && ","}`);
      const answer = await raw.text("44");
      const expected = `44${namespace}${namespace && ","}{"message":`;
      assertEquals(answer.slice(0, expected.length), expected);
    }
    raw.send("40/smcp,");
    await raw.text("40/smcp,{");
  },
);

onEachEngine(
  "CONNECT whose payload is refused is answered by CONNECT_ERROR",
  async ({ port }) => {
    await using raw = await open(port);
    raw.send('40/smcp,{"api_key":"wrong"}');
    const { message, data } = bodyOf(await raw.text("44/smcp,"));
    assertEquals([typeof message, Object(data).code], ["string", 401]);
  },
  { authenticator: { authenticate: () => ({ refused: "not today" }) } },
);

onEachEngine(
  "a client that never sends CONNECT is closed",
  async ({ port }) => {
    await using raw = await open(port);
    await assertRejects(() => raw.text("4"));
  },
  { handshakeTimeoutMs: 50 },
);

/** Packets that nobody may send, before CONNECT or after it. */
const MALFORMED = [
  ...["4", "4abc", "42/smcp,", "42/smcp,{}", "42/smcp,[]", "42/smcp,[{}]"],
  ...["42/smcp,[null]", '42/smcp,"x"', "42/smcp,1", '42/smcp,["x"'],
  ...['42/smcp,["x",]', '42/smcp,abc["x"]', '42/smcp,["connect"]'],
  ...['42/smcp,["disconnect",{}]', "43/smcp,1", "43/smcp,1{}", "44/smcp"],
  ...["47/smcp,", '49/smcp,["x"]', '42/other,["x"]', '42["x"]'],
];

onEachEngine(
  "a malformed packet, or one out of place, closes only its own connection",
  async ({ port }) => {
    await using other = await RawWebSocket.connect(port);
    const assertCloses = async (
      opened: Promise<RawWebSocket>,
      packet: string,
      next: string,
    ) => {
      await using raw = await opened;
      raw.send(packet);
      raw.send(next);
      const answer = await raw.text("4").catch(() => "closed");
      assertEquals(answer, "closed", packet);
      await other.alive();
    };
    for (const packet of [...MALFORMED, "40/smcp,"]) {
      await assertCloses(RawWebSocket.connect(port), packet, request(1));
    }
    const early = ["40/smcp,{", "40/smcp,[]", '40/smcp,"x"', "4-1/smcp,"]
      .concat("abc", "9", '42/smcp,["x"]', "43/smcp,1[]", MALFORMED);
    for (const packet of early) {
      await assertCloses(open(port), packet, "40/smcp,");
    }
    await using raw = await open(port);
    raw.send("40/smcp"); // without its comma it is the same namespace
    assertMatch(await raw.text("4"), /^40\/smcp,/);
  },
);

onEachEngine(
  "DISCONNECT ends the session; CONNECT over the same connection opens another",
  async ({ port, smcp }) => {
    await using raw = await RawWebSocket.connect(port);
    await raw.alive();
    raw.send("41/smcp,");
    while (smcp.stats.connections > 0) {
      await new Promise<void>((resolve) => setTimeout(resolve, 0));
    }
    raw.send("40/smcp,");
    assertMatch(await raw.text("4"), /^40\/smcp,\{"sid"/);
    await raw.alive();
  },
);

onEachEngine(
  "the office is notified of DISCONNECT, over either transport",
  async ({ url, port }) => {
    await using agent = await joined(port, "agent");
    await using computer = await joined(port, "computer");
    await agent.text('42/smcp,["notify:enter_office"');
    computer.send("41/smcp,");
    await agent.text('42/smcp,["notify:leave_office"');

    const polling = await RawPolling.connect(url);
    await polling.post(join("computer"));
    await agent.text('42/smcp,["notify:enter_office"');
    await polling.post("41/smcp,");
    await agent.text('42/smcp,["notify:leave_office"');
    await polling.post("1");
  },
);

/** Events with their ids; nothing else is answered. */
const EVENTS: [packet: string, id?: string][] = [
  ...["0", "1", "456", "2147483648", "999999999999999"]
    .map((id): typeof EVENTS[number] => [request(id), id]),
  [request("")],
  ...["", ",{}", ",{},1,null", ',[],"x",{"y":[]}']
    .map((args, id): typeof EVENTS[number] => [
      `42/smcp,${id}["server:list_room"${args}]`,
      String(id),
    ]),
  ...["é", "汉字", "😀", "\u2028", "\\u0000", "\\ud800"]
    .map((name, id): typeof EVENTS[number] => [
      `42/smcp,${id}["no:${name}"]`,
      String(id),
    ]),
  ...["43/smcp,0[]", "43/smcp,77[{}]", "43/smcp,999999999999[1]"]
    .map((ack): typeof EVENTS[number] => [ack]),
  [request(7), "7"],
];

onEachEngine(
  "events are answered in order by an ACK of their id; those without one, and ACKs, are not",
  async ({ port }) => {
    await using raw = await RawWebSocket.connect(port);
    for (const [packet] of EVENTS) raw.send(packet);
    for (const [packet, id] of EVENTS) {
      if (id !== undefined) assertEquals(idOf(await raw.text("4")), id, packet);
    }
  },
);

onEachEngine(
  "packets in one request are answered in order, and queued answers sent in one",
  async ({ url }) => {
    const raw = await RawPolling.connect(url);
    await raw.post([request(1), request(2)]);
    await raw.post(request(3));
    const packets = (await raw.get()).body.split(SEPARATOR);
    assertEquals(packets.map(idOf), ["1", "2", "3"]);
    await raw.post("1");
  },
);

onEachEngine(
  "a malformed packet in a batch ends the session",
  async ({ url }) => {
    for (const bad of ["4abc", "42/smcp,{}", "abc", ""]) {
      const raw = await RawPolling.connect(url);
      const waiting = raw.get();
      await raw.post([request(1), bad, request(2)]);
      await waiting;
      let last = await raw.get();
      for (let i = 0; i < 3 && last.status === 200; i++) last = await raw.get();
      assertEquals(last.status, 400, bad);
    }
  },
  {},
  LEAVES_TIMER,
);

onEachEngine(
  "a body over the limit is answered with 413, a binary one with 400",
  async ({ url }) => {
    const raw = await RawPolling.connect(url);
    const big = await raw.post(`42/smcp,["x","${"x".repeat(3000)}"]`);
    const bytes = await raw.post(request(1), "application/octet-stream");
    assertEquals([big.status, bytes.status], [413, 400]);
  },
  { maxMessageBytes: 2048 },
  LEAVES_TIMER,
);

const place = (num: unknown) => ({ _placeholder: true, num });

/** An Agent's call with these parameters, without its head. */
const call = (params: unknown): string =>
  JSON.stringify(["client:tool_call", {
    agent: "agent",
    req_id: crypto.randomUUID(),
    computer: "computer",
    tool_name: "t",
    params,
    timeout: 5,
  }]);

/** The answer to a call, with an attachment. */
const attached = (id: string): string =>
  `461-/smcp,${id}[{"content":[${JSON.stringify(place(0))}]}]`;

/** The next bytes. */
async function bytesOf(raw: RawWebSocket): Promise<number[]> {
  while (true) {
    const { opcode, payload } = await raw.frame();
    if (opcode === OP.binary) return [...payload];
  }
}

/** The head of a packet, its id, and its payload. */
function split(packet: string): { head: string; id: string; data: unknown[] } {
  const [, head = "", id = "", json = "null"] =
    /^4(\d\d*-?)\/smcp,(\d*)(\[.*)$/s.exec(packet) ?? [];
  return { head, id, data: JSON.parse(json) };
}

onEachEngine(
  "an event with attachments reaches the other side with them, and so does the ACK",
  async ({ port }) => {
    await using agent = await joined(port, "agent");
    await using computer = await joined(port, "computer");
    const params = { a: place(0), b: [place(1)] };
    for (const size of [0, 125, 126, 65_535, 65_536, 500_000]) {
      agent.send(`452-/smcp,5${call(params)}`);
      agent.send(Buffer.from([4, 0, 255]));
      agent.send(Buffer.alloc(size, 7));
      const { head, id, data } = split(await computer.text("45"));
      assertEquals([head, Object(data[1]).params], ["52-", params]);
      assertEquals(await bytesOf(computer), [4, 0, 255]);
      const bytes = await bytesOf(computer);
      assertEquals([bytes.length, bytes.every((byte) => byte === 7)], [
        size,
        true,
      ]);
      computer.send(attached(id));
      computer.send(Buffer.from([1, 2]));
      const answer = split(await agent.text("46"));
      assertEquals([answer.head, answer.id], ["61-", "5"]);
      assertEquals(await bytesOf(agent), [1, 2]);
    }
  },
);

onEachEngine(
  "calls pass between transports, with attachments in Base64 after a b over polling",
  async ({ url, port }) => {
    await using agent = await joined(port, "agent");
    const computer = await RawPolling.connect(url);
    await computer.post(join("computer"));
    await computer.packet("43/smcp,0[true");
    agent.send(`42/smcp,5${call({ a: [1] })}`);
    const plain = split(await computer.packet("42/smcp,"));
    assertEquals(Object(plain.data[1]).params, { a: [1] });
    await computer.post(`43/smcp,${plain.id}[{"content":[],"isError":false}]`);
    assertMatch(await agent.text("43/smcp,5"), /^43\/smcp,5\[\{"content":\[\]/);

    agent.send(`451-/smcp,5${call({ a: place(0) })}`);
    agent.send(Buffer.from([1, 2, 3, 4]));
    const { id } = split(await computer.packet("45"));
    assertEquals(await computer.packet("b"), "bAQIDBA==");
    await computer.post([attached(id), "bAQIDBA=="]);
    await agent.text("461-/smcp,5[");
    assertEquals(await bytesOf(agent), [1, 2, 3, 4]);
    await computer.post("1");
  },
);

const withPlace = (num: unknown) =>
  `451-/smcp,1["x",${JSON.stringify(place(num))}]`;

/** Invalid messages in place of an attachment, or superfluous ones. */
const MISPLACED: [name: string, ...messages: (string | Buffer)[]][] = [
  ["an attachment of nothing", Buffer.of(1)],
  ["text instead of an attachment", withPlace(0), '42/smcp,2["x",{}]'],
  ["a placeholder without an attachment", withPlace(1), Buffer.of(1)],
  ["a placeholder that is no number", withPlace("0"), Buffer.of(1)],
  ["a count that is no number", '45x-/smcp,1["x"]'],
  ["a count that is missing", '45-/smcp,1["x"]'],
  ["one attachment too many", withPlace(0), Buffer.of(1), Buffer.of(2)],
];

onEachEngine(
  "misplaced attachments close only their sender",
  async ({ port }) => {
    await using other = await RawWebSocket.connect(port);
    for (const [name, ...messages] of MISPLACED) {
      await using raw = await RawWebSocket.connect(port);
      for (const message of messages) raw.send(message);
      const answer = raw.text("43/smcp,999").catch(() => "closed");
      raw.send(request(999));
      assertEquals(await answer, "closed", name);
      await other.alive();
    }
  },
);
