import { assert, assertEquals, assertMatch } from "@std/assert";
import { Buffer } from "node:buffer";
import { testBounded } from "../support/server/bounded_server.ts";
import {
  clientFrame,
  frameHeader,
  OP,
  RawWebSocket,
} from "../support/wire/raw_websocket.ts";
import { hurryTimers } from "../support/timers.ts";
import { startWireServer } from "../support/server/wire_server.ts";

const MIB = 2 ** 20;

const portOf = ({ url }: { url: string }): number => Number(new URL(url).port);

const START = clientFrame(OP.text, "4", { fin: false });
const ONE_BYTE = clientFrame(OP.continuation, "2", { fin: false });

/** Defines a test of bytes that 90 connections send; an answered ping shows that they were read. */
const testCheap = (name: string, bytes: Uint8Array, isPinged: boolean) =>
  testBounded(name, async (server) => {
    await using stack = new AsyncDisposableStack();
    const before = await server.peakMiB();
    for (let i = 0; i < 90; i++) {
      const raw = stack.use(await RawWebSocket.connect(portOf(server)));
      await raw.written(bytes);
      if (!isPinged) continue;
      raw.write(clientFrame(OP.ping, ""));
      assertEquals((await raw.frame()).opcode, OP.pong);
    }
    const taken = await server.peakMiB() - before;
    assert(taken < 100, `${taken} MiB`);
  });

testCheap(
  "unfinished messages of one-byte fragments take little memory",
  Buffer.concat([START, ...Array(16_000).fill(ONE_BYTE)]),
  true,
);

testCheap(
  "announced messages take no memory before they arrive",
  Buffer.concat([frameHeader(OP.text, 8 * MIB), Buffer.from("4")]),
  false,
);

testBounded(
  "control frames between fragments count: too many of them close with 1008",
  async (server) => {
    await using raw = await RawWebSocket.connect(portOf(server));
    raw.write(START);
    const pongs = Array(500).fill(clientFrame(OP.pong, Buffer.alloc(125)));
    const chunk = Buffer.concat([ONE_BYTE, ...pongs]);
    // 650 MB, unless it is closed before.
    for (let i = 0; i < 10_000 && !raw.over; i++) await raw.written(chunk);
    assertEquals(await raw.closed, 1008);
  },
);

testBounded(
  "unfinished messages take at most 128 MiB together, then the largest is closed with 1013",
  async (server) => {
    await using stack = new AsyncDisposableStack();
    const message = clientFrame(OP.text, "4".repeat(8 * MIB));
    const raws: RawWebSocket[] = [];
    for (let i = 0; i < 60; i++) { // 480 MiB
      const raw = stack.use(await RawWebSocket.connect(portOf(server)));
      await raw.written(message.subarray(0, -1));
      raws.push(raw);
    }
    await using honest = await RawWebSocket.connect(portOf(server));
    honest.send(event(1, MIB)); // still answered in spite of the others
    await honest.text("43/smcp,1[");
    const codes = await Promise.all(
      raws.filter((raw) => raw.closing).map((raw) => raw.closed),
    );
    assert(codes.length >= 40, `${codes.length} were closed`);
    assertEquals(codes.filter((code) => code !== 1013), []);
  },
);

Deno.test("a message has at most 64 KiB before there is a session, then 8 MiB", async () => {
  await using server = await startWireServer();
  await using early = await RawWebSocket.open(server.port);
  early.write(frameHeader(OP.text, 64 * 1024 + 1)); // only the header
  assertEquals(await early.closed, 1009);

  await using binary = await RawWebSocket.open(server.port);
  binary.write(
    clientFrame(OP.binary, Buffer.alloc(65_000), { fin: false }),
    clientFrame(OP.continuation, Buffer.alloc(1000)),
  );
  assertEquals(await binary.closed, 1009);

  await using raw = await RawWebSocket.connect(server.port);
  raw.send(event(1, 8 * MIB - 100));
  assertMatch(await raw.text("43/smcp,1"), /^43/);
  raw.write(frameHeader(OP.text, 8 * MIB + 1));
  assertEquals(await raw.closed, 1009);
});

Deno.test("a stalled message closes its sender with 1008 after 20 seconds", async () => {
  await using server = await startWireServer();
  const beginnings = [
    frameHeader(OP.text, 100_000), // and not a byte of it
    START,
    clientFrame(OP.text, "4 and more").subarray(0, 7),
    Buffer.from([0x81]),
  ];
  for (const bytes of beginnings) {
    await using raw = await RawWebSocket.connect(server.port);
    using timers = hurryTimers(20_000);
    raw.write(bytes);
    assertEquals(await raw.closed, 1008);
    assertEquals(timers.armed.length, 1);
  }
});

Deno.test("a slow upload of 8 MiB passes, over many heartbeats without room for pongs", async () => {
  await using server = await startWireServer({
    heartbeat: { intervalMs: 20, timeoutMs: 2_000 },
  });
  await using raw = await RawWebSocket.open(server.port);
  await raw.text("2"); // before the wait for 40, which would drop it
  raw.send("40/smcp,");
  await raw.text("40/smcp,{");
  raw.send("3");
  const message = clientFrame(OP.text, event(1, 8 * MIB - 100));
  const parts = 20;
  const size = Math.ceil(message.length / parts);
  for (let i = 0; i < parts; i++) {
    await raw.text("2"); // send the next part at the server's next ping
    raw.write(message.subarray(i * size, (i + 1) * size));
  }
  for (let i = 0; i < parts; i++) raw.send("3"); // that waited behind it
  assertMatch(await raw.text("43/smcp,1"), /^43/);
  await raw.alive();
});

/** An event that is answered, of so many bytes. */
function event(id: number, bytes: number): string {
  const head = `42/smcp,${id}["server:list_room",{"x":"`;
  const tail = '"}]';
  return head + "x".repeat(bytes - head.length - tail.length) + tail;
}
