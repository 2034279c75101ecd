import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { openNode } from "../support/cluster/directories.ts";
import { found, until } from "../support/cluster/programs.ts";
import { startRedis, type TestRedis } from "../support/cluster/redis.ts";
import {
  startRedisCluster,
  startSentinels,
} from "../support/cluster/redis_groups.ts";

/** The keys and channels that a node uses. */
const PLACES = ["~{smcp2}:*", "&smcp1:*"];

/** What the scripts do, and reading what Redis is. */
const EVERYWHERE = [
  ...["evalsha", "eval", "info", "time"],
  ...["get", "set", "unlink"],
  ...["hget", "hset", "hdel", "hexists", "hlen"],
  ...["zadd", "zrem", "zscore", "zrangebyscore"],
];
const RIGHTS = {
  single: [...EVERYWHERE, "ping", "publish", "subscribe", "pubsub|numsub"],
  sentinel: [...EVERYWHERE, "role", "publish", "subscribe", "pubsub|numsub"],
  cluster: [
    ...EVERYWHERE,
    ...["role", "spublish", "ssubscribe", "pubsub|shardnumsub"],
    "cluster|slots",
  ],
};

const PASSWORD = "secret";

const setUser = (redis: TestRedis, rights: readonly string[]) =>
  redis.command(
    ...["ACL", "SETUSER", "node", "reset", "on", `>${PASSWORD}`],
    ...[...PLACES, ...rights.map((right) => `+${right}`)],
  );

const asNode = (url: string) => url.replace("://", `://node:${PASSWORD}@`);

/** An empty Redis gives no home for so long. */
const LEASE_MS = 300;

/** Does everything once that a node asks of Redis. */
async function useAll(url: string, servers: readonly TestRedis[]) {
  await using leaving = await openNode(url, LEASE_MS);
  await using node = await openNode(url, LEASE_MS);
  assertEquals(await node.claimInTime("north"), node.id);
  await node.beat();
  await node.directory.release("north");
  await leaving.directory.leave();

  const received: Buffer[] = [];
  const channel = `smcp1:{${node.directory.node}}`;
  await node.redis.subscribe(channel, (message) => received.push(message));
  assertEquals(await node.redis.numsub([channel, "smcp1:{x}"]), [1, 0]);
  assertEquals(await node.redis.publish(channel, Buffer.from("x")), 1);
  await found(() => received, ({ length }) => length > 0);

  // Whether a connection is well is asked each second.
  const asked = await Promise.all(servers.map(signsOfLife));
  await until(async () => {
    const now = await Promise.all(servers.map(signsOfLife));
    return now.some((count, index) => count > (asked[index] ?? 0));
  });
}

/** How often `PING` or `ROLE` was asked, answered or refused. */
async function signsOfLife(redis: TestRedis): Promise<number> {
  const stats = String(await redis.command("INFO", "commandstats"));
  const lines = /^cmdstat_(?:ping|role):calls=(\d+).*?rejected_calls=(\d+)/gm;
  return [...stats.matchAll(lines)].flatMap(([, ...counts]) => counts)
    .reduce((sum, count) => sum + Number(count), 0);
}

async function refusals(servers: readonly TestRedis[]): Promise<string[]> {
  const logs = await Promise.all(
    servers.map((server) => server.command("ACL", "LOG")),
  );
  return logs.flatMap((log) => Array.isArray(log) ? log.map(String) : []);
}

Deno.test("the least rights of a node on one Redis are enough", async () => {
  await using redis = await startRedis();
  await assertEnough(redis.url, [redis], RIGHTS.single);
  const database = `${asNode(redis.url)}/3`;
  await assertRejects(() => openNode(database), Error, "permissions");
  await setUser(redis, [...RIGHTS.single, "select"]);
  await using _ = await openNode(database);
  await assertRejects(() => openNode(redis.url.replace("://", "://node:x@")));
});

for (const kind of ["sentinel", "cluster"] as const) {
  Deno.test(`the least rights of a node on Redis are enough: ${kind}`, async () => {
    await using group = kind === "sentinel"
      ? await startSentinels()
      : await startRedisCluster();
    await assertEnough(group.url, group.servers, RIGHTS[kind]);
  });
}

Deno.test("without any one of the least rights a node is refused something", async (t) => {
  await using redis = await startRedis();
  for (const missing of [...RIGHTS.single, ...PLACES]) {
    await t.step(missing, async () => {
      await redis.command("FLUSHALL");
      await redis.command("SCRIPT", "FLUSH");
      await redis.command("ACL", "LOG", "RESET");
      const places = PLACES.filter((place) => place !== missing);
      await setUser(redis, RIGHTS.single);
      await redis.command(
        ...["ACL", "SETUSER", "node", "resetkeys", "resetchannels"],
        ...places,
        ...(PLACES.includes(missing) ? [] : [`-${missing}`]),
      );
      await useAll(asNode(redis.url), [redis]).catch(() => {});
      assert((await refusals([redis])).length > 0);
    });
  }
});

/** Asserts that a user with these rights can do all, and is refused nothing. */
async function assertEnough(
  url: string,
  servers: readonly TestRedis[],
  rights: readonly string[],
) {
  for (const server of servers) await setUser(server, rights);
  await useAll(asNode(url), servers);
  assertEquals(await refusals(servers), []);
}
