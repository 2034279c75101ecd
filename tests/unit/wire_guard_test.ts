import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  guardedParser,
  judgePacket,
} from "../../server/wire/packet_decoder.ts";
import { MAX_ELEMENTS } from "../../server/wire/read_packet.ts";
import { MAX_DEPTH } from "../../server/wire/scan_json.ts";

const nested = (depth: number, open = "[", close = "]") =>
  open.repeat(depth) + close.repeat(depth);

Deno.test("judgePacket() passes exactly 64 open brackets and refuses 65, the packet's own array included", () => {
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

Deno.test("judgePacket() counts what is open at once, not brackets", () => {
  assertEquals(judgePacket(`2["e",[${"[],".repeat(500)}{}]]`), undefined);
});

Deno.test("judgePacket() does not count brackets in strings, whatever is escaped there", () => {
  const brackets = "[".repeat(100);
  for (const text of [`${brackets}`, `\\"${brackets}`, `${brackets}\\\\`]) {
    assertEquals(judgePacket(`2["e","${text}"]`), undefined, text);
  }
  // The backslash is itself escaped: the string ends before the brackets.
  assert(judgePacket(`2["e","\\\\",${nested(64)}]`));
  assertEquals(judgePacket(`2["e","\\\\\\",${nested(64)}"]`), undefined);
});

Deno.test("judgePacket() is not led astray by a quote in the namespace", () => {
  assert(judgePacket(`2/smcp",["e",${nested(100_000)}]`));
});

Deno.test("judgePacket() refuses more elements than a call takes arguments", () => {
  const packet = (count: number) => `3/smcp,1[${"0,".repeat(count - 1)}0]`;
  assertEquals(judgePacket(packet(MAX_ELEMENTS)), undefined);
  assert(judgePacket(packet(MAX_ELEMENTS + 1)));
  assertEquals(judgePacket(`2["e",[${"0,".repeat(5000)}0]]`), undefined);
});

Deno.test("judgePacket() agrees with the nesting that JSON.parse sees", () => {
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

Deno.test("the guarded decoder throws on a refused packet and decodes the others as the stock one", () => {
  const decoder = new guardedParser.Decoder();
  const packets: unknown[] = [];
  decoder.on("decoded", (packet) => packets.push(packet.data));
  decoder.add('2/smcp,["e",{"a":1}]');
  assertThrows(() => decoder.add(`2/smcp,["e",${nested(64)}]`), Error, "64");
  assertEquals(packets, [["e", { a: 1 }]]);
});
