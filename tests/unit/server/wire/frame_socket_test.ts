import { Buffer } from "node:buffer";
import { EventEmitter, once } from "node:events";
import { Duplex } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { Payload } from "../../../../server/shared/payload.ts";
import {
  FrameSocket,
  Upload,
  UPLOAD_WINDOW_MS,
  UploadWatch,
} from "../../../../server/wire/frame_socket.ts";
import { textFrame } from "../../../../server/wire/frames.ts";
import {
  type Ack,
  type ClientSocket,
  Link,
} from "../../../../server/wire/mod.ts";
import { JsonText } from "../../../../server/wire/json_text.ts";
import { hurryTimers, keepsRunning } from "../../../support/timers.ts";

/**
 * A WebSocket whose peer sends what is pushed, with the frames that were written in one go. They are
 * sent when the test says so.
 */
function peer(isReading = false) {
  const writes: Buffer[][] = [];
  let sent = () => {};
  const taken = (chunks: Buffer[], done: () => void) => {
    writes.push(chunks);
    if (isReading) done();
    else sent = done;
  };
  const socket = new Duplex({
    read() {},
    write: (chunk, _encoding, done) => taken([chunk], done),
    ...(isReading && {
      writev: (chunks: { chunk: Buffer }[], done: () => void) =>
        taken(chunks.map(({ chunk }) => chunk), done),
    }),
  });
  const frames = new FrameSocket(socket, 1000);
  frames.on("message", (message) => frames.send(`re ${message}`));
  return {
    socket,
    frames,
    writes,
    sent: () => sent(),
    async [Symbol.asyncDispose]() {
      if (socket.closed) return;
      const closed = once(frames, "close");
      frames.terminate();
      await closed;
    },
  };
}

/** A short frame of a client, whose mask is zeros. */
const masked = (opcode: number, ...payload: number[]): Buffer =>
  Buffer.from([0x80 | opcode, 0x80 | payload.length, 0, 0, 0, 0, ...payload]);

Deno.test("FrameSocket closes with 1011 when a message handler throws, without an uncaught error", async () => {
  await using it = peer(true);
  it.frames.tap = () => {
    throw new RangeError("out of memory");
  };
  const failed = once(it.frames, "error");
  it.socket.push(masked(1, 0x34));
  await failed;
  assertEquals(it.writes.flat(), [Buffer.from([0x88, 2, 0x03, 0xf3])]);
});

Deno.test("FrameSocket queues few pongs for a peer that does not read, and answers the last of many pings (RFC 6455 §5.5.3)", async () => {
  await using it = peer();
  await setImmediate();
  const pings = Array.from({ length: 90 }, (_, i) => masked(9, 0, i));
  it.socket.push(Buffer.concat(pings));
  await setImmediate();
  assert(it.socket.writableLength <= 32 * 4, `${it.socket.writableLength}`);
  for (let i = 0; i < 40; i++) {
    it.sent();
    await setImmediate();
  }
  const pong = (index: number) => Buffer.from([0x8a, 2, 0, index]);
  const writes = it.writes.flat();
  assertEquals([writes[0], writes.at(-1)], [pong(0), pong(89)]);
  assertEquals(writes.length, 33);
});

Deno.test("FrameSocket gives others a turn after each 512 KiB of a peer that sends without a break, and stays paused while it is held", async () => {
  await using it = peer(true);
  const { socket, frames } = it;
  frames.tap = () => true;
  frames.start();
  await setImmediate(); // the stream begins to flow
  // All of it takes no time, however busy the machine is.
  const { now } = performance;
  using _clock = { [Symbol.dispose]: () => performance.now = now };
  performance.now = () => 0;
  const texts = Buffer.concat(Array<Buffer>(10_000).fill(masked(1, 0x61)));
  const pushUntilPaused = () => {
    let bytes = 0;
    for (; !socket.isPaused() && bytes < 2 ** 22; bytes += texts.length) {
      socket.push(texts);
    }
    return bytes;
  };
  for (const turn of [1, 2, 3]) {
    const resumed = once(socket, "resume");
    const bytes = pushUntilPaused();
    const isBounded = bytes > 2 ** 19 && bytes <= 2 ** 19 + texts.length;
    assert(isBounded, `turn ${turn}: ${bytes}`);
    if (turn < 3) await resumed;
  }
  const resumed: boolean[] = [];
  socket.on("resume", () => resumed.push(true));
  frames.pause();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(resumed, []);
  frames.resume();
  await setImmediate();
  assertEquals(resumed, [true]);
});

