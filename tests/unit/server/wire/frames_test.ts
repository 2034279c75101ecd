import fc from "fast-check";
import type { Packet } from "socket.io-parser";
import { Buffer } from "node:buffer";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { setImmediate } from "node:timers/promises";
import {
  FrameError,
  FrameReader,
  jsonFrame,
  Opcode,
  textFrame,
  unmask,
} from "../../../../server/wire/frames.ts";
import {
  guardedParser,
  judgeHead,
  judgePacket,
  judgePlaceholders,
} from "../../../../server/wire/packet_decoder.ts";
import { MAX_DEPTH } from "../../../../server/wire/script_scanner.ts";
import { JsonText, MAX_ELEMENTS } from "../../../../server/wire/json_text.ts";
import { clientFrame } from "../../../support/wire/raw_websocket.ts";

interface Read {
  opcode: number;
  payload: string;
}

/** Reads bytes in chunks of these sizes, over and over. */
function read(bytes: Buffer, sizes: readonly number[], max = 2 ** 24): Read[] {
  const found: Read[] = [];
  const reader = new FrameReader({
    maxPayload: max,
    message: ({ bytes, start, end }, isText) =>
      found.push({
        opcode: isText ? Opcode.TEXT : Opcode.BINARY,
        payload: bytes.toString("latin1", start, end),
      }),
    control: (opcode, payload) =>
      found.push({ opcode, payload: payload.toString("latin1") }),
  });
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!;
    reader.push(Buffer.from(bytes.subarray(at, at + size)));
    at += size;
  }
  return found;
}

const NOTHING = { large: [], mayBeError: false };

const codeOf = (act: () => unknown): number =>
  assertThrows(act, FrameError).code;

Deno.test("unmask() removes any mask from any range of bytes (RFC 6455 §5.3)", () => {
  fc.assert(fc.property(
    fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.integer({ min: 4090, max: 4120 }).map((length) =>
        Uint8Array.from({ length }, (_, i) => i * 7)
      ),
    ),
    fc.nat(8),
    fc.integer(),
    (payload, before, mask) => {
      const bytes = Buffer.concat([Buffer.alloc(before, 7), payload]);
      const key = Buffer.alloc(4);
      key.writeInt32LE(mask);
      unmask(bytes, before, bytes.length, mask);
      assertEquals(
        [...bytes.subarray(before)],
        [...payload].map((byte, i) => byte ^ key[i & 3]!),
      );
      assert(bytes.subarray(0, before).every((byte) => byte === 7));
    },
  ));
});

