import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { RawPolling } from "../support/wire/raw_polling.ts";
import { OP, RawWebSocket } from "../support/wire/raw_websocket.ts";
import { onEachEngine } from "../support/server/wire_server.ts";

const placeholder = (num: number) => ({ _placeholder: true, num });

const join = (role: string): string =>
  `42/smcp,0["server:join_office",{"role":"${role}","name":"${role}","office_id":"o"}]`;

/** An Agent's call with these parameters, without its head. */
const call = (params: unknown): string =>
  `["client:tool_call",${
    JSON.stringify({
      agent: "agent",
      req_id: crypto.randomUUID(),
      computer: "computer",
      tool_name: "t",
      params,
      timeout: 5,
    })
  }]`;

/** A member of the office on a WebSocket. */
async function joined(port: number, role: string): Promise<RawWebSocket> {
  const raw = await RawWebSocket.connect(port);
  raw.send(join(role));
  await raw.text("43/smcp,0[true");
  return raw;
}

/** The next bytes. */
async function bytesOf(raw: RawWebSocket): Promise<Buffer> {
  while (true) {
    const { opcode, payload } = await raw.frame();
    if (opcode === OP.binary) return payload;
  }
}

/** A packet that has attachments: its type, their count, its id, and its payload. */
function split(packet: string): { head: string; id: string; data: unknown[] } {
  const [, head = "", id = "", json = "null"] =
    /^4(\d\d*-?)\/smcp,(\d*)(\[.*)$/s.exec(packet) ?? [];
  return { head, id, data: JSON.parse(json) };
}

onEachEngine(
  "an event with attachments reaches the other side with them, and so does the ACK",
  async (start) => {
    await using server = await start();
    await using agent = await joined(server.port, "agent");
    await using computer = await joined(server.port, "computer");
    agent.send(
      `452-/smcp,5${call({ a: placeholder(0), b: [placeholder(1)] })}`,
    );
    agent.send(Buffer.from([1, 2, 3]));
    agent.send(Buffer.from([4, 0, 255]));

    const { head, id, data } = split(await computer.text("45"));
    assertEquals(head, "52-");
    assertEquals(Object(data[1]).params, {
      a: placeholder(0),
      b: [placeholder(1)],
    });
    assertEquals([...await bytesOf(computer)], [1, 2, 3]);
    assertEquals([...await bytesOf(computer)], [4, 0, 255]);

    computer.send(
      `461-/smcp,${id}[{"content":[${JSON.stringify(placeholder(0))}]}]`,
    );
    computer.send(Buffer.from("bytes"));
    const answer = split(await agent.text("46"));
    assertEquals([answer.head, answer.id], ["61-", "5"]);
    assertEquals((await bytesOf(agent)).toString(), "bytes");
  },
);

onEachEngine(
  "attachments pass over polling, in Base64 after a b",
  async (start) => {
    await using server = await start();
    await using agent = await joined(server.port, "agent");
    const computer = await RawPolling.connect(server.url);
    await computer.post(join("computer"));
    await computer.packet("43/smcp,0[true");
    agent.send(`451-/smcp,5${call({ a: placeholder(0) })}`);
    agent.send(Buffer.from([1, 2, 3, 4]));

    const { id } = split(await computer.packet("45"));
    assertEquals(await computer.packet("b"), "bAQIDBA==");
    await computer.post([
      `461-/smcp,${id}[{"content":[${JSON.stringify(placeholder(0))}]}]`,
      "bAQIDBA==",
    ]);
    await agent.text("461-/smcp,5[");
    assertEquals([...await bytesOf(agent)], [1, 2, 3, 4]);
    await computer.post("1");
  },
);

onEachEngine("attachments may be empty, and large", async (start) => {
  await using server = await start();
  await using agent = await joined(server.port, "agent");
  await using computer = await joined(server.port, "computer");
  for (const size of [0, 125, 126, 65_535, 65_536, 2_000_000]) {
    agent.send(`451-/smcp,5${call({ a: placeholder(0) })}`);
    agent.send(Buffer.alloc(size, 7));
    const { id } = split(await computer.text("45"));
    assertEquals((await bytesOf(computer)).equals(Buffer.alloc(size, 7)), true);
    computer.send(`43/smcp,${id}[{"content":[]}]`);
    await agent.text("43/smcp,5[");
  }
});

/** Invalid messages in place of an attachment, or superfluous ones. */
const MISPLACED: [what: string, messages: (string | Buffer)[]][] = [
  ["an attachment of nothing", [Buffer.from([1])]],
  ["text instead of an attachment", [
    `451-/smcp,1["x",{"_placeholder":true,"num":0}]`,
    '42/smcp,2["x",{}]',
  ]],
  ["a placeholder without an attachment", [
    `451-/smcp,1["x",{"_placeholder":true,"num":1}]`,
    Buffer.from([1]),
  ]],
  ["a placeholder that is no number", [
    `451-/smcp,1["x",{"_placeholder":true,"num":"0"}]`,
    Buffer.from([1]),
  ]],
  ["a count that is no number", ['45x-/smcp,1["x"]']],
  ["a count that is missing", ['45-/smcp,1["x"]']],
  ["one attachment too many", [
    `451-/smcp,["x",{"_placeholder":true,"num":0}]`,
    Buffer.from([1]),
    Buffer.from([2]),
  ]],
];

onEachEngine(
  "misplaced attachments close only their sender",
  async (start) => {
    await using server = await start();
    await using other = await RawWebSocket.connect(server.port);
    for (const [what, messages] of MISPLACED) {
      await using raw = await RawWebSocket.connect(server.port);
      for (const message of messages) raw.send(message);
      const answer = raw.text("43/smcp,999").catch(() => "closed");
      raw.send('42/smcp,999["server:list_room",{}]');
      assertEquals(await answer, "closed", what);
      await other.alive();
    }
  },
);
