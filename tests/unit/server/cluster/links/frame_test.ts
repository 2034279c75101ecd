import { assert, assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import {
  DATA_HEADER_BYTES,
  decodeFrame,
  encodeFrame,
  type Frame,
  FrameError,
  TOKEN_BOUND,
  writeDataHeader,
} from "../../../../../server/cluster/links/frame.ts";

const number = fc.integer({ min: 0, max: TOKEN_BOUND - 1 });
const from = fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" });
const room = fc.nat(2 ** 32 - 1);
const counts = { taken: number, room };
const numbers = { link: number, seq: number, ...counts };
const greeting = {
  version: fc.nat(255),
  token: number,
  ...counts,
  from,
};
const named = fc.oneof(
  fc.record({ kind: fc.constant("hello" as const), ...greeting }),
  fc.record({
    kind: fc.constant("welcome" as const),
    ...greeting,
    echo: number,
    next: number,
  }),
  fc.record({ kind: fc.constant("beat" as const), ...numbers, from }),
  fc.record({ kind: fc.constant("bye" as const), ...numbers, from }),
);

Deno.test("decodeFrame() reads what encodeFrame() wrote", () => {
  fc.assert(fc.property(named, (frame: Exclude<Frame, { kind: "data" }>) => {
    assertEquals(decodeFrame(encodeFrame(frame)), frame);
  }));
});

Deno.test("decodeFrame() reads the header of messages", () => {
  const header = fc.record(numbers);
  fc.assert(fc.property(header, ({ link, seq, ...counts }) => {
    const frame = Buffer.alloc(DATA_HEADER_BYTES + 5);
    writeDataHeader(frame, { link, seq, ...counts });
    assertEquals(decodeFrame(frame), { kind: "data", link, seq, ...counts });
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
    ...{ link: 1, seq: 2, taken: 3, room: 4 },
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

Deno.test("decodeFrame() reads a greeting of a later version that has more fields", () => {
  const hello = encodeFrame({
    kind: "hello",
    version: 2,
    from: "north",
    token: 7,
    taken: 8,
    room: 9,
  });
  const later = { ...JSON.parse(hello.toString()), more: [1] };
  assertEquals(
    decodeFrame(Buffer.from(JSON.stringify(later))),
    decodeFrame(hello),
  );
});
