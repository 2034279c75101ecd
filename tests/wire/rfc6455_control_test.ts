import { assert, assertEquals, assertRejects } from "@std/assert";
import { Buffer } from "node:buffer";
import {
  clientFrame,
  closeFrame,
  frameHeader,
  OP,
  RawWebSocket,
} from "../support/wire/raw_websocket.ts";
import {
  onEachEngine,
  startWireServer,
} from "../support/server/wire_server.ts";

onEachEngine(
  "a ping is answered by a pong with its payload, up to 125 bytes (§5.5.2)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    for (const size of [0, 1, 4, 124, 125]) {
      const payload = Buffer.from(
        Array.from({ length: size }, (_, i) => 255 - i),
      );
      raw.write(clientFrame(OP.ping, payload));
      const pong = await raw.frame();
      assertEquals([pong.opcode, pong.fin, pong.masked], [
        OP.pong,
        true,
        false,
      ]);
      assertEquals([...pong.payload], [...payload]);
    }
  },
);

onEachEngine(
  "ten pings in one segment are answered one by one",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    const names = Array.from({ length: 10 }, (_, i) => `ping ${i}`);
    raw.write(...names.map((name) => clientFrame(OP.ping, name)));
    for (const name of names) {
      assertEquals((await raw.frame()).payload.toString(), name);
    }
  },
);

onEachEngine(
  "an unsolicited pong is ignored (§5.5.3)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    raw.write(clientFrame(OP.pong, ""), clientFrame(OP.pong, "x".repeat(125)));
    raw.write(clientFrame(OP.ping, "after"));
    assertEquals((await raw.frame()).payload.toString(), "after");
  },
);

onEachEngine(
  "a long or fragmented control frame closes with 1002 (§5.5)",
  async (start) => {
    await using server = await start();
    for (const opcode of [OP.close, OP.ping, OP.pong]) {
      for (
        const frame of [
          clientFrame(opcode, Buffer.alloc(126)),
          frameHeader(opcode, 70_000), // only the header
          clientFrame(opcode, "", { fin: false }),
          clientFrame(opcode, "ab", { fin: false }),
        ]
      ) {
        await using raw = await RawWebSocket.connect(server.port);
        raw.write(frame);
        assertEquals(await raw.closed, 1002, `${opcode} ${frame.length}`);
      }
    }
  },
);

onEachEngine(
  "a close frame is answered with its code, and the server closes TCP (§5.5.1, §7.1.1)",
  async (start) => {
    await using server = await start();
    for (
      const code of [
        1000,
        1001,
        1002,
        1003,
        1007,
        1008,
        1009,
        1010,
        1011,
        1012,
        1013,
        1014,
        3000,
        3999,
        4000,
        4999,
      ]
    ) {
      await using raw = await RawWebSocket.connect(server.port);
      raw.answersClose = false;
      raw.write(closeFrame(code, "because"));
      assertEquals(await raw.closed, code);
    }
  },
);

onEachEngine(
  "a close frame without a code is answered by one without (§7.1.5)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    raw.answersClose = false;
    raw.write(closeFrame());
    assertEquals(await raw.closed, 1005);
  },
);

onEachEngine(
  "an invalid close code closes with 1002 (§7.4)",
  async (start) => {
    await using server = await start();
    for (
      const code of [
        0,
        1,
        999,
        1004,
        1005,
        1006,
        1015,
        1016,
        1100,
        2000,
        2999,
        5000,
        65_535,
      ]
    ) {
      await using raw = await RawWebSocket.connect(server.port);
      raw.write(closeFrame(code));
      assertEquals(await raw.closed, 1002, `${code}`);
    }
    await using raw = await RawWebSocket.connect(server.port);
    raw.write(clientFrame(OP.close, Buffer.from([3]))); // an incomplete code
    assertEquals(await raw.closed, 1002);
  },
);

onEachEngine(
  "the reason of a close frame may have up to 123 bytes of UTF-8 (§5.5.1)",
  async (start) => {
    await using server = await start();
    await using longest = await RawWebSocket.connect(server.port);
    longest.write(closeFrame(1000, "é".repeat(61) + "."));
    assertEquals(await longest.closed, 1000);
    await using longer = await RawWebSocket.connect(server.port);
    longer.write(closeFrame(1000, "x".repeat(124)));
    assertEquals(await longer.closed, 1002);
    await using invalid = await RawWebSocket.connect(server.port);
    invalid.write(
      closeFrame(1000, Buffer.from([0xce, 0xba, 0xed, 0xa0, 0x80])),
    );
    assertEquals(await invalid.closed, 1007);
  },
);

onEachEngine(
  "frames after a close frame are ignored (§5.5.1)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    raw.write(
      closeFrame(1000),
      clientFrame(OP.ping, "late"),
      clientFrame(OP.text, '42/smcp,1["server:list_room",{}]'),
      closeFrame(1001),
    );
    assertEquals((await raw.frame()).opcode, OP.close);
    assertEquals(await raw.closed, 1000);
    await assertRejects(() => raw.frame());
  },
);

onEachEngine(
  "a server that closes waits for the client's close frame (§7.1.2)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    raw.answersClose = false;
    raw.send("4abc"); // not a packet
    const { opcode } = await raw.frame();
    assertEquals(opcode, OP.close);
    assert(!raw.over);
    raw.write(closeFrame());
    await raw.closed;
  },
);

Deno.test("more than a hundred control frames per second close with 1008", async () => {
  await using server = await startWireServer();
  for (const opcode of [OP.ping, OP.pong]) {
    for (const open of [RawWebSocket.open, RawWebSocket.connect]) {
      await using raw = await open(server.port);
      raw.write(...Array(100).fill(clientFrame(opcode, "x")));
      raw.write(
        clientFrame(OP.pong, ""),
        ...Array(20_000).fill(clientFrame(opcode, "x")),
      );
      assertEquals(await raw.closed, 1008);
    }
  }
});
