import fc from "fast-check";
import { Buffer } from "node:buffer";
import { assert, assertEquals } from "@std/assert";
import {
  Link,
  type LinkLimits,
  Watch,
} from "../../../../server/cluster/link.ts";
import {
  toSettings,
  windowOf,
} from "../../../../server/cluster/redis_links.ts";
import {
  DATA_HEADER_BYTES,
  decodeFrame,
  FrameError,
  ITEM_HEADER_BYTES,
} from "../../../../server/cluster/link_frames.ts";

const WINDOW = 1_024;
const LIMITS = {
  pieceBytes: 256,
  queueBytes: 100_000,
  maxMessageBytes: 10_000,
};

Deno.test("Link opens at both ends by one greeting, and by two at once", () => {
  for (const greeters of [1, 2]) {
    const ends = newPair();
    for (const end of ends.slice(0, greeters)) end.link.beat();
    settle(ends);
    for (const end of ends) assertEquals(end.heard, ["opened"]);
  }
});

/** What befalls two ends that have met, and what they report after they have come to rest. */
const STORIES: readonly (readonly [
  string,
  (north: End, south: End) => void,
  string,
  string,
])[] = [
  [
    "sends again what is missing after a gap, once and in order",
    (n, s) => {
      n.pass(10);
      s.incoming.length = 0;
      for (let i = 0; i < 5; i++) n.pass(10);
    },
    "opened",
    "opened s/0 s/1 s/2 s/3 s/4 s/5",
  ],
  [
    "cannot notice that the last frame is missing",
    (n, s) => {
      n.pass(10);
      s.incoming.length = 0;
    },
    "opened",
    "opened",
  ],
  [
    "notices by a beat that the last frame is missing",
    (n, s) => {
      n.pass(10);
      s.incoming.length = 0;
      n.link.beat();
    },
    "opened",
    "opened s/0",
  ],
  [
    "asks once for what is missing, and again when that was lost",
    (n, s) => {
      for (let i = 0; i < 3; i++) n.pass(10);
      s.incoming.shift();
      s.take(s.incoming.shift());
      s.take(s.incoming.shift());
      assertEquals(n.incoming.length, 1, "it has asked");
      n.take(n.incoming.shift());
      s.incoming.shift(); // of three frames and a beat
    },
    "opened",
    "opened s/0 s/1 s/2",
  ],
  [
    "goes on after a frame that it cannot read",
    (n, s) => {
      n.pass(10);
      s.incoming[0]?.fill(0xff, DATA_HEADER_BYTES);
      n.pass(10);
    },
    "opened",
    "opened lost s/1",
  ],
  [
    "sends nothing after it may have missed frames, until an answer",
    (n, s) => {
      n.link.isOpen = false;
      n.send("s", 10);
      assertEquals(n.isScheduled, false);
      s.link.beat();
    },
    "opened opened",
    "opened s/0",
  ],
  [
    "says goodbye without noise where all has arrived",
    (n, s) => {
      n.send("s", 10);
      settle([n, s]);
      n.link.bye();
    },
    "opened",
    "opened s/0 ended",
  ],
  [
    "reports a loss where not all has arrived at a goodbye",
    (n, s) => {
      n.pass(10);
      s.incoming.length = 0;
      s.link.bye();
    },
    "opened lost ended",
    "opened",
  ],
];

Deno.test("Link repeats what got lost when it can know, reports what cannot be repeated, and ends in order", () => {
  for (const [name, play, north, south] of STORIES) {
    const ends = newGreeted();
    play(...ends);
    settle(ends);
    assertEquals(
      ends.map(({ heard }) => heard.join(" ")),
      [north, south],
      name,
    );
  }
});

Deno.test("Link frees a frame when the peer has it, unless it was sent again", () => {
  for (const isRepeated of [false, true]) {
    const frames: Buffer[] = [];
    const [north, south] = newGreeted({ ...LIMITS, pieceBytes: 8_192 });
    const { transmit } = north;
    north.transmit = (frame) => {
      frames.push(frame);
      transmit(frame);
    };
    north.pass(5_000); // more than what Node takes from its pool
    assertEquals(frames[0]?.length === 0, false);
    if (isRepeated) {
      south.incoming.length = 0;
      north.link.isOpen = false;
      north.link.beat();
    }
    settle([north, south]);
    assertEquals(south.messages, ["s/0"]);
    assertEquals(frames[0]?.length === 0, !isRepeated);
  }
});

