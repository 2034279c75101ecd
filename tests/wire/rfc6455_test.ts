/**
 * WebSocket frames as a peer sees them (RFC 6455), on both engines. Their parts have unit tests in
 * tests/unit/server/wire: here is that the engines put them together, with the answers on the wire.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Buffer } from "node:buffer";
import { startBoundedServer } from "../support/server/bounded_server.ts";
import {
  onEachEngine,
  startWireServer,
} from "../support/server/wire_server.ts";
import { rawHttp, upgradeHead } from "../support/wire/raw_http.ts";
import {
  clientFrame,
  closeFrame,
  frameHeader,
  type FrameOptions,
  OP,
  RawWebSocket,
  webSocketTarget,
} from "../support/wire/raw_websocket.ts";

const { continuation, text, binary, ping, pong } = OP;
const MORE = { fin: false };

/** An event that is answered, with text or bytes behind so much padding. */
const event = (id: number, padding = 0, more: string | Buffer = ""): Buffer =>
  Buffer.concat([
    Buffer.from(`42/smcp,${id}["server:list_room",{"x":"`),
    Buffer.alloc(padding, "x"),
    Buffer.from(more),
    Buffer.from('"}]'),
  ]);

/** A text message in fragments of these sizes, over and over. */
function fragments(message: Buffer, sizes: readonly number[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < message.length;) {
    const size = sizes[parts.length % sizes.length]!;
    parts.push(message.subarray(at, at += size));
  }
  return parts.map((part, i) =>
    clientFrame(i === 0 ? text : continuation, part, {
      fin: i === parts.length - 1,
    })
  );
}

/** Resolves when the server has read what was written, so that writes arrive separately. */
const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

/** Opens a connection, sends bytes, and resolves with the code that it is closed with. */
async function codeOf(
  port: number,
  ...bytes: readonly Uint8Array[]
): Promise<number> {
  await using raw = await RawWebSocket.connect(port);
  raw.write(...bytes);
  return await raw.closed;
}

const HEAD = upgradeHead(webSocketTarget());

/** The head without some headers, and with others. */
const headWith = (without: RegExp, ...lines: string[]): string[] => [
  ...HEAD.filter((line) => !without.test(line)),
  ...lines,
];

onEachEngine(
  "the handshake is that of RFC 6455: accept key, subprotocol, no extension (§4.2)",
  async ({ port }) => {
    const { status, headers } = await rawHttp(port, [
      ...headWith(/^(Upgrade|Connection)/), // names and values in any case
      "UPGRADE: WebSocket",
      "connection: keep-alive, uPGRADE",
      "Sec-WebSocket-Protocol: one, two",
      "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
    ]);
    const { upgrade, connection } = headers;
    assertEquals(
      [status, upgrade?.toLowerCase(), connection?.toLowerCase()],
      [101, "websocket", "upgrade"],
    );
    assertEquals(
      ["accept", "protocol", "extensions"]
        .map((name) => headers[`sec-websocket-${name}`]),
      ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "one", undefined],
    );
    const plain = await rawHttp(port, HEAD);
    assertEquals(plain.headers["sec-websocket-protocol"], undefined);
    const key = "Sec-WebSocket-Key";
    const version = "Sec-WebSocket-Version";
    for (
      const head of [
        headWith(/-Key/),
        headWith(/-Key/, `${key}: `),
        headWith(/-Key/, `${key}: dGhlIHNhbXBsZSBub25jZQ`),
        headWith(/-Key/, `${key}: dGhlIHNhbXBsZSBub25jZQ===`),
        headWith(/-Version/),
        headWith(/-Version/, `${version}: 12`),
        headWith(/^Upgrade/, "Upgrade: h2c"),
        [HEAD[0]!.replace("GET", "POST"), ...HEAD.slice(1)],
      ]
    ) {
      const { status } = await rawHttp(port, head);
      assertMatch(String(status), /^4\d\d$/, head.join("\n"));
    }
  },
);

onEachEngine(
  "frames in the segment of the upgrade request are read",
  async ({ port }) => {
    const early = Buffer.concat([
      clientFrame(text, "40/smcp,"),
      clientFrame(ping, "early"),
    ]);
    for (let i = 0; i < 40; i++) {
      await using raw = await RawWebSocket.open(port, { early });
      assertMatch(await raw.text("40/smcp,"), /"sid"/);
    }
  },
);