Deno.test("FrameSocket disconnects a peer without a session when more than 64 KiB are queued; limitQueue() replaces this", async () => {
  const send = async (
    { frames, socket }: ReturnType<typeof peer>,
    count: number,
  ) => {
    for (let i = 0; i < count; i++) frames.send("x".repeat(1000));
    const queued = socket.writableLength;
    await setImmediate(); // a peer is cut off a moment later
    return queued;
  };
  await using it = peer();
  await send(it, 60);
  assertEquals(it.socket.destroyed, false);
  assert(await send(it, 10) <= 65_536);
  assertEquals(it.socket.destroyed, true);
  await using other = peer();
  other.frames.limitQueue(Infinity, () => {});
  await send(other, 100);
  const { writableLength, destroyed } = other.socket;
  assertEquals([writableLength, destroyed], [100_400, false]);
});

Deno.test("FrameSocket sends all frames of a turn in one write, in order, and counts those that it holds", async () => {
  await using it = peer(true);
  const written = async () => {
    await setImmediate();
    return it.writes.splice(0).map((chunks) => chunks.map(String).join(""));
  };
  await written();
  const texts = ["a", "b", "c"].map((text) => masked(1, text.charCodeAt(0)));
  it.socket.push(Buffer.concat(texts));
  assertEquals(await written(), [
    "\ufffd\x04re a\ufffd\x04re b\ufffd\x04re c",
  ]);
  it.frames.send("alone");
  assertEquals(it.socket.writableLength, 7);
  assertEquals(await written(), ["\ufffd\x05alone"]);
  it.frames.send("last");
  it.frames.close(1000);
  assertEquals(await written(), ["\ufffd\x04last\ufffd\x02\x03\ufffd"]);
});

Deno.test("FrameSocket frees a large frame when it is sent, and not before", async () => {
  await using it = peer();
  it.socket.cork = it.socket.uncork = () => {}; // sent immediately
  it.frames.limitQueue(2 ** 30, () => {});
  const json = `{"text":"${"x".repeat(40_000)}"}`;
  const before = "b".repeat(100);
  const after = "a".repeat(10);
  const expected = textFrame(`42["event",${json}]`);
  for (const ownsBuffer of [true, false]) {
    const bytes = Buffer.from(before + json + after);
    const end = before.length + json.length;
    const range = { bytes, start: before.length, end, ownsBuffer };
    const body = new JsonText(range, { large: [], mayBeError: false });
    it.frames.sendJson('42["event",', body);
    const [chunk = Buffer.alloc(0)] = it.writes.pop() ?? [];
    assertEquals(chunk.buffer === bytes.buffer, ownsBuffer);
    assert(chunk.equals(expected));
    it.sent();
    assertEquals([chunk.length, bytes.length === 0], [0, ownsBuffer]);
    if (ownsBuffer) assertThrows(() => body.text(), Error, "were freed");
    else assertEquals(body.text(), json);
  }
});

/** A reader at one moment. */
const at = (messages: number, held: number, pending = true) => ({
  pending,
  messages,
  held,
  reserved: 0,
});

/** The states of a connection's reader at each check, and the outcome. */
const UPLOADS: Readonly<
  Record<string, [outcome: string, ...states: ReturnType<typeof at>[]]>
> = {
  "continues while its message grows fast enough, however long that takes": [
    "1008 after 3",
    ...[at(0, 1), at(0, 20_001), at(0, 40_001), at(0, 60_000)],
  ],
  "ends when its message does not grow": ["1008 after 1", at(0, 0), at(0, 0)],
  "ends when its message grows too slowly": [
    "1008 after 1",
    ...[at(7, 500), at(7, 20_499)],
  ],
  "gives the next message its own time window": [
    "1008 after 3",
    ...[at(0, 0), at(1, 5), at(2, 5), at(2, 5)],
  ],
  "is not checked without an unfinished message": [
    "no check",
    ...[at(0, 0), at(1, 0, false)],
  ],
};

for (const [name, [outcome, ...states]] of Object.entries(UPLOADS)) {
  Deno.test(`Upload ${name}`, async () => {
    using _running = keepsRunning();
    using timers = hurryTimers(UPLOAD_WINDOW_MS);
    const watch = new UploadWatch({ bytesPerSecond: 1000, bytes: Infinity });
    const done = Promise.withResolvers<string>();
    let state = at(0, 0);
    const reader = {
      get pending() {
        // Read once a check, before all else.
        state = states.shift() ?? state;
        if (!state.pending) done.resolve("no check");
        return state.pending;
      },
      get messages() {
        return state.messages;
      },
      get held() {
        return state.held;
      },
      reserved: 0,
    };
    const end = ({ code }: { code: number }) =>
      done.resolve(`${code} after ${timers.armed.length}`);
    new Upload(watch, reader, end).note();
    assertEquals(await done.promise, outcome);
    watch.checks.clear();
  });
}

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
    const holds = (bytes: number) => {
      reader.reserved = bytes;
      upload.note();
    };
    return { holds, upload };
  };
  const a = connection("a");
  const b = connection("b");
  const c = connection("c");
  a.holds(300);
  b.holds(600);
  c.holds(100);
  assertEquals([watch.held, ended], [1000, []]);
  c.holds(200);
  assertEquals([watch.held, ended], [500, ["b 1013"]]);
  a.holds(0);
  c.upload.close();
  assertEquals(watch.held, 0);
  connection("d").holds(1001);
  assertEquals([watch.held, ended], [0, ["b 1013", "d 1013"]]);
  watch.checks.clear();
});

