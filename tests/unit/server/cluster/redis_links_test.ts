import { Buffer } from "node:buffer";
import { assert, assertEquals } from "@std/assert";
import { channelOf } from "../../../../server/cluster/link.ts";
import {
  decodeFrame,
  encodeFrame,
  LINK_VERSION,
} from "../../../../server/cluster/link_frames.ts";
import { cluster, quick } from "../../../support/cluster/fake_cluster.ts";
import { FakeRedis } from "../../../support/cluster/fake_redis.ts";
import { LinkNode } from "../../../support/cluster/link_node.ts";
import { until } from "../../../support/cluster/programs.ts";

Deno.test("openLinks() carries messages between all that have met, in order", async () => {
  await using all = await cluster();
  const [north, south, west] = all.nodes;
  assertEquals([...north.links.peers].sort(), ["south", "west"]);
  assertEquals([...west.links.peers].sort(), ["north", "south"]);
  for (const text of ["1", "2", "3"]) {
    assertEquals(north.send("south", text), "sent");
  }
  west.send("south", "4");
  south.send("west", "5");
  await south.hears("west: 4");
  await west.hears("south: 5");
  assertEquals(south.heard.filter((each) => each.startsWith("north")), [
    "north: 1",
    "north: 2",
    "north: 3",
  ]);
});

Deno.test("openLinks() publishes the small messages of one turn at once", async () => {
  await using all = await cluster();
  const [north, south] = all.nodes;
  north.send("south", "first");
  await south.hears("north: first");
  const before = all.redis.published;
  for (let i = 0; i < 100; i++) north.send("south", String(i), `s${i % 7}`);
  const after = new Promise<number>((resolve) =>
    queueMicrotask(() => resolve(all.redis.published))
  );
  assertEquals(await after - before, 1);
  await south.hears("north: 99");
});

Deno.test("meet() resolves when a node has answered, and in time when it does not", async () => {
  const redis = new FakeRedis();
  await using north = await LinkNode.open(redis.connect(), "north", {
    ...quick,
    lookMs: 10_000,
    answerMs: 50,
  });
  await north.links.meet(["nobody", "north"]);
  assertEquals([...north.links.peers], ["nobody"]);
});

Deno.test("meet() does not take a node that never was there for gone", async () => {
  const redis = new FakeRedis();
  let now = 1_000_000;
  await using north = await LinkNode.open(redis.connect(), "north", {
    ...quick,
    silentMs: 60_000,
    answerMs: 10,
    now: () => now,
  });
  await north.links.meet(["nobody"]);
  for (let i = 0; i < 3; i++) {
    now += quick.goneMs;
    const { looks } = redis;
    await until(() =>
      Promise.resolve(north.heard.length > 0 || redis.looks >= looks + 2)
    );
  }
  assertEquals(north.heard, []);
  assertEquals([...north.links.peers], ["nobody"]);
});

Deno.test("openLinks() refuses a node of a version that does not follow its own", async () => {
  for (const [more, isMet] of [[1, true], [2, false]] as const) {
    const redis = new FakeRedis();
    await using north = await LinkNode.open(redis.connect(), "north", {
      ...quick,
      lookMs: 10_000,
    });
    const south = redis.connect();
    const answers: string[] = [];
    await south.subscribe(channelOf("south"), (message) => {
      answers.push(decodeFrame(message).kind);
      north.wake();
    });
    await south.publish(
      channelOf("north"),
      encodeFrame({
        kind: "beat",
        version: LINK_VERSION + more,
        from: "south",
        asks: true,
        ...{ sent: 0, taken: 0, room: 1_000 },
      }),
    );
    if (isMet) await north.until(() => answers.length > 0);
    else await new Promise((resolve) => setTimeout(resolve, 0));
    assertEquals(answers, isMet ? ["beat"] : []);
    assertEquals([...north.links.peers], isMet ? ["south"] : []);
  }
});

Deno.test("openLinks() survives whatever is sent to its channel", async () => {
  await using all = await cluster();
  const [north, south] = all.nodes;
  for (let i = 0; i < 2_000; i++) {
    const bytes = Buffer.from(
      Array.from({ length: i % 40 }, () => Math.floor(Math.random() * 256)),
    );
    if (i % 2 && bytes.length > 0) bytes[0] = i % 6;
    all.redis.deliver(channelOf("north"), bytes);
  }
  south.send("north", "still here");
  await north.hears("south: still here");
});

Deno.test("send() says full when a node does not take what is sent, and away when it is not known", async () => {
  await using all = await cluster({ ...quick, silentMs: 10_000 });
  const [north, south] = all.nodes;
  assertEquals(north.send("nobody", "x"), "away");
  all.connections[1].freeze();
  const message = [new Uint8Array(1_000_000)];
  let taken = 0;
  while (north.links.send("south", "s", message) === "sent") taken++;
  assert(taken >= 64 && taken <= 68, `${taken} MB were taken`);
  let got = 0;
  south.onMessage = () => {
    got++;
    south.wake();
  };
  all.connections[1].thaw();
  await south.until(() => got === taken);
});

Deno.test("openLinks() sends again what got lost, also without traffic", async () => {
  await using all = await cluster();
  const [north, south, west] = all.nodes;
  let lost = 0;
  all.redis.loses = (channel, message) =>
    channel === channelOf("south") && message.includes("secret") &&
    lost++ === 0;
  north.send("south", "secret");
  await south.hears("north: secret");
  north.send("south", "more");
  await south.hears("north: more");
  assertEquals(south.heard, ["north: secret", "north: more"]);
  assertEquals(north.heard, []);
  assertEquals(west.heard, []);
});

