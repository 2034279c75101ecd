import fc from "fast-check";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Decoder, Encoder, type Packet, PacketType } from "socket.io-parser";
import {
  BoundedDecoder,
  MAX_ANSWER_VALUES,
  MAX_EVENT_VALUES,
} from "../../../client/socket_wire.ts";
import { ConnectionError } from "../../../client/errors.ts";
import { REQUEST_BOUNDS } from "../../../protocol/event_table.ts";
import { CLIENT_EVENTS, ProtocolError } from "../../../protocol/mod.ts";

/** What a decoder makes of the parts of a packet. */
function decoded(
  decoder: Pick<Decoder, "add" | "on">,
  parts: readonly unknown[],
): Packet | undefined {
  let packet: Packet | undefined;
  decoder.on("decoded", (found: Packet) => packet = found);
  for (const part of parts) decoder.add(part);
  return packet;
}

const packets = fc.record({
  type: fc.constantFrom(PacketType.EVENT, PacketType.ACK),
  nsp: fc.constantFrom("/", "/smcp"),
  id: fc.nat(),
  payload: fc.jsonValue(),
}).map(({ type, payload, ...rest }) => ({
  ...rest,
  type,
  data: type === PacketType.EVENT ? ["client:x", payload] : [payload],
}));

const braces = (count: number) =>
  JSON.parse(`[${"{},".repeat(count)}{}]`) as unknown[];

Deno.test("BoundedDecoder decodes as the stock decoder does, also long packets", () => {
  fc.assert(fc.property(packets, fc.boolean(), (packet, isLong) => {
    if (isLong) packet.data.push("x".repeat(MAX_EVENT_VALUES));
    const parts = new Encoder().encode(packet);
    assertEquals(
      decoded(new BoundedDecoder(), parts),
      decoded(new Decoder(), parts),
    );
  }));
});

Deno.test("BoundedDecoder passes on a packet of too many values with an error in place of its payload", () => {
  const heavy = braces(MAX_EVENT_VALUES / 2);
  const event = { type: PacketType.EVENT, nsp: "/smcp" };
  for (const id of [undefined, 0, 17]) {
    const packet = {
      ...event,
      data: ["client:tool_call", { params: heavy }],
      ...(id !== undefined && { id }),
    };
    const found = decoded(new BoundedDecoder(), new Encoder().encode(packet));
    const [name, error]: unknown[] = found?.data;
    assertEquals({ ...found, data: name }, { ...packet, data: name });
    assertEquals(name, "client:tool_call");
    assert(error instanceof ProtocolError);
    assertEquals(error.code, 400);
    assertStringIncludes(error.message, `more than ${MAX_EVENT_VALUES} values`);
  }
  const ack = { type: PacketType.ACK, nsp: "/smcp", id: 3 };
  const takes = { ...ack, data: [heavy] };
  assertEquals(
    decoded(new BoundedDecoder(), new Encoder().encode(takes)),
    takes,
  );
  const most = { ...ack, data: [braces(MAX_ANSWER_VALUES / 2)] };
  const refused = decoded(new BoundedDecoder(), new Encoder().encode(most));
  const [error]: unknown[] = refused?.data;
  assert(error instanceof ConnectionError);
  assertEquals([error.code, refused?.id], ["too_large", 3]);
});

Deno.test("BoundedDecoder goes on after a packet with attachments and too many values", () => {
  const data = ["client:x", braces(MAX_EVENT_VALUES), new Uint8Array(3)];
  const packet = { type: PacketType.EVENT, nsp: "/smcp", id: 1, data };
  const decoder = new BoundedDecoder();
  assertEquals(decoded(decoder, new Encoder().encode(packet))?.data, [
    "client:x",
    null,
  ]);
  const next = { ...packet, data: ["client:y", {}] };
  assertEquals(decoded(decoder, new Encoder().encode(next)), next);
});

Deno.test("BoundedDecoder refuses what is no packet, as the stock decoder does", () => {
  const heavy = "[],".repeat(MAX_EVENT_VALUES);
  for (const text of [`9[${heavy}1]`, `2[${heavy}`, `2/smcp,1${heavy}`]) {
    let isRefused = false;
    try {
      const [name] = decoded(new BoundedDecoder(), [text])?.data ?? [];
      // Its end is not looked at, but nothing of it is used.
      isRefused = name === "undefined";
    } catch {
      isRefused = true;
    }
    assert(isRefused, text.slice(0, 20));
  }
});

Deno.test("what a client takes is all that any event of the table lets in (§10)", () => {
  const requests = Object.values(REQUEST_BOUNDS).map(({ values }) => values);
  const answers = Object.values(CLIENT_EVENTS)
    .map(({ bounds }) => bounds.answer.values);
  assertEquals(MAX_EVENT_VALUES, Math.max(...requests));
  assertEquals(MAX_ANSWER_VALUES, Math.max(...answers));
});
