import fc from "fast-check";
import { Buffer } from "node:buffer";
import { assert, assertEquals } from "@std/assert";
import { Watch } from "../../../../server/cluster/link.ts";
import {
  DATA_HEADER_BYTES,
  ITEM_HEADER_BYTES,
} from "../../../../server/cluster/link_frames.ts";
import { type End, type Heard, pairOf, settle } from "./pair.ts";

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

const historyLimits = {
  pieceBytes: 256,
  queueBytes: Infinity,
  maxMessageBytes: 10_000,
};
const HISTORY_WINDOW = 1_024;

const side = fc.constantFrom(0 as const, 1 as const);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant("send"), side, fc.nat(900)) },
  { weight: 8, arbitrary: fc.tuple(fc.constant("pass"), side, fc.nat(4)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("drop"), side, fc.nat(3)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("double"), side, fc.nat(3)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("late"), side, fc.nat(3)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("restart"), side, fc.nat(2)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant("beat"), side, fc.nat(2)) },
);

/** Copies of the next frames: whoever takes a frame may free it. */
const again = ({ incoming }: End, count: number) =>
  incoming.slice(0, count).map((frame) => Buffer.from(frame));

function play(
  ends: readonly [End, End],
  steps: readonly (readonly [string, 0 | 1, number])[],
): void {
  for (const [kind, index, n] of steps) {
    const end = ends[index];
    switch (kind) {
      case "send":
        assert(end.send(`${index}${"abc"[n % 3]}`, n));
        if (n % 2) end.flush();
        break;
      case "pass":
        end.flush();
        for (let i = 0; i < n; i++) end.take(end.incoming.shift());
        break;
      case "drop":
        end.incoming.splice(0, n);
        break;
      case "double":
        end.incoming.unshift(...again(end, n));
        break;
      case "late":
        end.incoming.push(...again(end, n));
        break;
      case "restart":
        end.link.reset();
        end.link.greet();
        break;
      case "beat":
        end.link.beat();
    }
  }
}

/** All messages of each stream that the other end has sent, in order. */
const sentBy = ({ sent }: End): Record<string, Heard[]> =>
  Object.fromEntries(
    [...sent].map(([stream, count]) => [
      stream,
      Array.from({ length: count }, (_, i): Heard => `${stream}/${i}`),
    ]),
  );

Deno.test("Link delivers every message of each stream once and in order, whatever is lost, doubled or late", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: "max" }), (steps) => {
      const ends = pairOf(historyLimits, HISTORY_WINDOW);
      ends[0].link.greet();
      play(ends, steps);
      // From here on nothing is lost any more: the links must come to agree, and all must flow.
      for (let round = 0; round < 6; round++) {
        for (const each of ends) each.link.beat();
        settle(ends);
      }
      for (const [end, other] of [ends, ends.toReversed()]) {
        assert(end && other);
        const messages = other.heard.filter((each) => each.includes("/"));
        const heard = Object.groupBy(messages, (each) => each.split("/")[0]!);
        assertEquals({ ...heard }, sentBy(end));
        assertEquals(other.heard.includes("lost"), false);
      }
    }),
    { numRuns: 3_000 },
  );
});

const watchLimits = { silentMs: 6_000, goneMs: 500 };

Deno.test("Watch tells once that a node became silent, and again after it was heard", () => {
  const watch = new Watch(watchLimits, 0);
  assertEquals(
    [5_999, 6_000, 6_500].map((now) => watch.becameSilent(now)),
    [false, true, false],
  );
  watch.heard(7_000);
  assertEquals(
    [12_999, 13_000].map((now) => watch.becameSilent(now)),
    [false, true],
  );
});

Deno.test("Watch does not blame a node for the time in which this process did not run", () => {
  const watch = new Watch(watchLimits, 0);
  watch.excuse(10_000);
  assert(!watch.becameSilent(15_999));
  assert(watch.becameSilent(16_000));
});

Deno.test("Watch takes an end for proved by two looks that are far enough apart", () => {
  const watch = new Watch(watchLimits, 0);
  watch.present();
  assert(!watch.looked(0, 1_000));
  assert(!watch.looked(0, 1_499));
  assert(watch.looked(0, 1_500));
});

Deno.test("Watch begins anew when the node has a receiver in between, or looks are not to be trusted", () => {
  const watch = new Watch(watchLimits, 0);
  watch.present();
  watch.looked(0, 1_000);
  assert(!watch.looked(1, 1_400), "it has subscribed again");
  assert(!watch.looked(0, 1_600));
  watch.forgetLooks();
  watch.present();
  assert(!watch.looked(0, 2_200));
  assert(watch.looked(0, 2_700));
});

Deno.test("Watch proves no end of a node that was not there: it may be cut off, and serve", () => {
  const watch = new Watch(watchLimits, 0);
  assert(!watch.looked(0, 1_000));
  assert(!watch.looked(0, 9_000));
  watch.present();
  watch.forgetLooks(); // after a fail-over, for example
  assert(!watch.looked(0, 10_000));
  assert(!watch.looked(0, 19_000));
});