Deno.test("Link has no more on its way than the window and one frame, and never stands still", () => {
  const size = fc.nat(3_000);
  fc.assert(fc.property(fc.array(size, { maxLength: 60 }), (sizes) => {
    const [north, south] = newGreeted();
    sizes.forEach((size, i) => assert(north.send(`s${i % 5}`, size)));
    north.flush();
    let flushes = 0;
    while (south.incoming.length > 0) {
      assert(south.incomingBytes <= WINDOW + LIMITS.pieceBytes + 400);
      south.take(south.incoming.shift());
      south.flush();
      while (north.incoming.length > 0) north.take(north.incoming.shift());
      north.flush();
      flushes++;
    }
    assert(flushes < 10_000);
    assertEquals(south.messages.length, sizes.length);
    assertEquals(north.link.queuedBytes, 0);
  }));
});

Deno.test("Link sends nothing more to an end that takes nothing, and bounds what waits", () => {
  const [north, south] = newGreeted();
  let taken = 0;
  while (north.pass(2_000)) taken++;
  assert(south.incomingBytes <= WINDOW + LIMITS.pieceBytes + 400);
  assert(taken * 2_000 < LIMITS.queueBytes + WINDOW + 4_000);
  settle([north, south]);
  assertEquals(south.messages.length, taken);
});

Deno.test("Link goes on when the window is used up to its last byte", () => {
  const [north, south] = newGreeted();
  for (let i = 0; i < 9; i++) {
    north.pass(WINDOW / 4 - DATA_HEADER_BYTES - ITEM_HEADER_BYTES);
    if (i === 3) assertEquals(south.incomingBytes, WINDOW);
  }
  assertEquals(south.incomingBytes, WINDOW);
  settle([north, south]);
  assertEquals(south.messages.length, 9);
});

Deno.test("Link opens the window only after the message was taken", () => {
  const [north, south] = newGreeted();
  let granted = 0;
  south.onMessage = () => granted = Math.max(granted, north.incoming.length);
  for (let i = 0; i < 20; i++) north.send("s", 500);
  settle([north, south]);
  assertEquals([south.messages.length, granted], [20, 0]);
});

Deno.test("windowOf() bounds what all peers together have in flight below what Redis cuts a subscriber off at, with room for a piece each", () => {
  const settings = toSettings({ maxMessageBytes: 1 });
  const MIB = 2 ** 20;
  const windows = [0, 1, 6, 7, 24, 25, 100].map((n) => windowOf(settings, n));
  const share = Math.floor(6 * MIB / 7);
  assertEquals(windows.slice(0, 5), [MIB, MIB, MIB, share, MIB / 4]);
  assertEquals(windows.slice(5), [settings.pieceBytes, settings.pieceBytes]);
});

const step = fc.oneof(
  ...([
    ["send", 6, 900],
    ["pass", 8, 4],
    ["drop", 1, 3],
    ["double", 1, 3],
    ["late", 1, 3],
    ["restart", 1, 2],
    ["beat", 1, 2],
  ] as const).map(([kind, weight, most]) => ({
    weight,
    arbitrary: fc.tuple(
      fc.constant(kind),
      fc.constantFrom(0 as const, 1 as const),
      fc.nat(most),
    ),
  })),
);

/** Copies of the next frames: whoever takes a frame may free it. */
const again = ({ incoming }: End, count: number) =>
  incoming.slice(0, count).map((frame) => Buffer.from(frame));

const STEPS: Readonly<
  Record<string, (end: End, n: number, index: number) => unknown>
> = {
  send: (end, n, index) => {
    assert(end.send(`${index}${"abc"[n % 3]}`, n));
    if (n % 2) end.flush();
  },
  pass: (end, n) => {
    end.flush();
    for (let i = 0; i < n; i++) end.take(end.incoming.shift());
  },
  drop: (end, n) => end.incoming.splice(0, n),
  double: (end, n) => end.incoming.unshift(...again(end, n)),
  late: (end, n) => end.incoming.push(...again(end, n)),
  restart: ({ link }) => {
    link.isOpen = false;
    link.beat();
  },
  beat: ({ link }) => link.beat(),
};

Deno.test("Link delivers every message of each stream once and in order, whatever is lost, doubled or late", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: "max" }), (steps) => {
      const ends = newPair({ ...LIMITS, queueBytes: Infinity });
      ends[0].link.beat();
      for (const [kind, index, n] of steps) {
        STEPS[kind]?.(ends[index], n, index);
      }
      // From here on nothing is lost any more: the links must come to agree, and all must flow.
      for (let round = 0; round < 6; round++) {
        for (const each of ends) each.link.beat();
        settle(ends);
      }
      for (const [end, other] of [ends, ends.toReversed()]) {
        assert(end && other);
        const heard = Object.groupBy(
          other.messages,
          (each) => each.split("/")[0] ?? "",
        );
        const sent = [...end.sent].map(([stream, count]) => [
          stream,
          Array.from({ length: count }, (_, i) => `${stream}/${i}`),
        ]);
        assertEquals({ ...heard }, Object.fromEntries(sent));
        assertEquals(other.heard.includes("lost"), false);
      }
    }),
    { numRuns: 3_000 },
  );
});