class DeafLink extends Link {
  override receive() {}
}

/** A link over a transport that takes what is written, and a WebSocket if it has one. */
function linkTo(
  written: unknown[],
  { frames, hasQueued = false }: {
    readonly frames?: FrameSocket;
    readonly hasQueued?: boolean;
  } = {},
): Link {
  const conn = Object.assign(new EventEmitter(), {
    isOpen: true,
    hasQueued,
    admit: () => frames,
    write: (part: unknown) => written.push(part),
  });
  const socket: ClientSocket = Object({ conn });
  return new DeafLink(socket, new Map());
}

Deno.test("an ack is sent while its session lasts, and never to the next session of its connection", async () => {
  await using it = peer(true);
  const acks: (Ack | undefined)[] = [];
  const written: unknown[] = [];
  const conn = Object.assign(new EventEmitter(), {
    isOpen: true,
    isKnownAlive: true,
    hasQueued: false,
    admit: () => it.frames,
    write: (part: unknown) => written.push(part),
  });
  const link = new class extends Link {
    override receive(_event: string, _payload: Payload, ack?: Ack) {
      acks.push(ack);
    }
  }(Object({ conn }), new Map([["client:tool_call", Infinity]]));
  const text = '42/smcp,7["client:tool_call",{}]';
  assert(it.frames.tap?.({ text, start: 0, end: text.length }));
  acks[0]?.([{ sent: true }]);
  link.unlink();
  acks[0]?.([{ sent: false }]);
  acks[0]?.(Payload.of({ sent: false }));
  assertEquals(written, ['3/smcp,7[{"sent":true}]']);
});

Deno.test("a notification is encoded once under each name, however many members get it", () => {
  let encoded = 0;
  const payload = Payload.of({
    computer: "pc",
    toJSON() {
      encoded++;
      return { computer: "pc" };
    },
  });
  const written: unknown[] = [];
  const links = Array.from({ length: 1000 }, () => linkTo(written));
  for (const link of links) link.send("notify:a", payload);
  for (const link of links) link.send("notify:b", payload);
  // Each encoding reads it twice: once for attachments.
  assertEquals([encoded, written.length], [4, 2000]);
  assertEquals([...new Set(written)], [
    '2/smcp,["notify:a",{"computer":"pc"}]',
    '2/smcp,["notify:b",{"computer":"pc"}]',
  ]);
  links[0]?.unlink();
  links[0]?.send("notify:a", payload);
  assertEquals(written.length, 2000);
});

Deno.test("a notification is one frame for all WebSockets, in the order of what is sent", async () => {
  await using stack = new AsyncDisposableStack();
  const peers = [1, 2, 3].map(() => stack.use(peer(true)));
  const packets: unknown[] = [];
  const payload = Payload.of({ computer: "pc" });
  for (const { frames } of peers) {
    frames.send("before");
    linkTo(packets, { frames }).send("notify:a", payload);
    frames.send("after");
  }
  await setImmediate();
  const text = '42/smcp,["notify:a",{"computer":"pc"}]';
  for (const { writes } of peers) {
    assertEquals(writes, [["before", text, "after"].map(textFrame)]);
    assert(writes[0]?.[1] === peers[0]?.writes[0]?.[1], "one buffer");
  }
  assertEquals(packets, []);
});

Deno.test("a notification with attachments, or behind what Engine.IO has queued, goes out as packets", async () => {
  await using it = peer();
  const packets: unknown[] = [];
  const queued = linkTo(packets, { frames: it.frames, hasQueued: true });
  queued.send("notify:a", Payload.of({ computer: "pc" }));
  const bytes = new Uint8Array([1]);
  const link = linkTo(packets, { frames: it.frames });
  link.send("notify:a", Payload.of({ bytes }));
  assertEquals(packets, [
    '2/smcp,["notify:a",{"computer":"pc"}]',
    '51-/smcp,["notify:a",{"bytes":{"_placeholder":true,"num":0}}]',
    bytes,
  ]);
});
