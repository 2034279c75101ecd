import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers";
import { FrameSocket } from "../../server/wire/frame_socket.ts";

Deno.test("FrameSocket closes with 1011 when whoever takes a message throws; nothing is thrown at the process", async () => {
  const sent: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      sent.push(chunk);
      done();
    },
  });
  const frames = new FrameSocket(socket, 1000);
  const failed = Promise.withResolvers<unknown>();
  frames.on("error", failed.resolve);
  frames.on("message", () => {});
  frames.tap = () => {
    throw new RangeError("out of memory");
  };
  const closed = new Promise((resolve) => frames.on("close", resolve));
  socket.push(Buffer.from([0x81, 0x81, 0, 0, 0, 0, 0x34]));
  await failed.promise;
  assertEquals(Buffer.concat(sent), Buffer.from([0x88, 2, 0x03, 0xf3]));
  frames.terminate();
  await closed;
});

/** A peer that reads nothing and asks for pongs of 64 KiB and more: what waits for them, unless it is cut off. */
async function pingWithoutReading(
  limit: (frames: FrameSocket) => void,
): Promise<{ waiting: number; cutOff: boolean }> {
  const socket = new Duplex({
    read() {},
    write() {}, // is never done
  });
  const frames = new FrameSocket(socket, 1000);
  const closed = new Promise((resolve) => frames.on("close", resolve));
  frames.on("message", () => {});
  limit(frames);
  const ping = Buffer.alloc(6 + 125);
  ping.set([0x89, 0x80 | 125]);
  for (let i = 0; i < 600; i++) socket.push(Buffer.from(ping));
  await new Promise((resolve) => setImmediate(resolve)); // until they are read
  const waiting = socket.writableLength;
  const cutOff = socket.destroyed;
  frames.terminate();
  await closed;
  return { waiting, cutOff };
}

Deno.test("FrameSocket bounds what waits for a peer before it carries a session, too", async () => {
  const { waiting, cutOff } = await pingWithoutReading(() => {});
  assertEquals([waiting <= 65_536, cutOff], [true, true]);
});

Deno.test("FrameSocket.limitQueue() decides from then on", async () => {
  assertEquals(
    await pingWithoutReading((frames) => frames.limitQueue(Infinity, () => {})),
    { waiting: 600 * 127, cutOff: false },
  );
});

Deno.test("FrameSocket.sendFrame() sends each of many peers the same frame, and joins its parts once", async () => {
  const sent: Buffer[] = [];
  const peers = [1, 2, 3].map(() =>
    new FrameSocket(
      new Duplex({
        read() {},
        write(chunk, _encoding, done) {
          sent.push(chunk);
          done();
        },
      }),
      1000,
    )
  );
  const parts = [Buffer.from([0x81, 2]), Buffer.from("hi")];
  let done = 0;
  for (const peer of peers) peer._sender.sendFrame(parts, () => done++);
  assertEquals(sent, peers.map(() => Buffer.from([0x81, 2, 0x68, 0x69])));
  assertEquals([parts.length, done], [1, peers.length]);
  assertEquals(sent.every((frame) => frame === sent[0]), true);
  await Promise.all(peers.map((peer) => {
    const closed = new Promise((resolve) => peer.on("close", resolve));
    peer.terminate();
    return closed;
  }));
});
