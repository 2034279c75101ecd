import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers";
import { FrameSocket } from "../../../../server/wire/websocket/frame_socket.ts";

Deno.test("FrameSocket closes with 1011 when a message handler throws, without an uncaught error", async () => {
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

/** A socket whose peer sends and never reads, with its queue. */
async function unread(): Promise<
  { socket: Duplex; frames: FrameSocket; writes: Buffer[]; sent: () => void }
> {
  const writes: Buffer[] = [];
  let sent: (() => void) | undefined;
  const socket = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      writes.push(chunk);
      sent = done;
    },
  });
  const frames = new FrameSocket(socket, 1000);
  frames.on("message", () => {});
  await turn();
  return {
    socket,
    frames,
    writes,
    sent() {
      const done = sent;
      sent = undefined;
      done?.();
    },
  };
}

/** Waits until pushed data is read and sent data is written. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function terminate(frames: FrameSocket): Promise<void> {
  if (frames._socket.closed) return;
  const closed = new Promise((resolve) => frames.on("close", resolve));
  frames.terminate();
  await closed;
}

/** A ping that says which it is. */
const ping = (index: number): Buffer =>
  Buffer.from([0x89, 0x82, 0, 0, 0, 0, index >> 8, index & 0xff]);

Deno.test("FrameSocket queues few pongs for a peer that does not read, and answers the last of many pings (RFC 6455 §5.5.3)", async () => {
  const { socket, frames, writes, sent } = await unread();
  const pings = Array.from({ length: 90 }, (_, i) => ping(i));
  socket.push(Buffer.concat(pings));
  await turn();
  assert(socket.writableLength <= 32 * 4, `${socket.writableLength}`);
  for (let i = 0; i < 40; i++) {
    sent();
    await turn();
  }
  assertEquals(writes[0], Buffer.from([0x8a, 2, 0, 0]));
  assertEquals(writes.at(-1), Buffer.from([0x8a, 2, 0, 89]));
  assertEquals(writes.length, 33);
  await terminate(frames);
});

Deno.test("FrameSocket disconnects a peer without a session when more than 64 KiB are queued", async () => {
  const { socket, frames } = await unread();
  for (let i = 0; i < 60; i++) frames.send("x".repeat(1000));
  await turn();
  assertEquals(socket.destroyed, false);
  for (let i = 0; i < 10; i++) frames.send("x".repeat(1000));
  assert(socket.writableLength <= 65_536);
  await turn(); // it is cut off a moment later
  assertEquals(socket.destroyed, true);
  await terminate(frames);
});

Deno.test("FrameSocket.limitQueue() replaces the early limit", async () => {
  const { socket, frames } = await unread();
  frames.limitQueue(Infinity, () => {});
  for (let i = 0; i < 100; i++) frames.send("x".repeat(1000));
  await turn();
  assertEquals([socket.writableLength, socket.destroyed], [100_400, false]);
  await terminate(frames);
});

Deno.test("FrameSocket sends all frames of a turn in one write, in order, and counts those that it holds", async () => {
  const writes: string[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      writes.push(`${chunk}`);
      done();
    },
    writev(chunks, done) {
      writes.push(Buffer.concat(chunks.map(({ chunk }) => chunk)).toString());
      done();
    },
  });
  const frames = new FrameSocket(socket, 1000);
  frames.on("message", (message) => frames.send(`re ${message}`));
  await turn();
  const text = (letter: string) =>
    Buffer.from([0x81, 0x81, 0, 0, 0, 0, letter.charCodeAt(0)]);
  socket.push(Buffer.concat([text("a"), text("b"), text("c")]));
  await turn();
  assertEquals(writes.splice(0), [
    "\ufffd\x04re a\ufffd\x04re b\ufffd\x04re c",
  ]);
  frames.send("alone");
  assertEquals(socket.writableLength, 7);
  await turn();
  assertEquals(writes.splice(0), ["\ufffd\x05alone"]);
  frames.send("last");
  frames.close(1000);
  await turn();
  assertEquals(writes.splice(0), ["\ufffd\x04last\ufffd\x02\x03\ufffd"]);
  await terminate(frames);
});
