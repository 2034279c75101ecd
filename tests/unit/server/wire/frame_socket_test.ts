import { Buffer } from "node:buffer";
import { Duplex } from "node:stream";
import { assert, assertEquals } from "@std/assert";
import { setImmediate } from "node:timers";
import {
  FrameSocket,
  Upload,
  UPLOAD_WINDOW_MS,
  UploadWatch,
} from "../../../../server/wire/frame_socket.ts";
import { hurryTimers, keepsRunning } from "../../../support/timers.ts";

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

/** A reader at one moment. */
interface State {
  pending: boolean;
  messages: number;
  held: number;
  reserved: number;
}

const at = (messages: number, held: number, pending = true): State => ({
  pending,
  messages,
  held,
  reserved: 0,
});

/** Returns the outcome for a connection whose reader is in these states at each check. */
async function looks(first: State, ...states: State[]): Promise<string> {
  using _running = keepsRunning();
  using timers = hurryTimers(UPLOAD_WINDOW_MS);
  const watch = new UploadWatch({ bytesPerSecond: 1000, bytes: Infinity });
  const done = Promise.withResolvers<string>();
  let state = first;
  const upload = new Upload(
    watch,
    {
      get pending() {
        // Asked once a look, before all else.
        state = states.shift() ?? state;
        if (!state.pending) done.resolve("nothing to look at");
        return state.pending;
      },
      get messages() {
        return state.messages;
      },
      get held() {
        return state.held;
      },
      reserved: 0,
    },
    (error) => done.resolve(`${error.code} after ${timers.armed.length}`),
  );
  states.unshift(first);
  upload.note();
  const ended = await done.promise;
  watch.checks.clear();
  return ended;
}

Deno.test("Upload continues while its message grows fast enough, however long that takes", async () => {
  assertEquals(
    await looks(at(0, 1), at(0, 20_001), at(0, 40_001), at(0, 60_000)),
    "1008 after 3",
  );
});

Deno.test("Upload ends when its message grows too slowly, or not at all", async () => {
  assertEquals(await looks(at(0, 0), at(0, 0)), "1008 after 1");
  assertEquals(await looks(at(7, 500), at(7, 20_499)), "1008 after 1");
});

Deno.test("Upload gives the next message its own time window", async () => {
  assertEquals(
    await looks(at(0, 0), at(1, 5), at(2, 5), at(2, 5)),
    "1008 after 3",
  );
});

Deno.test("Upload is not checked without an unfinished message", async () => {
  assertEquals(
    await looks(at(0, 0), at(1, 0, false)),
    "nothing to look at",
  );
});

Deno.test("UploadWatch ends the largest message when all together hold too much, and counts their bytes", () => {
  const watch = new UploadWatch({ bytesPerSecond: 1, bytes: 1000 });
  const ended: string[] = [];
  const connection = (name: string) => {
    const reader = at(0, 0);
    const upload = new Upload(watch, reader, (error) => {
      ended.push(`${name} ${error.code}`);
      reader.reserved = 0;
      upload.note();
    });
    return {
      holds(bytes: number) {
        reader.reserved = bytes;
        upload.note();
      },
      upload,
    };
  };
  const [a, b, c] = ["a", "b", "c"].map(connection);
  a!.holds(300);
  b!.holds(600);
  c!.holds(100);
  assertEquals([watch.held, ended], [1000, []]);
  c!.holds(200);
  assertEquals([watch.held, ended], [500, ["b 1013"]]);
  a!.holds(0);
  c!.upload.close();
  assertEquals(watch.held, 0);
  connection("d").holds(1001);
  assertEquals([watch.held, ended], [0, ["b 1013", "d 1013"]]);
  watch.checks.clear();
});
