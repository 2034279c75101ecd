import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  DATA_HEADER_BYTES,
  ITEM_HEADER_BYTES,
} from "../../../../../server/cluster/links/frame.ts";
import { type End, pairOf, settle } from "./pair.ts";

const limits = {
  pieceBytes: 256,
  queueBytes: 100_000,
  maxMessageBytes: 10_000,
};
const WINDOW = 1_024;

function greeted(of = limits): readonly [End, End] {
  const ends = pairOf(of, WINDOW);
  ends[0].link.greet();
  settle(ends);
  return ends;
}

const messagesOf = (end: End) => end.heard.filter((each) => each.includes("/"));

Deno.test("Link opens at both ends by one greeting, and by two at once", () => {
  for (const greeters of [1, 2]) {
    const ends = pairOf(limits, WINDOW);
    for (const end of ends.slice(0, greeters)) end.link.greet();
    settle(ends);
    for (const end of ends) assertEquals(end.heard, ["opened"]);
  }
});

Deno.test("Link delivers what was sent before the peer answered, in order", () => {
  const ends = pairOf(limits, WINDOW);
  const [north, south] = ends;
  for (const size of [10, 900, 20]) north.send("s", size);
  north.link.greet();
  settle(ends);
  assertEquals(south.heard, ["opened", "s/0", "s/1", "s/2"]);
});

Deno.test("Link frees a frame when the peer has it, unless it was sent again", () => {
  for (const isRepeated of [false, true]) {
    const frames: Buffer[] = [];
    const [north, south] = greeted({ ...limits, pieceBytes: 8_192 });
    const { transmit } = north;
    north.transmit = (frame) => {
      frames.push(frame);
      transmit(frame);
    };
    north.send("s", 5_000); // more than what Node takes from its pool
    north.flush();
    assertEquals(frames[0]?.length === 0, false);
    if (isRepeated) {
      south.incoming.length = 0;
      north.link.reset();
      north.link.greet();
    }
    settle([north, south]);
    assertEquals(messagesOf(south), ["s/0"]);
    assertEquals(frames[0]?.length === 0, !isRepeated);
  }
});

Deno.test("Link sends again what is missing after a gap, once and in order", () => {
  const ends = greeted();
  const [north, south] = ends;
  north.send("s", 10);
  north.flush();
  south.incoming.length = 0;
  for (let i = 0; i < 5; i++) {
    north.send("s", 10);
    north.flush();
  }
  settle(ends);
  assertEquals(north.heard, ["opened"]);
  north.send("s", 10);
  settle(ends);
  assertEquals(south.heard, [
    "opened",
    ...["s/0", "s/1", "s/2", "s/3", "s/4", "s/5", "s/6"],
  ]);
});

Deno.test("Link notices by a beat that the last frame is missing", () => {
  const ends = greeted();
  const [north, south] = ends;
  north.send("s", 10);
  north.flush();
  south.incoming.length = 0;
  settle(ends);
  assertEquals(south.heard, ["opened"], "nobody can know yet");
  north.link.beat();
  settle(ends);
  assertEquals(south.heard, ["opened", "s/0"]);
});

Deno.test("Link asks once for what is missing, and again when a beat shows that it was lost once more", () => {
  const ends = greeted();
  const [north, south] = ends;
  for (let i = 0; i < 3; i++) {
    north.send("s", 10);
    north.flush();
  }
  south.incoming.shift();
  south.take(south.incoming.shift());
  south.take(south.incoming.shift());
  assertEquals(north.incoming.length, 1, "what it asks with");
  north.take(north.incoming.shift());
  south.incoming.shift(); // of three frames and a beat
  settle(ends);
  assertEquals(south.heard, ["opened", "s/0", "s/1", "s/2"]);
});

Deno.test("Link does not deliver a repetition", () => {
  const ends = greeted();
  const [north, south] = ends;
  north.send("s", 10);
  north.flush();
  south.incoming.push(...south.incoming);
  settle(ends);
  assertEquals(south.heard, ["opened", "s/0"]);
});