/** The first and the last character of each length in UTF-8, and those next to gaps. */
const CHARACTERS = Buffer.from(
  "\x7f\x80\u07ff\u0800\ud7ff\ue000\ufffd\uffff\u{10000}\u{10ffff}κόσμε",
);

onEachEngine(
  "a message is read with any length, mask, segments, fragments and text (§5.2 to §5.6)",
  async ({ port }) => {
    await using raw = await RawWebSocket.connect(port);
    let id = 0;
    const read = async (
      padding: number,
      segments: (message: Buffer) => Uint8Array[],
      more?: Buffer,
    ) => {
      for (const segment of segments(event(++id, padding, more))) {
        await raw.written(segment);
        await turn();
      }
      await raw.text(`43/smcp,${id}[`);
    };
    const head = event(10).length;
    for (const length of [125, 126, 4096, 65_535, 65_536, 300_000, 5_000_000]) {
      for (const cut of length < 100_000 ? [0, 1, 3, 9, 13, 15] : [0, 14]) {
        await read(length - head, (message) => {
          const frame = clientFrame(text, message);
          return [frame.subarray(0, cut), frame.subarray(cut)];
        });
      }
    }
    await read(
      100,
      (message) =>
        [...clientFrame(text, message)].map((byte) => Buffer.of(byte)),
    );
    for (
      const mask of [[0, 0, 0, 0], [0, 0, 0, 1], [128, 0, 7, 255]] as const
    ) {
      for (const padding of [0, 5000, 70_000]) {
        await read(
          padding,
          (message) => [clientFrame(text, message, { mask })],
        );
      }
    }
    for (const sizes of [[1], [2, 3], [7, 1, 100]]) {
      await read(0, (message) => [Buffer.concat(fragments(message, sizes))]);
    }
    for (const sizes of [[125], [126, 1], [4095, 65_536], [5, 350_000]]) {
      await read(
        400_000,
        (message) => [Buffer.concat(fragments(message, sizes))],
      );
    }
    await read(30_000, (message) => fragments(message, [10_000, 1, 4096]));
    const empty = clientFrame(continuation, "", MORE);
    await read(0, (message) => [
      clientFrame(text, "", MORE),
      empty,
      clientFrame(continuation, message.subarray(0, 9), MORE),
      empty,
      clientFrame(continuation, message.subarray(9), MORE),
      clientFrame(continuation, ""),
    ]);
    for (const padding of [0, 5000, 200_000]) {
      const whole = (message: Buffer) => [clientFrame(text, message)];
      await read(padding, whole, CHARACTERS);
      const within = (message: Buffer) =>
        fragments(message, [message.length - 4]);
      await read(padding, within, CHARACTERS);
    }
    const ids = Array.from({ length: 200 }, (_, i) => i);
    raw.write(...ids.map((id) => clientFrame(text, event(id, id * 30))));
    for (const id of ids) {
      assertMatch(await raw.text("43"), RegExp(`^43/smcp,${id}\\[`));
    }
    raw.send('451-/smcp,1["server:list_room",{"_placeholder":true,"num":0}]');
    raw.send(Buffer.from([0xff, 0xfe, 0xc0, 0x80])); // bytes need not be UTF-8
    await raw.text("43/smcp,1[");
  },
  { limits: false },
);

onEachEngine(
  "each ping is answered by a pong with its payload, also between fragments (§5.4, §5.5)",
  async ({ port }) => {
    await using raw = await RawWebSocket.connect(port);
    const [first, ...rest] = fragments(event(1), [5]);
    const payloads = [0, 1, 124, 125].map((length) => Buffer.alloc(length, 255))
      .concat(Array.from({ length: 10 }, (_, i) => Buffer.from(`ping ${i}`)));
    raw.write(clientFrame(pong, ""), clientFrame(pong, "x".repeat(125)));
    raw.write(first!, ...payloads.map((payload) => clientFrame(ping, payload)));
    for (const payload of payloads) {
      const answer = { fin: true, rsv: 0, opcode: pong, masked: false };
      assertEquals(await raw.frame(), { ...answer, payload });
    }
    raw.write(...rest.flatMap((frame) => [clientFrame(ping, ""), frame]));
    await raw.text("43/smcp,1[");
    await using opened = await RawWebSocket.open(port);
    const { fin, rsv, masked, opcode } = await opened.frame();
    assertEquals([fin, rsv, masked, opcode], [true, 0, false, text]);
  },
);

