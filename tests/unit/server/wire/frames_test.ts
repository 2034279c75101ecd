import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { FrameSocket } from "../../../../server/wire/frame_socket.ts";
import {
  bytesFrame,
  FrameError,
  FrameReader,
  jsonFrame,
  Opcode,
  textFrame,
  unmask,
} from "../../../../server/wire/frames.ts";
import { JsonText } from "../../../../server/wire/text_packet.ts";

/** A frame as a client sends it. */
function clientFrame(
  opcode: number,
  payload: Uint8Array,
  { fin = true, mask = 0x12345678 } = {},
): Buffer {
  const frame = bytesFrame(opcode, payload);
  const header = frame.length - payload.length;
  const key = Buffer.alloc(4);
  key.writeInt32LE(mask | 0);
  const masked = Buffer.from(payload);
  masked.forEach((byte, i) => masked[i] = byte ^ key[i & 3]!);
  const head = Buffer.from(frame.subarray(0, header));
  head[1]! |= 0x80;
  if (!fin) head[0]! &= 0x7f;
  return Buffer.concat([head, key, masked]);
}

interface Read {
  opcode: number;
  payload: string;
}

/** Reads bytes in chunks of these sizes, over and over. */
function read(bytes: Buffer, sizes: readonly number[], max = 2 ** 24): Read[] {
  const found: Read[] = [];
  const reader = new FrameReader(max, {
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
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          opcode: fc.constantFrom(1, 2, 9),
          length: fc.oneof(
            fc.nat(125),
            fc.constantFrom(126, 4095, 4096, 65_535, 65_536, 200_000),
          ),
          mask: fc.integer(),
        }),
        { minLength: 1, maxLength: 5 },
      ),
      fc.array(fc.integer({ min: 1, max: 70_000 }), {
        minLength: 1,
        maxLength: 4,
      }),
      (frames, sizes) => {
        const sent = frames.map(({ opcode, length, mask }, i) => ({
          opcode,
          payload: Buffer.alloc(opcode === 9 ? length % 126 : length, 65 + i),
          mask,
        }));
        const bytes = Buffer.concat(
          sent.map(({ opcode, payload, mask }) =>
            clientFrame(opcode, payload, { mask })
          ),
        );
        const fine = sizes.map((size) =>
          bytes.length < 5000 ? size % 7 + 1 : size
        );
        assertEquals(
          read(bytes, fine),
          sent.map(({ opcode, payload }) => ({
            opcode,
            payload: payload.toString("latin1"),
          })),
        );
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("FrameReader frees a chunk of which all is copied, and no other", () => {
  const messages: Buffer[] = [];
  const reader = new FrameReader(2 ** 20, {
    message: ({ bytes, start, end }) =>
      messages.push(bytes.subarray(start, end)),
    control() {},
  });
  const isFreed = (chunk: Uint8Array) => {
    const own = Buffer.from(Uint8Array.from(chunk).buffer);
    reader.push(own);
    return own.length === 0;
  };
  const small = clientFrame(Opcode.TEXT, Buffer.alloc(10, "s"));
  const large = clientFrame(Opcode.TEXT, Buffer.alloc(9000, "l"));
  assertEquals([small, Buffer.concat([small, small])].map(isFreed), [
    false,
    false,
  ]);
  const [head, middle, tail] = [
    large.subarray(0, 5000),
    large.subarray(5000, 8000),
    large.subarray(8000),
  ];
  assertEquals([head, middle, tail].map(isFreed), [true, true, true]);
  // A message of the same chunk may still be on its way.
  assertEquals(isFreed(Buffer.concat([small, head])), false);
  assertEquals(isFreed(Buffer.concat([middle, tail, small])), false);
  // A part of a larger buffer is not the reader's to free.
  const shared = Buffer.concat([Buffer.alloc(10), head]);
  reader.push(shared.subarray(10));
  assert(shared.length > 0);
  assertEquals([middle, tail, small.subarray(0, 3)].map(isFreed), [
    true,
    true,
    true,
  ]);
  assertEquals(isFreed(small.subarray(3)), false);
  assertEquals(
    messages.map(String).map((text) => [text[0], text.length]),
    [...Array(3).fill(["s", 10]), ["l", 9000], ["s", 10], ["l", 9000]].concat(
      [["s", 10], ["l", 9000], ["s", 10]],
    ),
  );
});

Deno.test("FrameReader joins fragments, with control frames between them (RFC 6455 §5.4)", () => {
  const parts = ["one ", "", "two ", "three"].map((text) => Buffer.from(text));
  const bytes = Buffer.concat([
    clientFrame(Opcode.TEXT, parts[0]!, { fin: false }),
    clientFrame(Opcode.PING, Buffer.from("p")),
    clientFrame(Opcode.CONTINUATION, parts[1]!, { fin: false }),
    clientFrame(Opcode.CONTINUATION, parts[2]!, { fin: false }),
    clientFrame(Opcode.CONTINUATION, parts[3]!),
    clientFrame(Opcode.BINARY, Buffer.from("next")),
  ]);
  for (const size of [1, 3, 1000]) {
    assertEquals(read(bytes, [size]), [
      { opcode: Opcode.PING, payload: "p" },
      { opcode: Opcode.TEXT, payload: "one two three" },
      { opcode: Opcode.BINARY, payload: "next" },
    ]);
  }
});

Deno.test("FrameReader does not count control frames as part of the message that they interrupt (RFC 6455 §5.4)", () => {
  const whole = Buffer.alloc(100, 65);
  const bytes = Buffer.concat([
    clientFrame(Opcode.TEXT, whole, { fin: false }),
    clientFrame(Opcode.PING, Buffer.from("ping")),
    clientFrame(Opcode.CONTINUATION, Buffer.alloc(0)),
  ]);
  assertEquals(read(bytes, [1000], 100), [
    { opcode: Opcode.PING, payload: "ping" },
    { opcode: Opcode.TEXT, payload: whole.toString() },
  ]);
});

Deno.test("FrameReader refuses invalid frames, with the code of RFC 6455 §7.4", () => {
  const text = Buffer.from("text");
  const unmasked = textFrame("text");
  const reserved = clientFrame(Opcode.TEXT, text);
  reserved[0]! |= 0x40;
  const rows: [frames: Buffer[], code: number][] = [
    [[unmasked], 1002],
    [[reserved], 1002],
    [[clientFrame(0x3, text)], 1002],
    [[clientFrame(0xb, text)], 1002],
    [[clientFrame(Opcode.CONTINUATION, text)], 1002],
    [[clientFrame(Opcode.PING, text, { fin: false })], 1002],
    [[clientFrame(Opcode.PING, Buffer.alloc(126))], 1002],
    [[
      clientFrame(Opcode.TEXT, text, { fin: false }),
      clientFrame(Opcode.TEXT, text),
    ], 1002],
    [[clientFrame(Opcode.TEXT, Buffer.alloc(101))], 1009],
    [[
      clientFrame(Opcode.TEXT, Buffer.alloc(60), { fin: false }),
      clientFrame(Opcode.CONTINUATION, Buffer.alloc(60)),
    ], 1009],
  ];
  for (const [frames, code] of rows) {
    for (const size of [1, 1000]) {
      assertEquals(
        codeOf(() => read(Buffer.concat(frames), [size], 100)),
        code,
      );
    }
  }
  const empty = clientFrame(Opcode.TEXT, Buffer.alloc(0), { fin: false });
  const more = clientFrame(Opcode.CONTINUATION, Buffer.alloc(0), {
    fin: false,
  });
  const endless = Buffer.concat([empty, ...Array(20_000).fill(more)]);
  assertEquals(codeOf(() => read(endless, [60_000])), 1008);
});

Deno.test("FrameReader refuses a length of more than 2^53 on reading its header", () => {
  const frame = clientFrame(Opcode.TEXT, Buffer.alloc(70_000)).subarray(0, 14);
  frame.fill(0xff, 2, 10);
  assertEquals(codeOf(() => read(frame, [14])), 1009);
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
      const first = jsonFrame(head, body, "]");
      // A second one must not be written over the first, which may still wait to be sent.
      const second = jsonFrame(head, body, "]");
      assertEquals(Buffer.compare(first, expected), 0);
      assertEquals(Buffer.compare(second, expected), 0);
      assertEquals(body.text(), json);
    },
  ));
});

