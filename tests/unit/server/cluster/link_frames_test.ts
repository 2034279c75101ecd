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
const data = fc.record({
  kind: fc.constant("data" as const),
  sender: number,
  start: number,
  ...counts,
});

Deno.test("decodeFrame() reads what was written, and refuses it cut off at each byte", () => {
  fc.assert(fc.property(fc.oneof(named, data), (frame) => {
    const bytes = frame.kind === "data"
      ? writeDataHeader(Buffer.alloc(DATA_HEADER_BYTES), frame)
      : encodeFrame(frame);
    assertEquals(decodeFrame(bytes), frame);
    for (let length = 0; length < bytes.length; length++) {
      assertThrows(() => decodeFrame(bytes.subarray(0, length)), FrameError);
    }
  }));
});

Deno.test("decodeFrame() throws nothing but FrameError, whatever comes", () => {
  const bytes = fc.tuple(fc.nat(8), fc.uint8Array({ maxLength: 64 }));
  fc.assert(
    fc.property(
      bytes,
      ([kind, rest]) =>
        onlyFrameErrors(() => decodeFrame(Buffer.from([kind, ...rest]))),
    ),
    { numRuns: 5_000 },
  );
});

Deno.test("decodeFrame() reads a frame of a later version that has more fields", () => {
  fc.assert(fc.property(named, (frame) => {
    const later = { ...JSON.parse(encodeFrame(frame).toString()), more: [1] };
    assertEquals(decodeFrame(Buffer.from(JSON.stringify(later))), frame);
  }));
});

const PIECE = 256;
const RESERVE = 19;

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
      const { outbox, got, pass } = newPipe();
      const sent: string[][] = Array.from({ length: 7 }, () => []);
      for (const step of steps) {
        if (step === "take") {
          pass();
          continue;
        }
        const { stream, size } = step;
        const message = messageOf(stream, sent[stream]?.length ?? 0, size);
        sent[stream]?.push(Buffer.concat(message).toString("latin1"));
        assert(outbox.push(String(stream), message));
      }
      while (pass());
      assertEquals(outbox.bytes, 0);
      assertEquals(
        sent.map((_, stream) =>
          got.filter((message) => message.readUInt32BE(0) === stream)
            .map((message) => message.toString("latin1"))
        ),
        sent,
      );
    }),
    { numRuns: 500 },
  );
});

Deno.test("Inbox frees a frame of which all is copied, and no other", () => {
  const { outbox, inbox, got } = newPipe();
  const sent = [messageOf(1, 0, 3 * PIECE), messageOf(2, 0, 20)];
  for (const [i, message] of sent.entries()) outbox.push(`${i}`, message);
  const freed = new Set<boolean>();
  for (const frame of framesOf(outbox)) {
    const own = Buffer.from(Uint8Array.from(frame).buffer);
    const hasSmall = own.includes("2/0;");
    inbox.take(own, 0);
    assertEquals(own.length === 0, !hasSmall);
    freed.add(own.length === 0);
  }
  assertEquals(freed.size, 2);
  assertEquals(
    got.map((message) => message.toString("latin1")).sort(),
    sent.map((parts) => Buffer.concat(parts).toString("latin1")).sort(),
  );
});

Deno.test("Outbox cuts frames at the size of a piece, or takes one small message", () => {
  fc.assert(fc.property(sends, (steps) => {
    const { outbox } = newPipe();
    for (const step of steps) {
      if (step === "take") continue;
      outbox.push(String(step.stream), [new Uint8Array(step.size)]);
    }
    for (const frame of framesOf(outbox)) {
      const items = [...readItems(frame, 0)];
      const content = items.reduce((sum, item) => sum + item.content.length, 0);
      assert(content <= PIECE, `${content} bytes in a frame`);
      assert(frame.length <= content + items.length * ITEM_HEADER_BYTES);
    }
  }));
});

Deno.test("Outbox lets small messages and other streams pass between the pieces of a large one", () => {
  const { outbox, got, pass } = newPipe();
  const ids = () => got.map(idOf);
  outbox.push("large", messageOf(1, 0, 40 * PIECE));
  for (let i = 0; i < 3; i++) pass();
  outbox.push("small", messageOf(2, 0, 8));
  outbox.push("large", messageOf(1, 1, 8));
  outbox.push("other", messageOf(3, 0, 4 * PIECE));
  let frames = 0;
  while (!ids().includes("2/0")) frames += Number(pass());
  assertEquals(frames, 1, "a small one is in the next frame");
  while (!ids().includes("3/0")) frames += Number(pass());
  assert(frames < 14, "large ones take turns");
  while (pass());
  assertEquals(ids(), ["2/0", "3/0", "1/0", "1/1"]);
});

Deno.test("Outbox starves neither large messages nor small ones, even of a whole piece", () => {
  const { outbox, got, pass } = newPipe();
  outbox.push("large", messageOf(1, 0, 10 * PIECE));
  for (let i = 0; i < 60; i++) {
    outbox.push("flood", messageOf(2, i, PIECE));
    pass();
  }
  const ids = got.map(idOf);
  assert(ids.includes("1/0"), "the large one has arrived");
  assert(ids.filter((id) => id.startsWith("2/")).length > 20, "so have others");
});

Deno.test("Outbox has only a few messages in pieces on their way at once", () => {
  const { outbox } = newPipe();
  for (let i = 0; i < 50; i++) outbox.push(`s${i}`, messageOf(i, 0, 3 * PIECE));
  const open = new Set<number>();
  for (const frame of framesOf(outbox)) {
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
  const { outbox, inbox } = newPipe(4 * PIECE - 1);
  outbox.push("a", [new Uint8Array(4 * PIECE)]);
  const frame = outbox.take(0);
  assert(frame);
  assertThrows(() => inbox.take(frame, 0), FrameError, "1024 bytes");
});

Deno.test("Inbox throws nothing but FrameError, whatever comes, and takes no more room than its bound", () => {
  const size = fc.oneof(fc.nat(12), fc.nat(0xffffffff));
  const item = fc.tuple(
    ...[fc.nat(4), size, fc.nat(3), size] as const,
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
      for (const each of items) onlyFrameErrors(() => inbox.take(each, 0));
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
  for (const frame of framesOf(outbox)) inbox.take(frame, 0);
  assertEquals(got, ["0/0"]);
});

/** An outbox and its inbox; `pass` carries a frame, and returns whether there was one. */
function newPipe(room = 40 * PIECE) {
  const outbox = new Outbox(PIECE, Infinity);
  const got: Buffer[] = [];
  const inbox = new Inbox(room, (message) => got.push(message));
  const pass = () => {
    const frame = outbox.take(RESERVE);
    if (frame) inbox.take(frame, RESERVE);
    return frame !== undefined;
  };
  return { outbox, inbox, got, pass };
}

function* framesOf(outbox: Outbox) {
  for (let frame; (frame = outbox.take(0));) yield frame;
}

function onlyFrameErrors(act: () => void): void {
  try {
    act();
  } catch (error) {
    assert(error instanceof FrameError, String(error));
  }
}

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
