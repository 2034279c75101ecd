import { EventEmitter } from "node:events";
import { assert, assertEquals } from "@std/assert";
import { Duplex } from "node:stream";
import { Payload } from "../../../../server/shared/payload.ts";
import { type ClientSocket, Link } from "../../../../server/wire/mod.ts";
import { FrameSocket } from "../../../../server/wire/frame_socket.ts";
import { textFrame } from "../../../../server/wire/frames.ts";

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
    ...{ isOpen: true, hasQueued },
    admit: () => frames,
    write: (part: unknown) => written.push(part),
  });
  const socket: ClientSocket = Object({ conn });
  return new DeafLink(socket, new Set());
}

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
  const written: Uint8Array[][] = [];
  const flushed: Promise<void>[] = [];
  const sockets = Array.from({ length: 3 }, () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    flushed.push(promise);
    const socket = new Duplex({
      read() {},
      writev(chunks, done) {
        written.push(chunks.map(({ chunk }) => chunk));
        done();
        resolve();
      },
    });
    return new FrameSocket(socket, 1000);
  });
  const packets: unknown[] = [];
  const payload = Payload.of({ computer: "pc" });
  for (const frames of sockets) {
    frames.send("before");
    linkTo(packets, { frames }).send("notify:a", payload);
    frames.send("after");
  }
  await Promise.all(flushed);
  const text = '42/smcp,["notify:a",{"computer":"pc"}]';
  for (const frames of written) {
    assertEquals(frames, ["before", text, "after"].map(textFrame));
    assert(frames[1] === written[0]?.[1], "one buffer");
  }
  assertEquals([written.length, packets], [3, []]);
  for (const frames of sockets) frames.terminate();
});

Deno.test("a notification waits behind the packets that Engine.IO has queued", () => {
  const packets: unknown[] = [];
  const frames = new FrameSocket(new Duplex({ read() {} }), 1000);
  const link = linkTo(packets, { frames, hasQueued: true });
  link.send("notify:a", Payload.of({ computer: "pc" }));
  assertEquals(packets, ['2/smcp,["notify:a",{"computer":"pc"}]']);
  frames.terminate();
});

Deno.test("a notification with attachments goes out as packets, not as one frame", () => {
  const packets: unknown[] = [];
  const frames = new FrameSocket(new Duplex({ read() {} }), 1000);
  const bytes = new Uint8Array([1]);
  linkTo(packets, { frames }).send("notify:a", Payload.of({ bytes }));
  assertEquals(packets, [
    '51-/smcp,["notify:a",{"bytes":{"_placeholder":true,"num":0}}]',
    bytes,
  ]);
  frames.terminate();
});
