import { assertEquals } from "@std/assert";
import { startLinkProcess } from "../support/cluster/link_process.ts";
import { killed } from "../support/cluster/programs.ts";
import { realNode } from "../support/cluster/real_node.ts";
import {
  startRedisCluster,
  startSentinels,
} from "../support/cluster/redis_groups.ts";

Deno.test("links pass through a Redis Cluster by sharded channels, and tell of a killed process", async () => {
  await using redis = await startRedisCluster();
  // The channels of these two are on different servers.
  await using north = await realNode(redis.url, "north");
  await using south = await realNode(redis.url, "south");
  await using west = await startLinkProcess(redis.url, "west");
  await north.links.meet(["south", "west"]);
  await south.links.meet(["west"]);
  await north.settled();
  for (let i = 0; i < 100; i++) {
    north.send("south", `${i}`);
    north.send("west", `${i}`);
  }
  await south.hears("north: 99");
  assertEquals(
    south.heard,
    Array.from({ length: 100 }, (_, i) => `north: ${i}`),
  );
  await killed(west);
  await Promise.all([north.hears("gone west"), south.hears("gone west")]);
  assertEquals(north.heard, ["gone west"]);
});

Deno.test("links lose nothing in a fail-over of sentinels, and nobody is taken for gone", async () => {
  await using redis = await startSentinels();
  await using north = await realNode(redis.url, "north");
  await using south = await realNode(redis.url, "south");
  await using west = await startLinkProcess(redis.url, "west");
  await north.links.meet(["south", "west"]);
  await south.links.meet(["west"]);
  const master = await redis.master();
  await master.kill();
  await north.hears("connected false");
  north.send("south", "meanwhile");
  await redis.failedOver(master);
  await south.hears("north: meanwhile");
  await north.reaches(south);
  await north.settled();
  await north.looked();
  assertEquals(
    [...north.heard, ...south.heard, ...west.lines].filter((each) =>
      /gone|silent|lost/.test(each)
    ),
    [],
  );
});
