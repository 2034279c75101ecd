import fc from "fast-check";
import { Buffer } from "node:buffer";
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  DATA_HEADER_BYTES,
  decodeFrame,
  encodeFrame,
  FrameError,
  Inbox,
  ITEM_HEADER_BYTES,
  MAX_OPEN_MESSAGES,
  Outbox,
  readItems,
  writeDataHeader,
} from "../../../../server/cluster/link_frames.ts";

const number = fc.integer({ min: 0, max: 2 ** 48 - 1 });
const counts = { taken: number, room: fc.nat(2 ** 32 - 1) };
const named = fc.record({
  kind: fc.constantFrom("beat" as const, "bye" as const),
  version: fc.nat(255),
  from: fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" }),
  asks: fc.boolean(),
  sent: number,
  ...counts,
});

Deno.test("decodeFrame() reads what encodeFrame() wrote", () => {
  fc.assert(fc.property(named, (frame) => {
    assertEquals(decodeFrame(encodeFrame(frame)), frame);
  }));
});

Deno.test("decodeFrame() reads the header of messages", () => {
  const headers = fc.record({ sender: number, start: number, ...counts });
  fc.assert(fc.property(headers, (header) => {
    const frame = Buffer.alloc(DATA_HEADER_BYTES + 5);
    writeDataHeader(frame, header);
    assertEquals(decodeFrame(frame), { kind: "data", ...header });
  }));
});

Deno.test("decodeFrame() refuses a frame that ends early, at each byte", () => {
  fc.assert(fc.property(named, (frame) => {
    const bytes = encodeFrame(frame);
    for (let length = 0; length < bytes.length; length++) {
      assertThrows(() => decodeFrame(bytes.subarray(0, length)), FrameError);
    }
  }));
  const header = writeDataHeader(Buffer.alloc(DATA_HEADER_BYTES), {
    ...{ sender: 1, start: 2, taken: 3, room: 4 },
  });
  for (let length = 0; length < header.length; length++) {
    assertThrows(() => decodeFrame(header.subarray(0, length)), FrameError);
  }
});