Deno.test("openLinks() tells of an ended process, once, and ignores what it says after it was dropped", async () => {
  await using all = await cluster();
  const [north, south, west] = all.nodes;
  all.connections[2].end();
  await Promise.all([north.hears("gone west"), south.hears("gone west")]);
  assertEquals([...north.links.peers], ["south"]);
  north.links.drop("west");
  assertEquals(north.send("west", "hello"), "away");
  all.redis.deliver(
    channelOf("north"),
    encodeFrame({
      kind: "beat",
      version: LINK_VERSION,
      from: west.id,
      asks: true,
      ...{ sent: 0, taken: 0, room: 1 },
    }),
  );
  await north.links.meet(["west"]);
  north.send("south", "on");
  await south.hears("north: on");
  assertEquals([...north.links.peers], ["south"]);
  assertEquals(north.heard, ["gone west"]);
  assertEquals(south.heard, ["gone west", "north: on"]);
});

Deno.test("openLinks() tells that a frozen node is silent, not gone, and talks to it again", async () => {
  await using all = await cluster();
  const [north, south] = all.nodes;
  all.connections[1].freeze();
  await north.hears("silent south");
  north.send("south", "are you there");
  all.connections[1].thaw();
  await south.hears("north: are you there");
  south.send("north", "yes");
  await north.hears("south: yes");
  all.connections[1].freeze();
  await north.hears("silent south", 2);
  all.connections[1].thaw();
  assertEquals(
    north.heard.filter((each) => !each.startsWith("silent")),
    ["south: yes"],
  );
});

Deno.test("openLinks() does not take a node that subscribes again in time for gone", async () => {
  let now = 1_000_000;
  const timed = { ...quick, goneMs: 500, settleMs: 2_000, now: () => now };
  await using all = await cluster(timed);
  const [north, south, west] = all.nodes;
  const threeLooks = async () => {
    const { looks } = all.redis;
    await until(() => Promise.resolve(all.redis.looks >= looks + 6));
  };
  for (let i = 1; i <= 3; i++) {
    all.connections[1].disconnect();
    await threeLooks();
    now += 499;
    await threeLooks();
    north.send("south", `${i}`);
    all.connections[1].reconnect();
    await south.hears(`north: ${i}`);
    now += 2_000;
    await threeLooks();
  }
  assert(!north.heard.includes("gone south"));
  all.connections[1].disconnect();
  await threeLooks();
  now += 500;
  await Promise.all([north.hears("gone south"), west.hears("gone south")]);
  // It was only cut off.
  north.send("south", "kept");
  all.connections[1].reconnect();
  await south.hears("north: kept");
  assert(north.links.peers.has("south"));
});

Deno.test("openLinks() proves no end while its own channel has no receiver", async () => {
  const redis = new FakeRedis();
  const own = redis.connect();
  let isBlind = false;
  let looks = 0;
  await using north = await LinkNode.open(
    {
      get connected() {
        return own.connected;
      },
      get since() {
        return own.since;
      },
      publish: (...args) => own.publish(...args),
      subscribe: (...args) => own.subscribe(...args),
      onState: (...args) => own.onState(...args),
      numsub: (channels) => {
        looks++;
        north.wake();
        return isBlind
          ? Promise.resolve(channels.map(() => 0))
          : own.numsub(channels);
      },
    },
    "north",
    quick,
  );
  await using south = await LinkNode.open(redis.connect(), "south", quick);
  await north.links.meet(["south"]);
  isBlind = true;
  const before = looks;
  await north.until(() => looks > before + 10);
  assertEquals(north.heard, []);
  assertEquals(south.heard, []);
});

Deno.test("openLinks() tells when Redis is away and back, and loses nothing", async () => {
  await using all = await cluster();
  const [north, south, west] = all.nodes;
  all.redis.down();
  assertEquals(north.send("south", "x"), "sent");
  west.send("south", "y");
  all.redis.up();
  await Promise.all([south.hears("north: x"), south.hears("west: y")]);
  assertEquals(north.heard, ["connected false", "connected true"]);
  north.send("west", "again");
  await west.hears("north: again");
  assertEquals(west.heard.at(-1), "north: again");
});

Deno.test("openLinks() says goodbye: its peers drop it without noise, after all it sent", async () => {
  await using all = await cluster();
  const [north, south, west] = all.nodes;
  for (let i = 0; i < 50; i++) west.send("south", `${i}`);
  await west[Symbol.asyncDispose]();
  await south.hears("west: 49");
  const noise = (node: LinkNode) =>
    node.heard.filter((each) => !each.startsWith("west: "));
  north.send("south", "on");
  await south.hears("north: on");
  assertEquals(noise(south), ["north: on"]);
  assertEquals(noise(north), []);
  assertEquals([...north.links.peers], ["south"]);
  assertEquals([...south.links.peers], ["north"]);
});

Deno.test("drop() forgets a node for ever", async () => {
  await using all = await cluster();
  const [north, south] = all.nodes;
  north.links.drop("south");
  assertEquals(north.send("south", "x"), "away");
  south.send("north", "y");
  south.send("west", "z");
  await all.nodes[2].hears("south: z");
  await north.links.meet(["south"]);
  assertEquals([...north.links.peers], ["west"]);
  assertEquals(north.heard, []);
});