Deno.test("Link sends an end that never opened what it has missed", () => {
  const ends = pairOf(limits, WINDOW);
  const [north, south] = ends;
  south.link.greet();
  north.take(south.incoming.shift() ?? north.incoming.shift());
  north.send("s", 10);
  north.flush();
  south.incoming.length = 0;
  north.link.reset();
  north.link.greet();
  settle(ends);
  assertEquals(south.heard, ["opened", "s/0"]);
});

Deno.test("Link goes on after a frame that it cannot read", () => {
  const ends = greeted();
  const [north, south] = ends;
  north.send("s", 10);
  north.flush();
  south.incoming[0]?.fill(0xff, DATA_HEADER_BYTES);
  north.send("s", 10);
  settle(ends);
  assertEquals(south.heard, ["opened", "lost", "s/1"]);
});

Deno.test("Link sends nothing while it waits for an answer after it may have missed frames", () => {
  const ends = greeted();
  const [north, south] = ends;
  north.link.reset();
  north.send("s", 10);
  assertEquals(north.isScheduled, false);
  south.link.beat();
  settle(ends);
  assertEquals(north.heard, ["opened", "opened"]);
  assertEquals(south.heard, ["opened", "s/0"]);
});

Deno.test("Link says goodbye without noise where all has arrived, and reports a loss where not", () => {
  const ends = greeted();
  const [north, south] = ends;
  north.send("s", 10);
  settle(ends);
  north.link.bye();
  settle(ends);
  assertEquals(south.heard, ["opened", "s/0", "ended"]);

  const others = greeted();
  const [east, west] = others;
  west.send("s", 10);
  west.flush();
  east.incoming.length = 0;
  east.link.bye();
  settle(others);
  assertEquals(west.heard, ["opened", "lost", "ended"]);
});

Deno.test("Link has no more on its way than the window and one frame, and never stands still", () => {
  const size = fc.nat(3_000);
  fc.assert(fc.property(fc.array(size, { maxLength: 60 }), (sizes) => {
    const ends = greeted();
    const [north, south] = ends;
    sizes.forEach((size, i) => assert(north.send(`s${i % 5}`, size)));
    north.flush();
    let flushes = 0;
    while (south.incoming.length > 0) {
      assert(south.incomingBytes <= WINDOW + limits.pieceBytes + 400);
      south.take(south.incoming.shift());
      south.flush();
      while (north.incoming.length > 0) north.take(north.incoming.shift());
      north.flush();
      flushes++;
    }
    assert(flushes < 10_000);
    assertEquals(messagesOf(south).length, sizes.length);
    assertEquals(north.link.queuedBytes, 0);
  }));
});

Deno.test("Link sends nothing more to an end that takes nothing, and bounds what waits", () => {
  const [north, south] = greeted();
  let taken = 0;
  while (north.send("s", 2_000)) {
    taken++;
    north.flush();
  }
  assert(south.incomingBytes <= WINDOW + limits.pieceBytes + 400);
  assert(taken * 2_000 < limits.queueBytes + WINDOW + 4_000);
  settle([north, south]);
  assertEquals(messagesOf(south).length, taken);
});

Deno.test("Link goes on when the window is used up to its last byte", () => {
  const ends = greeted();
  const [north, south] = ends;
  for (let i = 0; i < 9; i++) {
    north.send("s", WINDOW / 4 - DATA_HEADER_BYTES - ITEM_HEADER_BYTES);
    north.flush();
    if (i === 3) assertEquals(south.incomingBytes, WINDOW);
  }
  assertEquals(south.incomingBytes, WINDOW);
  settle(ends);
  assertEquals(messagesOf(south).length, 9);
});

Deno.test("Link opens the window only after the message was taken", () => {
  const [north, south] = greeted();
  let granted = 0;
  south.onMessage = () => granted = Math.max(granted, north.incoming.length);
  for (let i = 0; i < 20; i++) north.send("s", 500);
  settle([north, south]);
  assertEquals(messagesOf(south).length, 20);
  assertEquals(granted, 0);
});