/** Close codes that a peer may send; 1014 is the last one that is registered. */
const CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012]
  .concat(1013, 1014, 3000, 3999, 4000, 4999);

const NO_CODES = [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999]
  .concat(5000, 65_535);

/** Bytes that are no UTF-8: alone, cut off, overlong, surrogates, beyond Unicode, and of no length. */
const NO_UTF8 = [
  ..."80 bf c328 e282 f09f98 c0af c080 e09fbf f08fbfbf".split(" "),
  ..."eda080 edbfbf eda0bdedb880 f4908080 f888808080 fe ff".split(" "),
].map((hex) => Buffer.from(hex, "hex"));

/** Sends frames of no message; `options` such as reserved bits. */
const framesOf = (
  opcodes: readonly number[],
  payload: string | Uint8Array,
  options?: FrameOptions,
): Buffer[] => opcodes.map((opcode) => clientFrame(opcode, payload, options));

/** What ends a connection, by the code that it is closed with: a text is the name, bytes are sent at once. */
const ENDS: readonly [name: string, code: number, ends: Buffer[]][] = [
  ["no mask (§5.1)", 1002, framesOf(Object.values(OP), "", { mask: null })],
  ...[1, 2, 3, 4, 5, 6, 7].map((rsv): typeof ENDS[number] => [
    `reserved bits ${rsv} (§5.2)`,
    1002,
    framesOf([text, binary, ping, OP.close], "", { rsv }),
  ]),
  ["reserved opcodes (§5.2)", 1002, [
    ...framesOf([3, 4, 5, 6, 7, 11, 12, 13, 14, 15], ""),
    ...framesOf([3, 11], "x"),
  ]],
  ["long control frames (§5.5)", 1002, [
    ...framesOf([OP.close, ping, pong], Buffer.alloc(126)),
    ...[OP.close, ping, pong].map((opcode) => frameHeader(opcode, 70_000)),
  ]],
  ["fragmented control frames (§5.5)", 1002, [
    ...framesOf([OP.close, ping, pong], "", MORE),
    ...framesOf([OP.close, ping, pong], "ab", MORE),
  ]],
  ["fragments out of place (§5.4)", 1002, [
    clientFrame(continuation, "x"),
    clientFrame(continuation, "x", MORE),
    Buffer.concat([
      ...fragments(event(1), [9]),
      clientFrame(continuation, "x"),
    ]),
    ...[[text, text], [text, binary], [binary, text]].map(([first, second]) =>
      Buffer.concat([
        clientFrame(first!, "4", MORE),
        clientFrame(second!, "4"),
      ])
    ),
  ]],
  ["invalid close codes (§7.4)", 1002, [
    ...NO_CODES.map((code) => closeFrame(code)),
    clientFrame(OP.close, Buffer.of(3)),
  ]],
  ["a reason of 124 bytes (§5.5.1)", 1002, [closeFrame(1000, "x".repeat(124))]],
  ["a reason of no UTF-8 (§5.5.1)", 1007, [closeFrame(1000, NO_UTF8[9])]],
  ["a reason of 123 bytes (§5.5.1)", 1000, [
    closeFrame(1000, "é".repeat(61) + "."),
  ]],
  ["no code (§7.1.5)", 1005, [closeFrame()]],
  ...CODES.map((code): typeof ENDS[number] => [
    `close code ${code} (§7.1.1)`,
    code,
    [closeFrame(code, "because")],
  ]),
  ["no UTF-8 (§8.1)", 1007, [
    ...[0, 5000, 200_000].flatMap((padding) =>
      NO_UTF8.map((it) => clientFrame(text, event(1, padding, it)))
    ),
    ...NO_UTF8.map((it) => {
      const message = event(1, 0, it);
      return Buffer.concat(fragments(message, [message.length - 4]));
    }),
  ]],
];