Deno.test("FrameReader reads the same messages regardless of chunk boundaries", () => {
  const lengths = fc.constantFrom(
    126,
    4095,
    4096,
    65_535,
    65_536,
    200_000,
    524_288,
  );
  const byte = fc.nat(255);
  const frame = fc.record({
    opcode: fc.constantFrom(1, 2, 9),
    length: fc.oneof(fc.nat(125), lengths),
    mask: fc.tuple(byte, byte, byte, byte),
  });
  const size = fc.integer({ min: 1, max: 70_000 });
  fc.assert(
    fc.property(
      fc.array(frame, { minLength: 1, maxLength: 5 }),
      fc.array(size, { minLength: 1, maxLength: 4 }),
      (frames, sizes) => {
        const sent = frames.map(({ opcode, length }, i) => ({
          opcode,
          payload: String.fromCharCode(65 + i)
            .repeat(opcode === 9 ? length % 126 : length),
        }));
        const bytes = Buffer.concat(sent.map(({ opcode, payload }, i) => {
          const { mask } = frames[i]!;
          return clientFrame(opcode, Buffer.from(payload), { mask });
        }));
        const isSmall = bytes.length < 5000;
        const chunks = sizes.map((size) => isSmall ? size % 7 + 1 : size);
        assertEquals(read(bytes, chunks), sent);
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("FrameReader frees a chunk of which all is copied, and no other", () => {
  const messages: string[] = [];
  const reader = new FrameReader({
    maxPayload: 2 ** 20,
    message: ({ bytes, start, end }) =>
      messages.push(
        `${bytes.toString("latin1", start, start + 1)}${end - start}`,
      ),
    control() {},
  });
  const isFreed = (...parts: Uint8Array[]) => {
    const own = Buffer.from(Uint8Array.from(Buffer.concat(parts)).buffer);
    reader.push(own);
    return own.length === 0;
  };
  const small = clientFrame(Opcode.TEXT, Buffer.alloc(10, "s"));
  const large = clientFrame(Opcode.TEXT, Buffer.alloc(9000, "l"));
  const head = large.subarray(0, 5000);
  const middle = large.subarray(5000, 8000);
  const tail = large.subarray(8000);
  const freed = [isFreed(small), isFreed(small, small)];
  freed.push(isFreed(head), isFreed(middle), isFreed(tail));
  // A message of the same chunk may still be on its way.
  freed.push(isFreed(small, head), isFreed(middle, tail, small));
  // A part of a larger buffer is not the reader's to free.
  const shared = Buffer.concat([Buffer.alloc(10), head]);
  reader.push(shared.subarray(10));
  freed.push(shared.length === 0);
  freed.push(isFreed(middle), isFreed(tail), isFreed(small.subarray(0, 3)));
  freed.push(isFreed(small.subarray(3)));
  const expected = [0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0];
  assertEquals(freed.map(Number), expected);
  assertEquals(messages.join(" "), "s10 s10 s10 l9000 s10 l9000 s10 l9000 s10");
});

const MORE = { fin: false };
const { TEXT, CONTINUATION, PING } = Opcode;

Deno.test("FrameReader joins fragments, with control frames between them that do not count (RFC 6455 §5.4)", () => {
  const whole = "0123456789".repeat(10);
  const bytes = Buffer.concat([
    clientFrame(TEXT, Buffer.from(whole.slice(0, 55)), MORE),
    clientFrame(CONTINUATION, Buffer.alloc(0), MORE),
    clientFrame(CONTINUATION, Buffer.from(whole.slice(55)), MORE),
    clientFrame(PING, Buffer.from("ping")),
    clientFrame(CONTINUATION, Buffer.alloc(0)),
    clientFrame(Opcode.BINARY, Buffer.from("next")),
  ]);
  for (const size of [1, 3, 1000]) {
    assertEquals(read(bytes, [size], 100), [
      { opcode: PING, payload: "ping" },
      { opcode: TEXT, payload: whole },
      { opcode: Opcode.BINARY, payload: "next" },
    ]);
  }
});

Deno.test("FrameReader refuses invalid frames, with the code of RFC 6455 §7.4", () => {
  const text = Buffer.from("text");
  const of60 = Buffer.alloc(60);
  const reserved = clientFrame(TEXT, text);
  reserved[0]! |= 0x40;
  const rows: [code: number, ...frames: Buffer[]][] = [
    [1002, textFrame("text")], // unmasked
    [1002, reserved],
    [1002, clientFrame(0x3, text)],
    [1002, clientFrame(0xb, text)],
    [1002, clientFrame(CONTINUATION, text)],
    [1002, clientFrame(PING, text, MORE)],
    [1002, clientFrame(PING, Buffer.alloc(126))],
    [1002, clientFrame(TEXT, text, MORE), clientFrame(TEXT, text)],
    [1009, clientFrame(TEXT, Buffer.alloc(101))],
    [1009, clientFrame(TEXT, of60, MORE), clientFrame(CONTINUATION, of60)],
  ];
  for (const [code, ...frames] of rows) {
    for (const size of [1, 1000]) {
      const bytes = Buffer.concat(frames);
      assertEquals(codeOf(() => read(bytes, [size], 100)), code, `${frames}`);
    }
  }
  const more = clientFrame(CONTINUATION, Buffer.alloc(0), MORE);
  const empty = clientFrame(TEXT, Buffer.alloc(0), MORE);
  const endless = Buffer.concat([empty, ...Array(20_000).fill(more)]);
  assertEquals(codeOf(() => read(endless, [60_000])), 1008);
  const over = clientFrame(TEXT, Buffer.alloc(70_000)).subarray(0, 14);
  over.fill(0xff, 2, 10); // a length of more than 2^53
  assertEquals(codeOf(() => read(over, [14])), 1009);
});

Deno.test("jsonFrame() produces the same bytes as textFrame() with the joined text, copied or in place", () => {
  fc.assert(fc.property(
    fc.oneof(fc.nat(200), fc.constantFrom(4000, 65_500, 70_000)),
    fc.nat(120),
    fc.nat(3),
    fc.boolean(),
    (length, before, after, ownsBuffer) => {
      const json = `{"text":"${"é".repeat(length)}"}`;
      const bytes = Buffer.from("x".repeat(before) + json + "y".repeat(after));
      const end = before + Buffer.byteLength(json);
      const range = { bytes, start: before, end, ownsBuffer };
      const body = new JsonText(range, NOTHING);
      const head = '42/smcp,17["client:tool_call",';
      const expected = textFrame(`${head}${json}]`);
      const first = jsonFrame(head, body);
      // A second one must not be written over the first, which may still wait to be sent.
      const second = jsonFrame(head, body);
      assertEquals(Buffer.compare(first, expected), 0);
      assertEquals(Buffer.compare(second, expected), 0);
      assertEquals(body.text(), json);
    },
  ));
});

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

Deno.test("judgePacket() accepts 64 levels of nesting, and as many elements as a call has arguments", () => {
  const brackets = "[".repeat(100);
  const objects = (depth: number) =>
    `["e",${'{"a":'.repeat(depth - 1)}1${"}".repeat(depth - 1)}]`;
  const elements = (count: number) => `3/smcp,1[${"0,".repeat(count - 1)}0]`;
  const heads = ['2["e",', '2/smcp,["e",', '2/smcp,17["e",', "3/smcp,9["]
    .concat('52-/smcp,1["e",');
  const accepted = [
    ...heads.map((head) => `${head}${nested(MAX_DEPTH - 1)}]`),
    `2/smcp,${objects(MAX_DEPTH)}`,
    elements(MAX_ELEMENTS),
    `2["e",[${"0,".repeat(5000)}0]]`,
    `2["e",[${"[],".repeat(500)}{}]]`,
    // Brackets in strings do not count, whatever is escaped.
    `2["e","${brackets}"]`,
    `2["e","\\"${brackets}"]`,
    `2["e","${brackets}\\\\"]`,
    `2["e","\\\\\\",${nested(64)}"]`,
  ];
  const refused = [
    ...heads.map((head) => `${head}${nested(MAX_DEPTH)}]`),
    `2/smcp,${objects(MAX_DEPTH + 1)}`,
    `0/smcp,${objects(70).slice(5)}`, // connect packets too
    elements(MAX_ELEMENTS + 1),
    `2["e","\\\\",${nested(64)}]`, // the string ends before the brackets
    `2/smcp",["e",${nested(100_000)}]`, // a quote in the namespace
  ];
  for (const packet of accepted) {
    assertEquals(judgePacket(packet), undefined, packet);
  }
  for (const packet of refused) assert(judgePacket(packet), packet);
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

/** A connection's decoder, with its results; calls `resumed` when reading continues. */
function guarded(
  judge: (packet: unknown) => string | undefined = () => {},
  resumed = () => {},
) {
  const refused: string[] = [];
  const held: boolean[] = [];
  const { Decoder } = guardedParser(() => ({
    judge,
    refuse: (reason) => refused.push(reason),
    hold: (now) => {
      held.push(now);
      if (!now) resumed();
    },
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
  await setImmediate();
  assertEquals(packets.length, 200);
  decoder.add("2[250]");
  await setImmediate();
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
  await setImmediate();
  assertEquals(packets.length, 100);
});

Deno.test("a packet that is read as soon as reading continues is not lost", async () => {
  const { decoder, packets } = guarded(undefined, () => decoder.add("2[101]"));
  for (let i = 0; i <= 100; i++) decoder.add(`2[${i}]`);
  await setImmediate();
  assertEquals(packets, Array.from({ length: 102 }, (_, i) => [i]));
});

const PACKETS = 1000;

/** Adds packets of one turn, so that further ones wait. */
function fillTurn({ decoder }: ReturnType<typeof guarded>): void {
  for (let packet = 0; packet < 100; packet++) decoder.add("2[0]");
}

Deno.test("many connections that are behind share each turn, so that others wait for one share", async () => {
  const connections = Array.from({ length: 20 }, () => guarded());
  for (const connection of connections) {
    fillTurn(connection);
    connection.packets.length = 0;
    for (let packet = 0; packet < PACKETS; packet++) {
      connection.decoder.add(`2[${packet}]`);
    }
  }
  const held = () => connections.filter(({ held }) => held.at(-1));
  assertEquals(held().length, connections.length);

  const counts = () => connections.map(({ packets }) => packets.length);
  const total = () => counts().reduce((sum, count) => sum + count);
  let most = 0;
  while (held().length > 0) {
    const before = total();
    await setImmediate();
    most = Math.max(most, total() - before);
    assert(Math.max(...counts()) - Math.min(...counts()) <= 100, "each a turn");
  }
  assert(most <= 200, `${most} packets in one turn`);
  const all = Array.from({ length: PACKETS }, (_, packet) => [packet]);
  for (const { packets, held } of connections) {
    assertEquals([packets, held], [all, [true, false]]);
  }
});

Deno.test("a connection that ends leaves the turns to the others", async () => {
  const handled: string[] = [];
  const a = guarded();
  const b = guarded();
  for (const [name, { decoder }] of Object.entries({ a, b })) {
    decoder.on("decoded", ({ data: [packet] }: Packet) => {
      if (packet > 0) handled.push(`${name}${packet}`);
      if (name === "a" && packet > 0) decoder.destroy(); // its packet closed it
    });
  }
  for (const [connection, queued] of [[a, 100], [b, 2]] as const) {
    fillTurn(connection);
    for (let packet = 1; packet <= queued; packet++) {
      connection.decoder.add(`2[${packet}]`);
    }
  }
  await setImmediate();
  assertEquals(handled, ["a1", "b1", "b2"], "all in one turn");
  fillTurn(b);
  b.decoder.add("2[3]");
  b.decoder.destroy();
  b.decoder.add("2[4]");
  await setImmediate();
  assertEquals(handled.slice(3), ["b4"]);
  assertEquals([a.held, b.held].map((each) => each.at(-1)), [false, false]);
});
