import fc from "fast-check";
import { Buffer } from "node:buffer";
import { Decoder, Encoder, type Packet, PacketType } from "socket.io-parser";
import { assert, assertEquals, assertExists, assertThrows } from "@std/assert";
import { TOOL_CALL_EVENT } from "../../../../protocol/mod.ts";
import { endOf } from "../../../../server/shared/audit.ts";
import { unmask } from "../../../../server/wire/frames.ts";
import {
  bytesOfPayload,
  Payload,
  payloadOfBytes,
} from "../../../../server/wire/mod.ts";
import {
  JsonText,
  MAX_ELEMENTS,
  readPacket,
  type TextPacket,
} from "../../../../server/wire/json_text.ts";

const EVENTS = new Map([[TOOL_CALL_EVENT, Infinity]]);

/** Reads a packet from bytes and from text, which must be the same to it. */
function read(text: string): TextPacket | undefined {
  const bytes = Buffer.from(`4${text}{"]`);
  const end = 1 + Buffer.byteLength(text);
  const range = { bytes, start: 0, end, ownsBuffer: false };
  const packet = readPacket(range, 1, EVENTS);
  const decoded = readPacket({ text: `4${text}`, start: 0, end }, 1, EVENTS);
  assertEquals(foundIn(decoded), foundIn(packet), text);
  return decoded;
}

const textOf = (payload: Payload): string => {
  assert(payload instanceof JsonText);
  return payload.text();
};

/** All that was found in a packet. */
const foundIn = (packet: TextPacket | undefined) =>
  packet && {
    event: packet.event,
    id: packet.id,
    text: textOf(packet.body),
    size: packet.body.size,
    mayBeError: packet.body.mayBeError,
    outline: packet.body.peek(),
    bytes: Buffer.concat(bytesOfPayload(packet.body)).toString(),
  };

/** Parses with the stock parser; `undefined` if it throws. */
function stock(text: string): Packet | undefined {
  const packets: Packet[] = [];
  const decoder = new Decoder();
  decoder.on("decoded", (packet) => packets.push(packet));
  try {
    decoder.add(text);
  } catch {
    return undefined;
  }
  return packets[0];
}

/** Asserts that a packet is read like the stock parser reads it. */
function assertSame(packet: TextPacket, text: string): void {
  const expected = stock(text);
  assertExists(expected, text);
  assertEquals(expected.nsp, "/smcp", text);
  assertEquals(packet.id, expected.id, text);
  const isAck = packet.event === undefined;
  assertEquals(expected.type, isAck ? PacketType.ACK : PacketType.EVENT);
  if (!isAck) assertEquals(packet.event, expected.data[0], text);
  assertEquals(packet.body.parse(), expected.data[isAck ? 0 : 1], text);
}

Deno.test("readPacket() reads calls and answers as the stock encoder writes them, from bytes and from text of any script", () => {
  const encoder = new Encoder();
  const string = fc.string({ unit: "binary" });
  const json = fc.jsonValue({ maxDepth: 3, stringUnit: "binary" });
  fc.assert(fc.property(
    fc.boolean(),
    fc.nat(),
    fc.dictionary(string, fc.oneof(json, fc.array(json, { minLength: 50 }))),
    fc.array(json, { maxLength: 3 }),
    (isAck, id, payload, more) => {
      const [text] = encoder.encode({
        type: isAck ? PacketType.ACK : PacketType.EVENT,
        nsp: "/smcp",
        id,
        data: isAck ? [payload, ...more] : [TOOL_CALL_EVENT, payload, ...more],
      });
      const packet = read(String(text));
      assertExists(packet);
      assertSame(packet, String(text));
      assertEquals(textOf(packet.body), JSON.stringify(payload));
    },
  ));
});

Deno.test("readPacket() takes a payload out of a text as it is, where all behind it is ASCII", () => {
  // Text with half a surrogate has no bytes of its own: it shows where the payload is taken from.
  const read = (more: string) => {
    const text = `43/smcp,7[{"a":"\ud800"}${more}]`;
    const message = { text, start: 0, end: Buffer.byteLength(text) };
    const packet = readPacket(message, 1, EVENTS);
    return packet && textOf(packet.body);
  };
  assertEquals(read(',"b"'), '{"a":"\ud800"}', "from the text");
  assertEquals(read(',"\u4e2d"'), '{"a":"\ufffd"}', "from the bytes");
});