onEachEngine(
  "invalid frames and close frames end a connection with the code of RFC 6455 (§5, §7.4, §8.1)",
  async ({ port }) => {
    for (const [name, code, ends] of ENDS) {
      for (const bytes of ends) {
        assertEquals(await codeOf(port, bytes), code, `${name}: ${bytes}`);
      }
    }
  },
);

onEachEngine(
  "a length over the limit closes with 1009, before the payload (§7.4.1)",
  async ({ port }) => {
    const over = { lengthBytes: 8 } as const;
    for (const length of [100_001, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER]) {
      const header = frameHeader(text, length, over);
      assertEquals(await codeOf(port, header), 1009, `${length}`);
    }
    const huge = frameHeader(binary, 0, over);
    huge.fill(0xff, 2, 10); // its first bit must be 0
    assertEquals(await codeOf(port, huge), 1009);
    const together = fragments(Buffer.alloc(100_001, "4"), [10_000]);
    assertEquals(await codeOf(port, ...together), 1009);
    await using raw = await RawWebSocket.connect(port);
    raw.write(clientFrame(text, event(1, 100_000 - event(1).length)));
    await raw.text("43/smcp,1[");
  },
  { maxMessageBytes: 100_000 },
);

onEachEngine(
  "frames before an end take effect, and those after it have none (§5.5.1, §7.1.7)",
  async ({ port }) => {
    const later = [
      clientFrame(ping, "late"),
      clientFrame(text, event(1)),
      closeFrame(1001),
    ];
    const [first, ...rest] = fragments(event(1), [5]);
    const rows: [name: string, code: number, frames: Buffer[]][] = [
      ["an invalid frame", 1002, [clientFrame(3, ""), ...later]],
      ["a close frame", 1000, [closeFrame(1000), ...later]],
      ["between fragments", 1000, [first!, closeFrame(1000), ...rest]],
    ];
    for (const [name, code, frames] of rows) {
      await using raw = await RawWebSocket.connect(port);
      raw.write(clientFrame(ping, "before"), ...frames);
      assertEquals((await raw.frame()).payload.toString(), "before", name);
      assertEquals((await raw.frame()).opcode, OP.close, name);
      assertEquals(await raw.closed, code, name);
      await assertRejects(() => raw.frame());
    }
  },
);

onEachEngine(
  "a close frame of either side is awaited by the other, then TCP ends (§5.5.1, §7.1)",
  async ({ port }) => {
    await using ours = await RawWebSocket.connect(port);
    ours.answersClose = false;
    ours.write(closeFrame(1000));
    assertEquals(await ours.closed, 1000);
    await using raw = await RawWebSocket.connect(port);
    raw.answersClose = false;
    raw.send("4abc"); // not a packet
    assertEquals((await raw.frame()).opcode, OP.close);
    assert(!raw.over);
    raw.write(closeFrame());
    await raw.closed;
  },
);

onEachEngine(
  "too many fragments close with 1008, even empty ones",
  async ({ port }) => {
    const empty = clientFrame(continuation, "", MORE);
    const frames = [clientFrame(text, "4", MORE), ...Array(20_000).fill(empty)];
    assertEquals(await codeOf(port, ...frames), 1008);
  },
);

Deno.test("more than a hundred control frames per second close with 1008", async () => {
  await using server = await startWireServer();
  for (const opcode of [ping, pong]) {
    for (const open of [RawWebSocket.open, RawWebSocket.connect]) {
      await using raw = await open(server.port);
      raw.write(...Array(20_000).fill(clientFrame(opcode, "x")));
      assertEquals(await raw.closed, 1008);
    }
  }
});

Deno.test({
  name: "40 connections that only send pings delay no other client's calls",
  timeout: 120_000,
}, async () => {
  await using server = await startBoundedServer();
  const port = Number(new URL(server.url).port);
  const pings = Buffer.concat(Array(10_000).fill(clientFrame(ping, "")));
  const codes = await Promise.all(
    Array.from({ length: 40 }, async () => {
      await using raw = await RawWebSocket.connect(port);
      for (let i = 0; i < 50 && !raw.over; i++) raw.write(pings);
      return await raw.closed;
    }),
  );
  // 1006 where what was still being sent broke TCP before the close frame was read.
  assertEquals(codes.filter((code) => code !== 1008 && code !== 1006), []);
  await server.unharmed();
});
