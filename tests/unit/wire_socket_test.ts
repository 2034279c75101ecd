import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
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
