import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  LEASE_MS as DEFAULT_LEASE_MS,
  RegistryUnavailableError,
} from "../../../server/cluster/directory.ts";
import {
  PREFIX,
  RedisDirectory,
} from "../../../server/cluster/redis_directory.ts";
import { connectRedis } from "../../../server/cluster/redis/connect.ts";
import { openNode, type TestNode } from "../../support/cluster/directories.ts";
import { FakeClock } from "../../support/cluster/fake_clock.ts";
import { until } from "../../support/cluster/programs.ts";
import { startRedis, type TestRedis } from "../../support/cluster/redis.ts";
import { SlowRedis } from "../../support/cluster/slow_redis.ts";

const LEASE_MS = 1500;

/** Starts Redis again; resolves when the nodes have reached it. */
async function restart(
  redis: TestRedis,
  nodes: readonly TestNode[],
  keepData: boolean,
): Promise<void> {
  await redis.restart({ keepData });
  await until(() =>
    Promise.resolve(nodes.every(({ redis }) => redis.connected))
  );
}

const WAYS: Readonly<
  Record<
    string,
    {
      readonly isEmpty: boolean;
      happen(redis: TestRedis, nodes: readonly TestNode[]): Promise<unknown>;
    }
  >
> = {
  "FLUSHALL": {
    isEmpty: true,
    happen: (redis) => redis.command("FLUSHALL"),
  },
  "a Redis that starts again empty": {
    isEmpty: true,
    happen: (redis, nodes) => restart(redis, nodes, false),
  },
  "a Redis that starts again with its data": {
    isEmpty: false,
    happen: (redis, nodes) => restart(redis, nodes, true),
  },
};

for (const [what, { happen, isEmpty }] of Object.entries(WAYS)) {
  Deno.test(`${what}: a node has its homes again before any other may`, async () => {
    await using redis = await startRedis();
    await using node = await openNode(redis.url, LEASE_MS);
    await using other = await openNode(redis.url, LEASE_MS);
    await node.claim("north");
    await happen(redis, [node, other]);

    // Claimed before any node has noticed, and before the home is known again.
    const early = other.claim("north");
    const beat = await other.beat();
    assertEquals([beat.isNew, beat.isEmpty, beat.lost], [true, isEmpty, []]);
    assertEquals(beat.nodes.size, 0);
    assert(beat.settleMs > 0 && beat.settleMs <= LEASE_MS);
    const restored = await node.beat();
    assertEquals([restored.isNew, restored.lost], [true, []]);
    assertEquals([...restored.nodes.keys()], [other.id]);
    assertEquals(await early, node.id);
    assertEquals((await node.beat()).isNew, false);
  });
}

Deno.test("after lost data an office without a home gets one when all former leases are over", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url, LEASE_MS);
  await redis.command("FLUSHALL");
  await node.beat();
  const settled = Number(await redis.command("GET", `${PREFIX}settle`));
  assertEquals(await node.claimInTime("north"), node.id);
  const [seconds, micros] = [await redis.command("TIME")].flat().map(Number);
  assert((seconds ?? 0) * 1000 + (micros ?? 0) / 1000 >= settled);
});

Deno.test("a node that comes just after the loss gets no home of a node that serves", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url, LEASE_MS);
  await node.claim("north");
  await redis.command("FLUSHALL");
  await using newcomer = await openNode(redis.url, LEASE_MS);
  const claim = newcomer.claim("north");
  await node.beat();
  assertEquals(await claim, node.id);
});

Deno.test("the first nodes of an empty Redis wait for a lease, in which former nodes may serve", async () => {
  await using redis = await startRedis({ used: false });
  await using node = await openNode(redis.url, LEASE_MS);
  const { settleMs } = await node.beat();
  assert(settleMs > 0, String(settleMs));
  assertEquals(await node.claimInTime("north"), node.id);
  assertEquals((await node.beat()).settleMs, 0);
});

Deno.test("a node takes thousands of homes again in steps", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  const offices = Array.from({ length: 2100 }, (_, index) => `o${index}`);
  await Promise.all(offices.map(node.claim));
  await redis.command("FLUSHALL");
  assertEquals((await node.beat()).lost, []);
  assertEquals(await redis.command("HLEN", `${PREFIX}h:${node.id}`), 2100);
});

Deno.test("what was released during the loss is not taken again", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await node.claim("north");
  await node.claim("south");
  await redis.command("FLUSHALL");
  const beat = node.beat();
  await node.directory.release("north");
  await beat;
  assertEquals(await redis.command("HKEYS", `${PREFIX}h:${node.id}`), [
    "south",
  ]);
});

Deno.test("a beat returns homes that are elsewhere by now, as where another node has a shorter lease", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await node.claim("north");
  await node.claim("south");
  await redis.command("FLUSHALL");
  await using other = await openNode(redis.url, 100);
  await until(async () => (await other.beat()).settleMs === 0);
  assertEquals(await other.claim("north"), other.id);
  await other.beat();
  assertEquals((await node.beat()).lost, ["north"]);
  assertEquals([...node.directory.homes.keys()], ["south"]);
});

Deno.test("a claim gives up when homes do not become known", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url, 300);
  await redis.command("SET", `${PREFIX}epoch`, "another");
  await assertRejects(() => node.claim("north"), RegistryUnavailableError);
});

Deno.test("homes of a replica that lacks the last writes count for nothing after a fail-over", async () => {
  await using server = await startRedis({ used: false });
  await using redis = await connectRedis(server.url);
  const slow = new SlowRedis(redis);
  const clock = new FakeClock();
  const [former, home] = [0, 1].map(() =>
    new RedisDirectory(slow.connect(), DEFAULT_LEASE_MS, clock)
  );
  assert(former && home);
  const allBeat = () => Promise.all([former.beat(""), home.beat("")]);
  await slow.empty(true);
  for (let i = 0; i < 3; i++) {
    await allBeat();
    await slow.turn(DEFAULT_LEASE_MS / 2);
  }
  await former.claim("north");
  await slow.remember();
  await former.release("north");
  assertEquals((await home.claim("north")).node, home.node);

  await slow.replace("recall");
  await former.beat("");
  const claim = former.claim("north");
  await slow.quiet();
  await home.beat("");
  await clock.turn(1000);
  assertEquals((await claim).node, home.node);
  assertEquals([former.homes.size, home.homes.size], [0, 1]);
});
