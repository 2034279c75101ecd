import { assert, assertEquals, assertThrows } from "@std/assert";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import {
  DATA_HEADER_BYTES,
  decodeFrame,
  encodeFrame,
  FrameError,
  writeDataHeader,
} from "../../../../../server/cluster/links/frame.ts";

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
