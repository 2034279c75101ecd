import { assertEquals, assertGreater } from "@std/assert";
import type { Seat } from "../../../server/mod.ts";
import { openNode, type TestNode } from "../../support/cluster/directories.ts";
import { startRedis, type TestRedis } from "../../support/cluster/redis.ts";
import { until } from "../../support/cluster/programs.ts";
import { member } from "../../support/member.ts";
import { admitted, fresh, seen } from "../../support/server/claims.ts";

/** Free seats wait for 400 ms for those who had them. */
const TIMES = { beatMs: 200, leaseMs: 15_000 };

const agent = member({ role: "agent", name: "boss", socket: "a1" });
const stranger = member({ role: "agent", name: "other", socket: "a2" });

const taken = async (node: TestNode, wanted = agent): Promise<Seat> => {
  const claim = admitted(await node.registry.claim(wanted, fresh, 10));
  return { ...wanted, rev: claim.rev, node: node.directory.node };
};

const WAYS_TO_LOSE: Readonly<
  Record<string, (redis: TestRedis, nodes: TestNode[]) => Promise<void>>
> = {
  "FLUSHALL": async (redis) => void await redis.command("FLUSHALL"),
  "a Redis that starts again empty": async (redis, nodes) => {
    await redis.restart({ keepData: false });
    await until(() =>
      Promise.resolve(nodes.every(({ redis }) => redis.connected))
    );
  },
};

for (const [what, lose] of Object.entries(WAYS_TO_LOSE)) {
  Deno.test(`${what}: nodes take their seats again, with their steps, before any stranger may`, async () => {
    await using redis = await startRedis();
    await using node = await openNode(redis.url, TIMES);
    await using other = await openNode(redis.url, TIMES);
    const seat = await taken(node);
    await lose(redis, [node, other]);

    // Asked before anybody has noticed: it waits, and is refused in the end.
    const claim = other.registry.claim(stranger, fresh, 10);
    const list = other.registry.list("north");
    const [first, second] = [await node.beat(), await other.beat()];
    assertEquals([first.emptied, second.emptied], [true, true]);
    assertEquals(first.seats, 0);
    assertEquals(
      await node.directory.restore({ protocol: "0.2", member: seat }),
      seat,
    );
    assertEquals(await claim, {
      kind: "refuse",
      reason: "Room already has an agent",
    });
    assertEquals((await list).map(seen), [seen(agent)]);
    assertEquals((await node.beat()).emptied, false);

    // The history goes on after all that was.
    assertGreater(await node.registry.release(agent), seat.rev);
    assertGreater((await taken(other, stranger)).rev, seat.rev);
  });
}

Deno.test("after lost data a free seat is given when nobody has taken it again", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url, TIMES);
  const { rev } = await taken(node, member());
  await redis.command("FLUSHALL");
  await node.beat();
  assertGreater((await taken(node)).rev, rev);
});

Deno.test("a cold start waits for nobody", async () => {
  await using redis = await startRedis();
  // By default it would wait for 6 seconds.
  await using node = await openNode(redis.url);
  const before = performance.now();
  await taken(node);
  assertGreater(3000, performance.now() - before);
});

Deno.test("restore() gives no seat that another has by now, and what this node has already stays", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url, TIMES);
  await using other = await openNode(redis.url, TIMES);
  const seat = { protocol: "0.2", member: await taken(node) } as const;
  assertEquals(await node.directory.restore(seat), seat.member);
  await node.registry.release(agent);
  await taken(other, stranger);
  assertEquals(await node.directory.restore(seat), undefined);
  assertEquals((await node.beat()).seats, 0);
  await other.registry.release(stranger);
  assertEquals(await node.directory.restore(seat), seat.member);
});

Deno.test("restore() takes a seat from a dead node, whose leave it tells with the next beat", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url, TIMES);
  await using dead = await openNode(redis.url, TIMES);
  const member = await taken(node);
  await node.registry.release(agent);
  await taken(dead, stranger);
  await redis.command("ZADD", "{smcp1}:nodes", "0", dead.directory.node);
  const restored = await node.directory.restore({ protocol: "0.2", member });
  assertEquals(restored, member);
  const { gone } = await node.beat();
  assertEquals(gone.map(({ member }) => seen(member)), [seen(stranger)]);
});

Deno.test("a node's own steps are the least that Redis goes on from", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url, TIMES);
  const seat = await taken(node);
  // A replica that had not got the last writes, on a machine whose clock is behind.
  await redis.command("SET", "{smcp1}:rev", "7");
  assertGreater(await node.registry.release(agent), seat.rev);
  await redis.command("SET", "{smcp1}:rev", "7");
  await node.beat();
  assertGreater(Number(await redis.command("GET", "{smcp1}:rev")), seat.rev);
});