const newWatch = () => new Watch({ silentMs: 6_000, goneMs: 500 }, 0);

Deno.test("Watch tells once that a node became silent, again after it was heard, and does not count the time in which this process did not run", () => {
  const watch = newWatch();
  const silentAt = (...times: readonly number[]) =>
    times.map((now) => watch.becameSilent(now));
  assertEquals(silentAt(5_999, 6_000, 6_500), [false, true, false]);
  watch.heard(7_000);
  watch.excuse(10_000);
  assertEquals(silentAt(22_999, 23_000), [false, true]);
});

Deno.test("Watch takes an end for proved by two looks that are far enough apart, at a node that was there", () => {
  const watch = newWatch();
  const look = (
    looks: readonly (readonly [receivers: number, now: number, boolean])[],
  ) => {
    for (const [receivers, now, isProved] of looks) {
      assertEquals(watch.looked(receivers, now), isProved, `at ${now}`);
    }
  };
  // It may be cut off, and serve.
  look([[0, 100, false], [0, 800, false]]);
  watch.present();
  // It has subscribed again in between.
  look([[0, 1_000, false], [1, 1_400, false], [0, 1_600, false]]);
  watch.forgetLooks(); // after a fail-over, for example
  look([[0, 10_000, false], [0, 19_000, false]]);
  watch.present();
  look([[0, 20_000, false], [0, 20_499, false], [0, 20_500, true]]);
});

/** One end of a link, with the frames that are on their way to it. */
class End {
  readonly link: Link;
  readonly incoming: Buffer[] = [];
  /** What it reports, in order; messages as `stream/index`. */
  readonly heard: string[] = [];
  /** How many messages of each stream the queue took. */
  readonly sent = new Map<string, number>();
  isScheduled = false;
  peer: End | undefined;
  transmit = (frame: Buffer): void => {
    this.peer?.incoming.push(Buffer.from(frame));
  };
  /** Is called with each message. */
  onMessage = () => {};

  constructor(own: string, limits: LinkLimits) {
    this.link = new Link(limits, {
      own,
      window: () => WINDOW,
      transmit: (frame) => this.transmit(frame),
      schedule: () => this.isScheduled = true,
      received: (message) => {
        const [stream = "", index = ""] = message.toString().split(/[/;]/);
        this.heard.push(`${stream}/${Number(index)}`);
        this.onMessage();
      },
      opened: () => this.heard.push("opened"),
      lost: () => this.heard.push("lost"),
      ended: () => this.heard.push("ended"),
    });
  }

  /** Sends the next message of a stream. */
  send(stream: string, size: number): boolean {
    const index = this.sent.get(stream) ?? 0;
    const message = Buffer.alloc(Math.max(size, 12), ";");
    message.write(`${stream}/${index};`);
    if (!this.link.send(stream, [message])) return false;
    this.sent.set(stream, index + 1);
    return true;
  }

  /** Sends a message of the stream "s" in frames of its own. */
  pass(size: number): boolean {
    const isSent = this.send("s", size);
    this.flush();
    return isSent;
  }

  /** Flushes, if the link asked for it. */
  flush(): void {
    if (!this.isScheduled) return;
    this.isScheduled = false;
    this.link.flush();
  }

  take(bytes: Buffer | undefined): void {
    if (bytes === undefined) return;
    try {
      this.link.take(decodeFrame(bytes), bytes);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.heard.push("lost");
    }
  }

  get messages(): string[] {
    return this.heard.filter((each) => each.includes("/"));
  }

  /** Bytes of messages that are on their way to this end. */
  get incomingBytes(): number {
    return this.incoming.filter((frame) => frame.length > DATA_HEADER_BYTES)
      .reduce((sum, { length }) => sum + length, 0);
  }
}

/** Makes two ends that are not greeted yet. */
function newPair(limits = LIMITS): readonly [End, End] {
  const north = new End("north", limits);
  const south = new End("south", limits);
  north.peer = south;
  south.peer = north;
  return [north, south];
}

function newGreeted(limits = LIMITS): readonly [End, End] {
  const ends = newPair(limits);
  ends[0].link.beat();
  settle(ends);
  return ends;
}

/** Lets all arrive, until nothing is on its way. */
function settle(ends: readonly End[]): void {
  for (let turn = 0; turn < 10_000; turn++) {
    if (ends.every((end) => !end.isScheduled && end.incoming.length === 0)) {
      return;
    }
    for (const end of ends) {
      end.flush();
      end.take(end.incoming.shift());
    }
  }
  throw new Error("the links do not come to rest");
}
