import fc from "fast-check";
import type { Packet } from "socket.io-parser";
import { assert, assertEquals } from "@std/assert";
import { setImmediate } from "node:timers";
import {
  guardedParser,
  judgeHead,
  judgePacket,
  judgePlaceholders,
  PacketTurns,
} from "../../../../server/wire/packet_decoder.ts";
import { MAX_DEPTH } from "../../../../server/wire/script_scanner.ts";
import { MAX_ELEMENTS } from "../../../../server/wire/text_packet.ts";

const nested = (depth: number, open = "[", close = "]") =>
  open.repeat(depth) + close.repeat(depth);

Deno.test("judgePacket() accepts 64 levels of nesting and refuses 65, including the packet's own array", () => {
  for (const head of ["2", "2/smcp,", "2/smcp,17", "3/smcp,9", "52-/smcp,1"]) {
    const event = head.startsWith("3") ? "" : '"e",';
    const packet = (depth: number) => `${head}[${event}${nested(depth - 1)}]`;
    assertEquals(judgePacket(packet(MAX_DEPTH)), undefined);
    assert(judgePacket(packet(MAX_DEPTH + 1)));
  }
  const objects = (depth: number) =>
    `2/smcp,["e",${'{"a":'.repeat(depth - 1)}1${"}".repeat(depth - 1)}]`;
  assertEquals(judgePacket(objects(MAX_DEPTH)), undefined);
  assert(judgePacket(objects(MAX_DEPTH + 1)));
  assert(judgePacket(`0/smcp,${objects(70).slice(12)}`), "connect packets too");
});

Deno.test("judgePacket() counts the nesting, not the brackets", () => {
  assertEquals(judgePacket(`2["e",[${"[],".repeat(500)}{}]]`), undefined);
});

Deno.test("judgePacket() does not count brackets in strings, with any escapes", () => {
  const brackets = "[".repeat(100);
  for (const text of [`${brackets}`, `\\"${brackets}`, `${brackets}\\\\`]) {
    assertEquals(judgePacket(`2["e","${text}"]`), undefined, text);
  }
  // The backslash is itself escaped: the string ends before the brackets.
  assert(judgePacket(`2["e","\\\\",${nested(64)}]`));
  assertEquals(judgePacket(`2["e","\\\\\\",${nested(64)}"]`), undefined);
});

Deno.test("judgePacket() ignores a quote in the namespace", () => {
  assert(judgePacket(`2/smcp",["e",${nested(100_000)}]`));
});

Deno.test("judgePacket() refuses more elements than a call can have arguments", () => {
  const packet = (count: number) => `3/smcp,1[${"0,".repeat(count - 1)}0]`;
  assertEquals(judgePacket(packet(MAX_ELEMENTS)), undefined);
  assert(judgePacket(packet(MAX_ELEMENTS + 1)));
  assertEquals(judgePacket(`2["e",[${"0,".repeat(5000)}0]]`), undefined);
});

Deno.test("judgePacket() agrees with the nesting that JSON.parse finds", () => {
  const depthOf = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
      : 0;
  fc.assert(fc.property(
    fc.jsonValue({ maxDepth: 8 }),
    fc.nat(70),
    fc.string(),
    (value, wraps, text) => {
      let inner: unknown = [value, text];
      for (let i = 0; i < wraps; i++) {
        inner = i % 2 ? [inner] : { [text]: inner };
      }
      const data = ["event", inner];
      assertEquals(
        judgePacket(`2/smcp,4${JSON.stringify(data)}`) === undefined,
        depthOf(data) <= MAX_DEPTH,
      );
    },
  ));
});

/** A connection's decoder, with its results. */
function guarded(judge: (packet: unknown) => string | undefined = () => {}) {
  const refused: string[] = [];
  const held: boolean[] = [];
  const { Decoder } = guardedParser(() => ({
    judge,
    refuse: (reason) => refused.push(reason),
    hold: (now) => held.push(now),
  }));
  const decoder = new Decoder();
  const packets: unknown[] = [];
  decoder.on("decoded", ({ data }: Packet) => packets.push(data));
  return { decoder, packets, refused, held };
}

Deno.test("the guarded decoder refuses packets with a reason, and decodes others like the stock one", () => {
  const { decoder, packets, refused } = guarded((packet) =>
    packet === '2/smcp,["no"]' ? "not now" : undefined
  );
  decoder.add('2/smcp,["e",{"a":1}]');
  decoder.add(`2/smcp,["e",${nested(64)}]`);
  decoder.add('2/smcp,["no"]');
  decoder.add("2/smcp,{");
  assertEquals(packets, [["e", { a: 1 }]]);
  assertEquals(refused, [
    "more than 64 open brackets at once",
    "not now",
    "invalid payload",
  ]);
});