Deno.test("decodeFrame() throws nothing but FrameError, whatever comes", () => {
  const bytes = fc.tuple(fc.nat(8), fc.uint8Array({ maxLength: 64 }));
  fc.assert(
    fc.property(bytes, ([kind, rest]) => {
      try {
        decodeFrame(Buffer.from([kind, ...rest]));
      } catch (error) {
        assert(error instanceof FrameError, String(error));
      }
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("decodeFrame() reads a frame of a later version that has more fields", () => {
  const beat = encodeFrame({
    kind: "beat",
    version: 7,
    from: "north",
    asks: true,
    sent: 7,
    taken: 8,
    room: 9,
  });
  const later = { ...JSON.parse(beat.toString()), more: [1] };
  assertEquals(
    decodeFrame(Buffer.from(JSON.stringify(later))),
    decodeFrame(beat),
  );
});

const PIECE = 256;
const RESERVE = 19;

/** A message whose bytes tell its stream and its place there; in parts of odd sizes. */
function messageOf(stream: number, index: number, size: number): Uint8Array[] {
  const message = Buffer.alloc(Math.max(8, size), `${stream}/${index};`);
  message.writeUInt32BE(stream, 0);
  message.writeUInt32BE(index, 4);
  const cut = (index * 37) % message.length;
  return [
    message.subarray(0, cut),
    new Uint8Array(0),
    message.subarray(cut),
  ];
}

const idOf = (message: Buffer) =>
  `${message.readUInt32BE(0)}/${message.readUInt32BE(4)}`;

const sends = fc.array(
  fc.oneof(
    fc.record({
      stream: fc.nat(6),
      size: fc.oneof(fc.integer({ min: 8, max: 60 }), fc.nat(4 * PIECE)),
    }),
    fc.constant("take" as const),
  ),
  { maxLength: 120, size: "max" },
);

Deno.test("Outbox and Inbox keep the order of each stream and each byte, whatever is sent when", () => {
  fc.assert(
    fc.property(sends, (steps) => {
      const outbox = new Outbox(PIECE, Infinity);
      const got = new Map<number, string[]>();
      const sent = new Map<number, string[]>();
      const inbox = new Inbox(4 * PIECE, (message) => {
        const stream = message.readUInt32BE(0);
        got.set(stream, [
          ...(got.get(stream) ?? []),
          message.toString("latin1"),
        ]);
      });
      const pass = () => {
        const frame = outbox.take(RESERVE);
        if (frame) inbox.take(frame, RESERVE);
        return frame !== undefined;
      };
      for (const step of steps) {
        if (step === "take") {
          pass();
          continue;
        }
        const { stream, size } = step;
        const before = sent.get(stream) ?? [];
        const message = messageOf(stream, before.length, size);
        sent.set(stream, [
          ...before,
          Buffer.concat(message).toString("latin1"),
        ]);
        assert(outbox.push(String(stream), message));
      }
      while (pass());
      assertEquals(outbox.bytes, 0);
      assertEquals(got, sent);
    }),
    { numRuns: 500 },
  );
});

Deno.test("Inbox frees a frame of which all is copied, and no other", () => {
  const messages: Buffer[] = [];
  const inbox = new Inbox(4 * PIECE, (message) => messages.push(message));
  const outbox = new Outbox(PIECE, Infinity);
  const isFreed: boolean[] = [];
  const sent = [messageOf(1, 0, 3 * PIECE), messageOf(2, 0, 20)];
  for (const [i, message] of sent.entries()) outbox.push(`${i}`, message);
  for (let frame = outbox.take(0); frame; frame = outbox.take(0)) {
    const own = Buffer.from(Uint8Array.from(frame).buffer);
    const hasSmall = own.includes("2/0;");
    inbox.take(own, 0);
    assertEquals(own.length === 0, !hasSmall);
    isFreed.push(own.length === 0);
  }
  assert(isFreed.includes(true) && isFreed.includes(false), `${isFreed}`);
  assertEquals(
    messages.map((message) => message.toString("latin1")).sort(),
    sent.map((parts) => Buffer.concat(parts).toString("latin1")).sort(),
  );
});

Deno.test("Outbox cuts frames at the size of a piece, or takes one small message", () => {
  fc.assert(fc.property(sends, (steps) => {
    const outbox = new Outbox(PIECE, Infinity);
    for (const step of steps) {
      if (step !== "take") {
        outbox.push(String(step.stream), [new Uint8Array(step.size)]);
      }
    }
    for (
      let frame = outbox.take(0);
      frame;
      frame = outbox.take(0)
    ) {
      let content = 0;
      let items = 0;
      for (const item of readItems(frame, 0)) {
        content += item.content.length;
        items++;
      }
      assert(content <= PIECE, `${content} bytes in a frame`);
      assert(frame.length <= content + items * ITEM_HEADER_BYTES);
    }
  }));
});

Deno.test("Outbox puts small messages that came together into one frame", () => {
  const outbox = new Outbox(PIECE, Infinity);
  for (let i = 0; i < 10; i++) outbox.push(`s${i % 3}`, messageOf(0, i, 10));
  const got: string[] = [];
  const inbox = new Inbox(PIECE, (message) => got.push(idOf(message)));
  const frame = outbox.take(RESERVE);
  assert(frame);
  inbox.take(frame, RESERVE);
  assertEquals(got, Array.from({ length: 10 }, (_, i) => `0/${i}`));
  assert(outbox.isEmpty);
});

Deno.test("Outbox lets small messages and other streams pass between the pieces of a large one", () => {
  const outbox = new Outbox(PIECE, Infinity);
  outbox.push("large", messageOf(1, 0, 40 * PIECE));
  const got: string[] = [];
  const inbox = new Inbox(40 * PIECE, (message) => got.push(idOf(message)));
  const pass = () => {
    const frame = outbox.take(RESERVE);
    if (frame) inbox.take(frame, RESERVE);
    return frame !== undefined;
  };
  for (let i = 0; i < 3; i++) pass();
  outbox.push("small", messageOf(2, 0, 8));
  outbox.push("large", messageOf(1, 1, 8));
  outbox.push("other", messageOf(3, 0, 4 * PIECE));
  let frames = 0;
  while (!got.includes("2/0")) frames += Number(pass());
  assertEquals(frames, 1, "a small one is in the next frame");
  while (!got.includes("3/0")) frames += Number(pass());
  assert(frames < 14, "large ones take turns");
  while (pass());
  assertEquals(got, ["2/0", "3/0", "1/0", "1/1"]);
});

Deno.test("Outbox starves neither large messages nor small ones, even of a whole piece", () => {
  const outbox = new Outbox(PIECE, Infinity);
  outbox.push("large", messageOf(1, 0, 10 * PIECE));
  const got: string[] = [];
  const inbox = new Inbox(10 * PIECE, (message) => got.push(idOf(message)));
  for (let i = 0; i < 60; i++) {
    outbox.push("flood", messageOf(2, i, PIECE));
    const frame = outbox.take(RESERVE);
    if (frame) inbox.take(frame, RESERVE);
  }
  assert(got.includes("1/0"), "the large one has arrived");
  assert(got.filter((id) => id.startsWith("2/")).length > 20, "so have others");
});

Deno.test("Outbox has only a few messages in pieces on their way at once", () => {
  const outbox = new Outbox(PIECE, Infinity);
  for (let i = 0; i < 50; i++) outbox.push(`s${i}`, messageOf(i, 0, 3 * PIECE));
  const open = new Set<number>();
  for (
    let frame = outbox.take(0);
    frame;
    frame = outbox.take(0)
  ) {
    for (const { slot, isLast } of readItems(frame, 0)) {
      if (isLast) open.delete(slot);
      else open.add(slot);
      assert(open.size <= MAX_OPEN_MESSAGES);
    }
  }
});

Deno.test("Outbox refuses what is over its bound, takes one message of any size, and short ones up to twice its bound", () => {
  const outbox = new Outbox(PIECE, 20_000);
  assert(outbox.push("a", [new Uint8Array(50_000)]));
  assert(!outbox.push("b", [new Uint8Array(1)]));
  while (outbox.take(0));
  const fill = (length: number) => {
    let taken = 0;
    while (outbox.push("a", [new Uint8Array(length)])) taken++;
    return taken;
  };
  assertEquals(fill(2_000), 9, "each costs its bytes and some more");
  assertEquals(fill(1_000), 20);
  outbox.clear();
  assertEquals(outbox.bytes, 0);
  assert(outbox.push("a", [new Uint8Array(100)]));
});

Deno.test("Inbox refuses a message that is announced too large, before it takes room for it", () => {
  const outbox = new Outbox(PIECE, Infinity);
  outbox.push("a", [new Uint8Array(4 * PIECE)]);
  const frame = outbox.take(0);
  assert(frame);
  const inbox = new Inbox(4 * PIECE - 1, () => {});
  assertThrows(() => inbox.take(frame, 0), FrameError, "1024 bytes");
});

Deno.test("Inbox throws nothing but FrameError, whatever comes, and takes no more room than its bound", () => {
  const item = fc.tuple(
    fc.nat(4),
    fc.oneof(fc.nat(12), fc.nat(0xffffffff)),
    fc.nat(3),
    fc.oneof(fc.nat(12), fc.nat(0xffffffff)),
    fc.uint8Array({ maxLength: 16 }),
  ).map(([flags, length, slot, total, content]) => {
    const header = Buffer.alloc(11);
    header[0] = flags;
    header.writeUInt32BE(length, 1);
    header.writeUInt16BE(slot, 5);
    header.writeUInt32BE(total, 7);
    return Buffer.concat([header, content]);
  });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 12 }), (items) => {
      const inbox = new Inbox(64, (message) => assert(message.length <= 64));
      for (const each of items) {
        try {
          inbox.take(each, 0);
        } catch (error) {
          assert(error instanceof FrameError, String(error));
        }
      }
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("Inbox delivers nothing of a frame after it was closed in its middle", () => {
  const outbox = new Outbox(PIECE, Infinity);
  for (let i = 0; i < 3; i++) outbox.push("a", messageOf(0, i, 8));
  const got: string[] = [];
  const inbox = new Inbox(PIECE, (message) => {
    got.push(idOf(message));
    inbox.close();
  });
  const frame = outbox.take(0);
  assert(frame);
  inbox.take(frame, 0);
  assertEquals(got, ["0/0"]);
});
