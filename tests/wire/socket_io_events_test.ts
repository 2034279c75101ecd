import { assertEquals, assertMatch } from "@std/assert";
import { RawPolling, SEPARATOR } from "../support/wire/raw_polling.ts";
import { RawWebSocket } from "../support/wire/raw_websocket.ts";
import { LEAVES_TIMER, onEachEngine } from "../support/server/wire_server.ts";

const REQUEST = "server:list_room";

/** An event that is answered, with this id. */
const request = (id: number | string): string =>
  `42/smcp,${id}["${REQUEST}",{}]`;

const idOf = (ack: string): string => /^43\/smcp,(\d+)\[/.exec(ack)?.[1] ?? ack;

onEachEngine(
  "an event with an id is answered by an ACK of that id",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    for (const id of [0, 1, 456, 2 ** 31, 999_999_999_999_999]) {
      raw.send(request(id));
      assertEquals(idOf(await raw.text("43")), String(id));
    }
  },
);

onEachEngine("an event without an id is not answered", async (start) => {
  await using server = await start();
  await using raw = await RawWebSocket.connect(server.port);
  raw.send(`42/smcp,["${REQUEST}",{}]`);
  raw.send(request(7));
  assertEquals(idOf(await raw.text("4")), "7");
});

onEachEngine(
  "events are answered in order, sent one by one or together",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    const ids = Array.from({ length: 20 }, (_, i) => String(i));
    for (const id of ids) raw.send(request(id));
    const answered: string[] = [];
    for (const _ of ids) answered.push(idOf(await raw.text("43")));
    assertEquals(answered, ids);
  },
);

onEachEngine(
  "an event may have further arguments, or no arguments",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    for (
      const [id, args] of ["", ",{}", ",{},1,null", ',[],"x",{"y":[]}']
        .entries()
    ) {
      raw.send(`42/smcp,${id}["${REQUEST}"${args}]`);
      assertEquals(idOf(await raw.text("43")), String(id));
    }
  },
);

onEachEngine("text of any script comes back unchanged", async (start) => {
  await using server = await start();
  await using raw = await RawWebSocket.connect(server.port);
  for (
    const [id, name] of ["é", "汉字", "😀", "\u2028", "\\u0000", "\\ud800"]
      .entries()
  ) {
    raw.send(`42/smcp,${id}["no:${name}"]`);
    assertEquals(idOf(await raw.text("43")), String(id));
  }
});

/** Packets that a connected client must not send. */
const MALFORMED = [
  "4",
  "4abc",
  "42/smcp,",
  "42/smcp,{}",
  "42/smcp,[]",
  "42/smcp,[{}]",
  "42/smcp,[null]",
  '42/smcp,"x"',
  "42/smcp,1",
  '42/smcp,["x"',
  '42/smcp,["x",]',
  '42/smcp,abc["x"]',
  '42/smcp,["connect"]',
  '42/smcp,["disconnect",{}]',
  "43/smcp,1",
  "43/smcp,1{}",
  "44/smcp",
  "47/smcp,",
  '49/smcp,["x"]',
  '42/other,["x"]',
  '42["x"]',
];

onEachEngine(
  "a malformed packet closes only its own connection",
  async (start) => {
    await using server = await start();
    await using other = await RawWebSocket.connect(server.port);
    for (const packet of MALFORMED) {
      await using raw = await RawWebSocket.connect(server.port);
      raw.send(packet);
      raw.send(request(1));
      const answer = await raw.text("4").catch(() => "closed");
      assertEquals(answer, "closed", packet);
      await other.alive();
    }
  },
);

onEachEngine("an unexpected ACK is dropped", async (start) => {
  await using server = await start();
  await using raw = await RawWebSocket.connect(server.port);
  for (
    const ack of ["43/smcp,0[]", "43/smcp,77[{}]", "43/smcp,999999999999[1]"]
  ) {
    raw.send(ack);
  }
  await raw.alive();
});

onEachEngine(
  "one request over polling may carry several packets, which are answered in order",
  async (start) => {
    await using server = await start();
    const raw = await RawPolling.connect(server.url);
    await raw.post([request(1), request(2), request(3)]);
    const answered: string[] = [];
    for (let i = 0; i < 3; i++) answered.push(idOf(await raw.packet("43")));
    assertEquals(answered, ["1", "2", "3"]);
    await raw.post("1");
  },
);

onEachEngine("queued packets are sent in one answer", async (start) => {
  await using server = await start();
  const raw = await RawPolling.connect(server.url);
  await raw.post([request(1), request(2)]);
  await raw.post(request(3));
  const packets = (await raw.get()).body.split(SEPARATOR);
  assertEquals(packets.map(idOf), ["1", "2", "3"]);
  await raw.post("1");
});

onEachEngine(
  "a malformed packet in a batch ends the session",
  async (start) => {
    await using server = await start();
    for (const bad of ["4abc", "42/smcp,{}", "abc", ""]) {
      const raw = await RawPolling.connect(server.url);
      const waiting = raw.get();
      await raw.post([request(1), bad, request(2)]);
      await waiting;
      let last = await raw.get();
      for (let i = 0; i < 3 && last.status === 200; i++) last = await raw.get();
      assertEquals(last.status, 400, bad);
    }
  },
  LEAVES_TIMER,
);

onEachEngine(
  "two concurrent requests of one kind end a session over polling",
  async (start) => {
    await using server = await start();
    const raw = await RawPolling.connect(server.url);
    const answers = await Promise.all([raw.get(), raw.get()]);
    assertEquals(answers.some(({ status }) => status === 400), true);
    assertEquals((await raw.post("3")).status, 400);
  },
);

onEachEngine(
  "a body over the limit is answered with 413, a binary one with 400",
  async (start) => {
    await using server = await start({ maxMessageBytes: 2048 });
    const raw = await RawPolling.connect(server.url);
    const big = await raw.post(`42/smcp,["x","${"x".repeat(3000)}"]`);
    assertEquals(big.status, 413);
    const bytes = await raw.post(request(1), "application/octet-stream");
    assertEquals(bytes.status, 400);
  },
  LEAVES_TIMER,
);

onEachEngine(
  "both sides of a call may use any transport",
  async (start) => {
    await using server = await start();
    await using agent = await RawWebSocket.connect(server.port);
    const computer = await RawPolling.connect(server.url);
    const join = (role: string) =>
      `42/smcp,0["server:join_office",{"role":"${role}","name":"${role}","office_id":"o"}]`;
    agent.send(join("agent"));
    await agent.text("43/smcp,0[true");
    await computer.post(join("computer"));
    await computer.packet("43/smcp,0[true");
    agent.send(
      '42/smcp,5["client:tool_call",{"agent":"agent","req_id":"r","computer":"computer","tool_name":"t","params":{"a":[1]},"timeout":5}]',
    );
    const call = await computer.packet("42/smcp,");
    const [, id, args] = /^42\/smcp,(\d+)(\[.*)$/.exec(call) ?? [];
    assertEquals(JSON.parse(args ?? "null")[1].params, { a: [1] });
    await computer.post(`43/smcp,${id}[{"content":[],"isError":false}]`);
    assertMatch(await agent.text("43/smcp,5"), /^43\/smcp,5\[\{"content":\[\]/);
    await computer.post("1");
  },
);