Deno.test("readPacket() reads packets of every length over 4 KiB from the memory where they were unmasked", () => {
  // Masks of spaces, of ASCII, of what is no UTF-8, and one that changes nothing.
  for (const mask of [0x20202020, 0x5d7d225b, 0x92fe81c3 | 0, 0]) {
    for (let size = 4096; size < 4096 + 64; size++) {
      const head = `42/smcp,7["${TOOL_CALL_EVENT}",{"text":"`;
      const text = `${head}${"x".repeat(size - head.length - 3)}"}]`;
      const before = size % 7;
      const bytes = Buffer.alloc(before + size + 3, "]");
      bytes.write(text, before);
      const end = before + size;
      const key = Buffer.alloc(4);
      key.writeInt32LE(mask);
      for (let i = 0; i < size; i++) bytes[before + i]! ^= key[i & 3]!;
      unmask(bytes, before, end, mask);
      const range = { bytes, start: before, end, ownsBuffer: false };
      const packet = readPacket(range, before + 1, EVENTS);
      assertExists(packet, `mask ${mask}, ${size} bytes`);
      assertSame(packet, text.slice(1));
    }
  }
});

Deno.test("readPacket() leaves all but the common case to the stock parser", () => {
  const others = [
    ...["", "2", "2/smcp,", "2/smcp,1", "2/smcp,[5,{}]", "0/smcp,{}"],
    ...['2["client:tool_call",{}]', '2/other,["client:tool_call",{}]'],
    ...['2/smcp,["server:join_office",{}]', '2/smcp,["client:tool_call"]'],
    '2/smcp,["client:tool\\u005fcall",{}]',
    ...['2/smcp,["client:tool_call",[]]', '2/smcp,["client:tool_call",null]'],
    '2/smcp,1e3["client:tool_call",{}]',
    '2/smcp,1234567890123456["client:tool_call",{}]',
    ...["3/smcp,[{}]", "3/smcp,1[]", '3/smcp,1["text"]', "3/smcp,1[{}"],
    ...["3/smcp,1[{}]]", "3/smcp,1[{}]x", "3/smcp,1[{},]", "1/smcp,"],
    `3/smcp,1[{}${",1".repeat(MAX_ELEMENTS)}]`,
    '51-/smcp,["client:tool_call",{"_placeholder":true,"num":0}]',
  ];
  for (const text of others) assertEquals(read(text), undefined, text);
  const bytes = Buffer.from('3/smcp,1[{"a":"??"}]');
  const range = { bytes, start: 0, end: bytes.length, ownsBuffer: false };
  bytes[15] = 0xc3;
  assertEquals(readPacket(range, 0, EVENTS), undefined);
  bytes[16] = 0xa9;
  const packet = readPacket(range, 0, EVENTS);
  assertEquals(packet?.body.parse(), { a: "é" });
});

Deno.test("readPacket() accepts nothing that the stock parser refuses or reads differently: 100,000 mutated packets", () => {
  const seeds = [
    '2/smcp,12["client:tool_call",{"agent":"a","params":{"x":[1,2.5e3,null,"\\u00e9\\n"]},"timeout":5}]',
    '3/smcp,7[{"content":[{"type":"text","text":"hello \\"you\\""}],"isError":false}]',
    '3/smcp,0[{"code":404,"message":"no"},"smuggled",{"more":true}]',
  ];
  const bits = fc.constantFrom(
    "",
    ...'{}[]",:\\ntfu0123456789+-.eE \u0001\n/-é',
  );
  const change = fc.tuple(fc.nat(), bits, fc.nat(1));
  let taken = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(...seeds),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      (seed, changes) => {
        const text = changes.reduce((text, [place, bit, removed]) => {
          const at = place % (text.length + 1);
          return text.slice(0, at) + bit + text.slice(at + removed);
        }, seed);
        const packet = read(text);
        if (packet === undefined) return;
        taken++;
        assertSame(packet, text);
      },
    ),
    { numRuns: 100_000 },
  );
  assert(taken > 5000, "some mutations keep a packet valid");
});

Deno.test("peek() returns every member, with large objects and arrays empty", () => {
  const payload = {
    agent: "a",
    params: { text: "x".repeat(1000), list: [1] },
    list: Array.from({ length: 500 }, () => "]"),
    long: "y".repeat(1000),
    number: 1,
    small: { kept: [true] },
  };
  const json = JSON.stringify(payload).replace(":1,", `:1${"0".repeat(300)},`);
  const packet = read(`3/smcp,1[${json}]`);
  const whole = { ...payload, number: 1e300 }; // of 300 digits
  assertEquals(packet?.body.peek(), { ...whole, params: {}, list: [] });
  assertEquals(packet?.body.parse(), whole);
});

