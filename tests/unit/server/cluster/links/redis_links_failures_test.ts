import { assert, assertEquals } from "@std/assert";
import { channelOf } from "../../../../../server/cluster/links/links.ts";
import {
  encodeFrame,
  LINK_VERSION,
} from "../../../../../server/cluster/links/frame.ts";
import { cluster, quick } from "../../../../support/cluster/fake_cluster.ts";
import { FakeRedis } from "../../../../support/cluster/fake_redis.ts";
import { until } from "../../../../support/cluster/programs.ts";
import { LinkNode } from "../../../../support/cluster/link_node.ts";

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
