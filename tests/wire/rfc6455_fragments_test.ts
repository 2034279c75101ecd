import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import {
  clientFrame,
  OP,
  RawWebSocket,
} from "../support/wire/raw_websocket.ts";
import { onEachEngine } from "../support/server/wire_server.ts";

/** An event that is answered. */
const event = (id: number, text = "x"): string =>
  `42/smcp,${id}["server:list_room",{"x":"${text}"}]`;

/** A message in fragments of these sizes, over and over, as a frame each. */
function fragments(
  message: string | Buffer,
  sizes: readonly number[],
): Buffer[] {
  const bytes = Buffer.from(message);
  const parts: Buffer[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!;
    parts.push(bytes.subarray(at, at + size));
    at += size;
  }
  const type = typeof message === "string" ? OP.text : OP.binary;
  return parts.map((part, i) =>
    clientFrame(i === 0 ? type : OP.continuation, part, {
      fin: i === parts.length - 1,
    })
  );
}

onEachEngine(
  "fragments of any size are joined to a message (§5.4)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    const small = event(1);
    for (const sizes of [[1], [2, 3], [7, 1, 100], [small.length - 1]]) {
      raw.write(...fragments(small, sizes));
      await raw.text("43/smcp,1[");
    }
    const large = event(2, "x".repeat(400_000));
    for (
      const sizes of [[125], [126, 1], [4095, 4096], [65_535, 65_536], [
        399_999,
      ], [5, 350_000]]
    ) {
      raw.write(...fragments(large, sizes));
      await raw.text("43/smcp,2[");
    }
  },
);

onEachEngine(
  "fragments may come in separate segments",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    for (
      const frame of fragments(event(1, "x".repeat(30_000)), [
        10_000,
        1,
        0x1000,
      ])
    ) {
      await raw.written(frame);
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await raw.text("43/smcp,1[");
  },
);

onEachEngine(
  "a message may contain empty fragments, at any position (§5.4)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    const more = { fin: false };
    const message = event(1);
    raw.write(
      clientFrame(OP.text, "", more),
      clientFrame(OP.continuation, "", more),
      clientFrame(OP.continuation, message.slice(0, 9), more),
      clientFrame(OP.continuation, "", more),
      clientFrame(OP.continuation, message.slice(9), more),
      clientFrame(OP.continuation, ""),
    );
    await raw.text("43/smcp,1[");
  },
);

onEachEngine(
  "control frames between fragments are answered immediately (§5.4, §5.5)",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    const [first, ...rest] = fragments(event(1), [5]);
    raw.write(
      first!,
      clientFrame(OP.ping, "between"),
      clientFrame(OP.pong, "unasked"),
    );
    const { opcode, payload } = await raw.frame();
    assertEquals([opcode, payload.toString()], [OP.pong, "between"]);
    raw.write(...rest.flatMap((frame) => [clientFrame(OP.ping, ""), frame]));
    await raw.text("43/smcp,1[");
  },
);

onEachEngine(
  "a close frame between fragments closes the connection and drops the message",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    const [first, ...rest] = fragments(event(1), [5]);
    raw.write(
      first!,
      clientFrame(OP.close, Buffer.from([0x03, 0xe8])),
      ...rest,
    );
    assertEquals((await raw.frame()).opcode, OP.close);
    assertEquals(await raw.closed, 1000);
  },
);

/** Misplaced frames between others. */
const MISPLACED: [what: string, frames: Buffer[]][] = [
  ["a continuation of nothing", [clientFrame(OP.continuation, "x")]],
  ["a continuation of nothing that goes on", [
    clientFrame(OP.continuation, "x", { fin: false }),
  ]],
  ["a continuation after the end", [
    ...fragments(event(1), [9]),
    clientFrame(OP.continuation, "x"),
  ]],
  ["a message within another one", [
    clientFrame(OP.text, "4", { fin: false }),
    clientFrame(OP.text, event(1)),
  ]],
  ["bytes within text", [
    clientFrame(OP.text, "4", { fin: false }),
    clientFrame(OP.binary, "x", { fin: false }),
  ]],
  ["text within bytes", [
    clientFrame(OP.binary, "4", { fin: false }),
    clientFrame(OP.text, "x"),
  ]],
];

onEachEngine("fragments out of place close with 1002 (§5.4)", async (start) => {
  await using server = await start();
  for (const [what, frames] of MISPLACED) {
    await using raw = await RawWebSocket.connect(server.port);
    raw.write(...frames);
    assertEquals(await raw.closed, 1002, what);
  }
});

onEachEngine(
  "fragments that are too large together close with 1009",
  async (start) => {
    await using server = await start({ maxMessageBytes: 10_000 });
    await using raw = await RawWebSocket.connect(server.port);
    raw.write(...fragments("4".repeat(10_001), [1000]));
    assertEquals(await raw.closed, 1009);
  },
);

onEachEngine(
  "too many fragments close with 1008, even empty ones",
  async (start) => {
    await using server = await start();
    await using raw = await RawWebSocket.connect(server.port);
    const empty = clientFrame(OP.continuation, "", { fin: false });
    raw.write(
      clientFrame(OP.text, "4", { fin: false }),
      ...Array(20_000).fill(empty),
    );
    assertEquals(await raw.closed, 1008);
  },
);