Deno.test("peek() and mayBeError show how a call ended, regardless of the size of its members", () => {
  const hint = { action: "open", message: "x".repeat(1000) };
  const meta = { error_code: 4006, mcp_server: "mail", auth_hint: hint };
  const error = { code: 404, message: "y".repeat(1000) };
  const rows: [answer: object | string, outcome: string][] = [
    [{ content: [], isError: true, meta }, "error 4006"],
    [{ content: [], isError: true, _meta: meta }, "error 4006"],
    [`{"isError":true,"m\\u0065ta":${JSON.stringify(meta)}}`, "error 4006"],
    [{ error }, "error 404"],
    [`{"\\u0065rror":${JSON.stringify(error)}}`, "error 404"],
    [{ isError: true, metadata: meta }, "tool error"],
    [{ code: 404, message: "no" }, "error 404"],
    ['{"\\u0063ode":404,"message":"no"}', "error 404"],
    ['{"c\\u006fde":404,"message":"no"}', "error 404"],
    ['{"co\\u0064e":404,"message":"no"}', "error 404"],
    ['{"isError" : true,"content":[]}', "tool error"],
    ['{"is\\u0045rror":true}', "tool error"],
    [{}, "ok"],
    [{ content: [], isError: false }, "ok"],
    [{ content: [{ code: 404 }], structuredContent: { error: true } }, "ok"],
    [{ tools: [], req_id: "1" }, "ok"],
  ];
  for (const [answer, outcome] of rows) {
    const json = typeof answer === "string" ? answer : JSON.stringify(answer);
    const body = read(`3/smcp,1[${json}]`)?.body;
    assertEquals(
      [endOf(body).outcome, body?.mayBeError],
      [outcome, outcome !== "ok"],
      json,
    );
  }
});

/** Sends a payload to another process. */
function sent(payload: Payload | undefined, before = 0): Payload | undefined {
  const bytes = Buffer.concat([
    Buffer.alloc(before),
    ...bytesOfPayload(payload),
  ]);
  return payloadOfBytes(bytes, before);
}

/** The payload of an ack as a client writes it. */
const ofClient = (value: unknown): Payload =>
  ofClientText(JSON.stringify(value));

function ofClientText(text: string): Payload {
  const bytes = Buffer.from(`3/smcp,1[${text}]`);
  const range = { bytes, start: 0, end: bytes.length, ownsBuffer: true };
  const packet = readPacket(range, 0, new Map());
  assert(packet);
  return packet.body;
}

Deno.test("bytesOfPayload(): what a client wrote arrives as it was, with what the scan has found", () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom("content", "code", "error", "isError", "meta", "x"),
        fc.jsonValue({ maxDepth: 3 }),
      ),
      fc.nat(80),
      (value, before) => {
        const payload = ofClient(value);
        const arrived = sent(payload, before);
        assert(arrived);
        assertEquals(JSON.stringify(arrived.parse()), JSON.stringify(value));
        assertEquals(arrived.isObject, true);
        assertEquals(arrived.mayBeError, payload.mayBeError);
        assertEquals(arrived.peek(), payload.peek());
      },
    ),
  );
  const large = { content: ["x".repeat(1000)], small: [1], meta: { a: 1 } };
  assertEquals(sent(ofClient(large))?.peek(), { ...large, content: [] });
});

Deno.test("bytesOfPayload(): values of any kind arrive, with bytes in them, and nothing stays nothing", () => {
  const bytes = new Uint8Array([1, 2, 3]);
  const values = [null, 0, "text", [1], { deep: [{ a: null }] }, true];
  for (const value of values) {
    assertEquals(sent(Payload.of(value), 3)?.parse(), value);
  }
  const arrived = sent(Payload.of({ list: [bytes, { bytes }] }))?.parse();
  const same = Buffer.from(bytes);
  assertEquals(
    JSON.stringify(arrived),
    JSON.stringify({ list: [same, { bytes: same }] }),
  );
  assertEquals(sent(undefined), undefined);
});

Deno.test("payloadOfBytes(): what is cut off is refused", () => {
  for (const payload of [ofClient({ a: [1] }), Payload.of({ a: [1] })]) {
    const whole = Buffer.concat(bytesOfPayload(payload));
    for (let length = 0; length < 5; length++) {
      assertThrows(
        () => payloadOfBytes(whole.subarray(0, length), 0),
        RangeError,
      );
    }
  }
  const value = Buffer.concat(bytesOfPayload(Payload.of({ a: 1 })));
  assertThrows(() => payloadOfBytes(value.subarray(0, -1), 0), RangeError);
});

