import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import {
  clientFrame,
  OP,
  RawWebSocket,
} from "../support/wire/raw_websocket.ts";
import { onEachEngine } from "../support/server/wire_server.ts";

/** An event that is answered, with these bytes in its payload. */
function event(id: number, bytes: readonly number[], padding = 0): Buffer {
  return Buffer.concat([
    Buffer.from(`42/smcp,${id}["server:list_room",{"x":"`),
    Buffer.alloc(padding, "x"),
    Buffer.from(bytes),
    Buffer.from('"}]'),
  ]);
}

/** The first and the last character of each length, and those next to gaps. */
const VALID: number[][] = [
  [0x7f],
  [0xc2, 0x80],
  [0xdf, 0xbf],
  [0xe0, 0xa0, 0x80],
  [0xed, 0x9f, 0xbf],
  [0xee, 0x80, 0x80],
  [0xef, 0xbf, 0xbd],
  [0xef, 0xbf, 0xbf],
  [0xf0, 0x90, 0x80, 0x80],
  [0xf4, 0x8f, 0xbf, 0xbf],
  [0xce, 0xba, 0xe1, 0xbd, 0xb9, 0xcf, 0x83, 0xce, 0xbc, 0xce, 0xb5],
];

const INVALID: [what: string, bytes: number[]][] = [
  ["a continuation byte alone", [0x80]],
  ["the last continuation byte", [0xbf]],
  ["a start without its continuation", [0xc3, 0x28]],
  ["two of three bytes", [0xe2, 0x82]],
  ["three of four bytes", [0xf0, 0x9f, 0x98]],
  ["an overlong slash", [0xc0, 0xaf]],
  ["an overlong NUL", [0xc0, 0x80]],
  ["overlong in three bytes", [0xe0, 0x9f, 0xbf]],
  ["overlong in four bytes", [0xf0, 0x8f, 0xbf, 0xbf]],
  ["a high surrogate", [0xed, 0xa0, 0x80]],
  ["a low surrogate", [0xed, 0xbf, 0xbf]],
  ["a pair of surrogates", [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]],
  ["beyond Unicode", [0xf4, 0x90, 0x80, 0x80]],
  ["five bytes", [0xf8, 0x88, 0x80, 0x80, 0x80]],
  ["six bytes", [0xfc, 0x84, 0x80, 0x80, 0x80, 0x80]],
  ["0xFE", [0xfe]],
  ["0xFF", [0xff]],
];

/** Sizes for each way of reading: small, in blocks, over many chunks. */
const PADDING = [0, 5000, 200_000];

onEachEngine(
  "text of valid UTF-8 is read, whole and split within characters (§5.6)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    for (const [id, bytes] of VALID.entries()) {
      for (const padding of PADDING) {
        const message = event(id, bytes, padding);
        raw.write(clientFrame(OP.text, message));
        await raw.text(`43/smcp,${id}[`);
        const cut = message.length - 4; // within the last character
        raw.write(
          clientFrame(OP.text, message.subarray(0, cut), { fin: false }),
          clientFrame(OP.continuation, message.subarray(cut)),
        );
        await raw.text(`43/smcp,${id}[`);
      }
    }
  },
);

onEachEngine(
  "invalid UTF-8 closes with 1007, at any position (§8.1)",
  async (start) => {
    await using server = await start();
    for (const [what, bytes] of INVALID) {
      for (const padding of PADDING) {
        await using raw = await RawWebSocket.connect(server.port);
        raw.write(clientFrame(OP.text, event(1, bytes, padding)));
        assertEquals(await raw.closed, 1007, `${what}, ${padding}`);
      }
      await using raw = await RawWebSocket.connect(server.port);
      const message = event(1, bytes);
      const cut = message.length - 4;
      raw.write(
        clientFrame(OP.text, message.subarray(0, cut), { fin: false }),
        clientFrame(OP.continuation, message.subarray(cut)),
      );
      assertEquals(await raw.closed, 1007, `${what}, in fragments`);
    }
  },
);

onEachEngine("binary messages need not be UTF-8 (§5.6)", async (start) => {
  await using server = await start();
  await using raw = await RawWebSocket.connect(server.port);
  raw.send('451-/smcp,1["server:list_room",{"_placeholder":true,"num":0}]');
  raw.send(Buffer.from([0xff, 0xfe, 0xc0, 0x80]));
  await raw.text("43/smcp,1[");
});