Deno.test("judgeHead() accepts existing types, and at most ten attachments", () => {
  for (const type of ["0", "1", "2", "3", "4", "51-", "610-"]) {
    assertEquals(judgeHead(`${type}/smcp,`), undefined, type);
  }
  for (
    const head of [" ", "", "7", "-1", "x", "\t", "\u00a0", "\u0662", "5", "5-"]
      .concat("5 1-", "5x1-", "50x1-", "511-", "599999999999999999999-")
  ) {
    assert(judgeHead(`${head}/smcp,["e"]`), head);
  }
});

Deno.test("judgePlaceholders() accepts each attachment once, at any position", () => {
  const at = (num: unknown) => ({ _placeholder: true, num });
  assertEquals(judgePlaceholders(["e", at(0), { a: [at(1)] }], 2), undefined);
  assertEquals(judgePlaceholders(["e"], 2), undefined);
  assertEquals(
    judgePlaceholders(["e", { _placeholder: "true", num: 9 }], 1),
    undefined,
    "no placeholder for any client",
  );
  for (const num of [1, -1, 0.5, "0", null, undefined, "__proto__"]) {
    assert(judgePlaceholders(["e", at(num)], 1), String(num));
  }
  assert(judgePlaceholders(["e", at(0), [at(0)]], 2));
});

Deno.test("a connection handles a hundred packets per turn, and others in later turns, in order", async () => {
  const { decoder, packets, refused, held } = guarded();
  for (let i = 0; i < 250; i++) decoder.add(`2[${i}]`);
  assertEquals(packets.length, 100);
  await immediate();
  assertEquals(packets.length, 200);
  decoder.add("2[250]");
  await immediate();
  assertEquals(packets, Array.from({ length: 251 }, (_, i) => [i]));
  decoder.add("2[251]");
  assertEquals(packets.length, 252);
  assertEquals(refused, []);
  assertEquals(held, [true, false], "nothing more is read meanwhile");
});

Deno.test("packets beyond the queue's limit are refused, and queued ones are dropped when the connection ends", async () => {
  const { decoder, packets, refused } = guarded();
  for (let i = 0; i < 100 + 10_000; i++) decoder.add("2[0]");
  assertEquals(refused, []);
  decoder.add("2[0]");
  assertEquals(refused, ["more than 10000 packets at once"]);
  decoder.destroy();
  await immediate();
  assertEquals(packets.length, 100);
});

const immediate = () => new Promise<void>((resolve) => setImmediate(resolve));

const PACKETS = 1000;

/** Resolves after the packets of one turn of the event loop. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("PacketTurns: many connections that are behind share each turn, so that others wait for one share", async () => {
  const handled = Array.from({ length: 20 }, (): unknown[] => []);
  const held = new Set<number>();
  handled.forEach((list, index) => {
    const turns = new PacketTurns(
      (packet) => list.push(packet),
      (isHeld) => isHeld ? held.add(index) : held.delete(index),
    );
    for (let packet = 0; packet < PACKETS; packet++) turns.wait(packet);
  });
  assertEquals(held.size, handled.length);

  const total = () => handled.reduce((sum, list) => sum + list.length, 0);
  let most = 0;
  while (held.size > 0) {
    const before = total();
    await nextTurn();
    most = Math.max(most, total() - before);
    const lengths = handled.map((list) => list.length);
    assert(
      Math.max(...lengths) - Math.min(...lengths) <= 100,
      "each has its turn",
    );
  }
  assert(most <= 200, `${most} packets in one turn`);
  const all = Array.from({ length: PACKETS }, (_, packet) => packet);
  for (const list of handled) assertEquals(list, all);
});

Deno.test("PacketTurns: one that ends leaves the turns to the others", async () => {
  const handled: string[] = [];
  const connections = ["a", "b"].map((name) => {
    const turns: PacketTurns = new PacketTurns((packet) => {
      handled.push(`${name}${packet}`);
      if (name === "a") turns.end(); // its packet closed it
    }, () => {});
    return turns;
  });
  for (const turns of connections) {
    for (const packet of [1, 2]) turns.wait(packet);
  }
  await nextTurn();
  assertEquals(handled, ["a1", "b1", "b2"]);
  const [, b] = connections;
  b?.wait(3);
  b?.end();
  b?.wait(4);
  await nextTurn();
  assertEquals(handled.slice(3), ["b4"]);
});