Deno.test("peek() parses a bounded part of a payload: 256 members, and 128 KiB of texts and of what describes failures", () => {
  const outlineOf = (members: readonly string[]) => {
    const text = `3/smcp,1[{${members.join(" , ")} }]`;
    return Object(read(text)?.body.peek());
  };
  const numbered = Array.from({ length: 1000 }, (_, n) => `"k${n}" : ${n}`);
  const large = `"k255" : [${"1,".repeat(200)}1]`;
  for (const last of [numbered[255]!, large, '"k255":"x"', '"k255":{}']) {
    const outline = outlineOf(numbered.with(255, last));
    assertEquals(Object.keys(outline).length, 256, last.slice(0, 20));
    assertEquals(outline.k254, 254);
    assertEquals(outline.k255, last === numbered[255] ? 255 : outline.k255);
  }
  const long = (length: number) => "x".repeat(length);
  assertEquals(
    outlineOf([`"a":"${long(130_000)}"`, '"b":1']).a.length,
    130_000,
  );
  assertEquals(outlineOf([`"a":"${long(131_072)}"`, '"b":1']), { a: "", b: 1 });
  assertEquals(
    outlineOf([`"meta":["${long(131_072)}"]`, `"c":"${long(300)}"`]),
    { meta: [], c: long(300) },
  );
  // No identifier is left empty, whatever is before it; and what is behind the cut may be an error.
  const name = "计".repeat(256);
  assertEquals(
    outlineOf([`"data":"${long(131_000)}"`, `"computer":"${name}"`]).computer,
    name,
  );
  const packet = read(`3/smcp,1[{${numbered.join(",")},"code":404}]`);
  assertEquals(packet?.body.mayBeError, true);
  // The sum counts, not each.
  const texts = Array.from(
    { length: 200 },
    (_, n) => `"t${n}":"${long(2000)}"`,
  );
  const kept = Object.values(outlineOf(texts)).filter((text) => text !== "");
  assertEquals(kept.length, 65);
});

Deno.test("the payload of an event over its bound is not read, whatever it is; nor is one of a name that no version has", () => {
  const events = new Map([["client:get_tools", 100]]);
  const packetOf = (name: string, payload: string) => {
    const text = `2/smcp,7["${name}",${payload}]`;
    const bytes = Buffer.from(text);
    const range = { bytes, start: 0, end: bytes.length, ownsBuffer: false };
    const decoded = { text, start: 0, end: bytes.length };
    const found = [range, decoded].map((message) =>
      readPacket(message, 0, events)
    );
    assertEquals(found[0]?.body.size, found[1]?.body.size);
    return found[0];
  };
  const fitting = `{"a":"${"x".repeat(92)}"}`;
  assertEquals(packetOf("client:get_tools", fitting)?.body.values, 2);
  for (const over of [`${fitting} `, `[${"1,".repeat(60)}`, "}".repeat(101)]) {
    const packet = packetOf("client:get_tools", over);
    assertEquals(packet?.id, 7);
    assertEquals(packet?.body.size, over.length);
    assertThrows(() => packet?.body.parse(), Error, "not read");
    assertThrows(() => packet?.body.peek(), Error, "not read");
  }
  const long = `{"a":"${"x".repeat(65_536)}"}`;
  assertEquals(packetOf("client:made_up", long)?.body.size, long.length);
  assertEquals(packetOf("client:made_up", "{}"), undefined);
  for (const name of ["connect", "disconnect", "message", "a\\u003ab"]) {
    assertEquals(packetOf(name, long), undefined, name);
  }
});

Deno.test("an edited payload is looked at without an error, also where the scanner leaves a number to the stock parser", () => {
  const digits = "1".repeat(70);
  const few = `{"a":${digits},"agent":"x"}`;
  const payload = ofClientText(few);
  // More than 32 parts are scanned in blocks, of which none may be one number.
  const more = `[${"0,".repeat(40)}${digits}]`;
  const edited = payload.edited(Buffer.from(`{"e":${more}}`));
  assertEquals(edited.peek(), {});
  assertEquals(edited.values, 43);
  assertEquals(sent(edited)?.peek(), {});
  const renamed = payload.with({ agent: "y" });
  assertEquals(renamed.peek(), { a: Number(digits), agent: "y" });
});
