import { Buffer } from "node:buffer";
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { readPacket } from "../../../../server/wire/json/text_packet.ts";
import {
  bytesOfPayload,
  Payload,
  payloadOfBytes,
} from "../../../../server/wire/mod.ts";

/** Sends a payload to another process. */
function sent(payload: Payload | undefined, before = 0): Payload | undefined {
  const bytes = Buffer.concat([
    Buffer.alloc(before),
    ...bytesOfPayload(payload),
  ]);
  return payloadOfBytes(bytes, before);
}

/** The payload of an ack as a client writes it. */
function ofClient(value: unknown): Payload {
  const bytes = Buffer.from(`3/smcp,1[${JSON.stringify(value)}]`);
  const range = { bytes, start: 0, end: bytes.length, ownsBuffer: true };
  const packet = readPacket(range, 0, new Set());
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
});

Deno.test("bytesOfPayload(): large members stay unread by peek()", () => {
  const value = { content: ["x".repeat(1000)], small: [1], meta: { a: 1 } };
  assertEquals(sent(ofClient(value))?.peek(), { ...value, content: [] });
});

Deno.test("bytesOfPayload(): values of any kind arrive, with bytes in them, and nothing stays nothing", () => {
  const bytes = new Uint8Array([1, 2, 3]);
  const values = [null, 0, "text", [1], { deep: [{ a: null }] }, true];
  for (const value of values) {
    assertEquals(sent(Payload.of(value), 3)?.parse(), value);
  }
  const arrived = sent(Payload.of({ list: [bytes, { bytes }] }))?.parse();
  assertEquals(
    JSON.stringify(arrived),
    JSON.stringify({
      list: [Buffer.from(bytes), { bytes: Buffer.from(bytes) }],
    }),
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