Deno.test("FrameSocket frees a large frame when it is sent, and not before", () => {
  const waiting: { chunk: Buffer; taken: () => void }[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk, _encoding, taken) {
      waiting.push({ chunk, taken });
    },
  });
  const frames = new FrameSocket(socket, 2 ** 20);
  socket.cork = socket.uncork = () => {}; // sent at once
  frames.limitQueue(2 ** 30, () => {});
  const json = `{"text":"${"x".repeat(40_000)}"}`;
  const [before, after] = ["b".repeat(100), "a".repeat(10)];
  const bodyOf = (ownsBuffer: boolean) => {
    const bytes = Buffer.from(before + json + after);
    const end = before.length + json.length;
    const range = { bytes, start: before.length, end, ownsBuffer };
    return new JsonText(range, NOTHING);
  };
  const expected = textFrame(`42["event",${json}]`);
  for (const isInPlace of [true, false]) {
    const body = bodyOf(isInPlace);
    const { bytes } = body;
    frames.sendJson('42["event",', body, "]");
    const { chunk, taken } = waiting.shift()!;
    assertEquals(chunk.buffer === bytes.buffer, isInPlace);
    assertEquals(Buffer.compare(chunk, expected), 0);
    assert(chunk.length > 0);
    taken();
    assertEquals(chunk.length, 0);
    assertEquals(bytes.length === 0, isInPlace);
    if (isInPlace) assertThrows(() => body.text(), Error, "were freed");
    else assertEquals(body.text(), json);
  }
  frames.terminate();
});
