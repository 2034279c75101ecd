import { assert, assertEquals, assertRejects } from "@std/assert";
import { PREFIX } from "../../../server/cluster/redis_directory.ts";
import { RegistryUnavailableError } from "../../../server/cluster/directory.ts";
import { openNode, type TestNode } from "../../support/cluster/directories.ts";
import { startRedis, type TestRedis } from "../../support/cluster/redis.ts";

/** The lease of a node is over, as if its time had passed. */
const expire = (redis: TestRedis, { id }: TestNode) =>
  redis.command("ZADD", `${PREFIX}nodes`, "0", id);

Deno.test("a home is free as soon as the lease of its node has ended", async () => {
  await using redis = await startRedis();
  await using dead = await openNode(redis.url);
  await using node = await openNode(redis.url);
  await dead.claim("north");
  assertEquals(await node.claim("north"), dead.id);
  await expire(redis, dead);
  assertEquals(await node.claim("north"), node.id);
});

Deno.test("a lease ends by itself, after the time that the claim of another node returns", async () => {
  await using redis = await startRedis();
  await using dead = await openNode(redis.url, 600);
  await using node = await openNode(redis.url);
  await dead.claim("north");
  for (;;) {
    const { node: home, leaseLeftMs } = await node.directory.claim("north");
    if (home === node.id) break;
    assert(leaseLeftMs > 0 && leaseLeftMs <= 600, String(leaseLeftMs));
    // The clock of Redis is the one that counts.
    await redis.command("BLPOP", "nothing", String(leaseLeftMs / 1000));
  }
});

Deno.test("a beat renews all homes of a node", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await using other = await openNode(redis.url);
  await node.claim("north");
  const end = async () =>
    Number(await redis.command("ZSCORE", `${PREFIX}nodes`, node.id));
  await redis.command("ZINCRBY", `${PREFIX}nodes`, "-3000", node.id);
  const before = await end();
  await node.beat();
  assert(await end() >= before + 3000);
  const { leaseLeftMs } = await other.directory.claim("north");
  assert(leaseLeftMs > 3000, String(leaseLeftMs));
});

Deno.test("a node whose lease has ended gets no home, and no other lease under its id", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await using other = await openNode(redis.url);
  await node.claim("north");
  await expire(redis, node);
  const error = await assertRejects(
    () => node.claim("south"),
    RegistryUnavailableError,
    "try again",
  );
  assertEquals(error.toPayload().code, 500);
  assertEquals(error.toPayload().reason, "registry unavailable");
  for (let beats = 0; beats < 2; beats++) {
    assertEquals(await node.directory.beat(""), { state: "reaped" });
    await other.beat();
  }
  assertEquals(await other.claim("north"), other.id);
});

Deno.test("a release of a node whose lease has ended does not end the home that another has by now", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await using other = await openNode(redis.url);
  await node.claim("north");
  await expire(redis, node);
  await other.claim("north");
  await node.directory.release("north");
  await node.directory.leave();
  await using third = await openNode(redis.url);
  assertEquals(await third.claim("north"), other.id);
});

Deno.test("beats of others remove what a dead node has left in Redis", async () => {
  await using redis = await startRedis();
  await using dead = await openNode(redis.url);
  await using node = await openNode(redis.url);
  await dead.claim("north");
  await expire(redis, dead);
  assertEquals((await node.beat()).nodes.size, 0);
  const keys = await redis.command("KEYS", `*${dead.id}*`);
  assertEquals(keys, []);
  assertEquals(await redis.command("HKEYS", `${PREFIX}about`), [node.id]);
});
