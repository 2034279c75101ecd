import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import {
  clientFrame,
  frameHeader,
  OP,
  RawWebSocket,
} from "../support/wire/raw_websocket.ts";
import { onEachEngine } from "../support/server/wire_server.ts";

/** An event with an ack, of exactly `size` bytes including the type of Engine.IO. */
function event(id: number, bytes: number): string {
  const [head, tail] = [`42/smcp,${id}["server:list_room",{"x":"`, '"}]'];
  return head + "x".repeat(bytes - head.length - tail.length) + tail;
}

/** Asserts that the peer is closed with a code when it sends this. */
async function assertCloses(
  port: number,
  code: number,
  bytes: Uint8Array,
  what: string,
): Promise<void> {
  await using raw = await RawWebSocket.connect(port);
  raw.write(bytes);
  assertEquals(await raw.closed, code, what);
}

onEachEngine(
  "messages with every form of length are read, regardless of segments (§5.2)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    const sizes = [
      60,
      124,
      125,
      126,
      127,
      128,
      4095,
      4096,
      4097,
      65_534,
      65_535,
      65_536,
      65_537,
      300_000,
      5_000_000,
    ];
    for (const [id, size] of sizes.entries()) {
      const message = clientFrame(OP.text, event(id, size));
      const cuts = [1, 2, 5, 6, 9, 13, 14, 15, message.length - 1];
      raw.write(message);
      await raw.text(`43/smcp,${id}[`);
      for (const cut of size < 100_000 ? cuts : [14]) {
        await raw.written(message.subarray(0, cut));
        await turn();
        raw.write(message.subarray(cut));
        await raw.text(`43/smcp,${id}[`);
      }
    }
  },
);

onEachEngine("a message that arrives byte by byte is read", async (start) => {
  await using server = await start();
  await using raw = await RawWebSocket.connect(server.port);
  for (const byte of clientFrame(OP.text, event(1, 200))) {
    await raw.written(Buffer.from([byte]));
    await turn();
  }
  await raw.text("43/smcp,1[");
});

onEachEngine(
  "many messages in one segment are read in order",
  async (start) => {
    await using server = await start({ limits: false });
    await using raw = await RawWebSocket.connect(server.port);
    const ids = Array.from({ length: 200 }, (_, id) => id);
    raw.write(
      ...ids.map((id) => clientFrame(OP.text, event(id, 60 + id * 30))),
    );
    for (const id of ids) {
      assertEquals((await raw.text("43")).startsWith(`43/smcp,${id}[`), true);
    }
  },
);

onEachEngine(
  "any mask is removed, including that of zeros (§5.3)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    const masks = [[0, 0, 0, 0], [255, 255, 255, 255], [0, 0, 0, 1], [
      128,
      0,
      7,
      0,
    ]] as const;
    for (const [id, mask] of masks.entries()) {
      for (const size of [60, 5000, 70_000]) {
        raw.write(clientFrame(OP.text, event(id, size), { mask }));
        await raw.text(`43/smcp,${id}[`);
      }
    }
  },
);

onEachEngine(
  "a frame without a mask closes with 1002 (§5.1)",
  async (start) => {
    await using server = await start();
    for (const [name, opcode] of Object.entries(OP)) {
      await assertCloses(
        server.port,
        1002,
        clientFrame(opcode, "", { mask: null }),
        name,
      );
    }
  },
);

onEachEngine(
  "a reserved bit closes with 1002, since no extension is negotiated (§5.2)",
  async (start) => {
    await using server = await start();
    for (const rsv of [1, 2, 3, 4, 5, 6, 7]) {
      for (const opcode of [OP.text, OP.binary, OP.ping, OP.close]) {
        const frame = clientFrame(opcode, "", { rsv });
        await assertCloses(server.port, 1002, frame, `${rsv} ${opcode}`);
      }
    }
  },
);

onEachEngine("a reserved opcode closes with 1002 (§5.2)", async (start) => {
  await using server = await start();
  for (const opcode of [3, 4, 5, 6, 7, 11, 12, 13, 14, 15]) {
    for (const payload of ["", "x"]) {
      const frame = clientFrame(opcode, payload);
      await assertCloses(server.port, 1002, frame, `${opcode}`);
    }
  }
});

onEachEngine(
  "a length over the limit closes with 1009, before the payload (§7.4.1)",
  async (start) => {
    await using server = await start({ maxMessageBytes: 100_000 });
    for (
      const length of [
        100_001,
        2 ** 31,
        2 ** 32,
        2 ** 40,
        Number.MAX_SAFE_INTEGER,
      ]
    ) {
      const header = frameHeader(OP.text, length, { lengthBytes: 8 });
      await assertCloses(server.port, 1009, header, `${length}`);
    }
    const huge = frameHeader(OP.binary, 0, { lengthBytes: 8 });
    huge.fill(0xff, 2, 10); // its first bit must be 0
    await assertCloses(server.port, 1009, huge, "2^64 - 1");
    await using raw = await RawWebSocket.connect(server.port);
    raw.send(event(1, 100_000));
    await raw.text("43/smcp,1[");
  },
);

onEachEngine(
  "frames after an invalid frame have no effect (§7.1.7)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    raw.write(
      clientFrame(3, ""),
      clientFrame(OP.ping, "late"),
      clientFrame(OP.text, event(1, 60)),
    );
    const { opcode } = await raw.frame();
    assertEquals([opcode, await raw.closed], [OP.close, 1002]);
  },
);

onEachEngine("frames before an invalid frame take effect", async (start) => {
  await using server = await start();
  await using raw = await RawWebSocket.connect(server.port);
  raw.write(clientFrame(OP.ping, "before"), clientFrame(3, ""));
  assertEquals((await raw.frame()).payload.toString(), "before");
  assertEquals(await raw.closed, 1002);
});

/** Waits until the server has read everything, so that writes arrive separately. */
const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 0));
