import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { channelOf } from "../../../../../server/cluster/links/links.ts";
import {
  decodeFrame,
  encodeFrame,
  LINK_VERSION,
} from "../../../../../server/cluster/links/frame.ts";
import { cluster, quick } from "../../../../support/cluster/fake_cluster.ts";
import { FakeRedis } from "../../../../support/cluster/fake_redis.ts";
import { until } from "../../../../support/cluster/programs.ts";
import { LinkNode } from "../../../../support/cluster/link_node.ts";

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
