import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { slotOf } from "../../server/cluster/redis/servers.ts";
import {
  connectRedis,
  type Redis,
} from "../../server/cluster/redis/connect.ts";
import { openNode, type TestNode } from "../support/cluster/directories.ts";
import { found, until } from "../support/cluster/programs.ts";
import { oneCommand } from "../support/cluster/redis.ts";
import {
  startRedisCluster,
  startSentinels,
} from "../support/cluster/redis_groups.ts";
import { captureLog } from "../support/log_capture.ts";

Deno.test("a master that does not answer any more is replaced by sentinels; nodes find the new one and keep their homes", async () => {
  await using group = await startSentinels();
  await using node = await openNode(group.url);
  await using other = await openNode(group.url);
  const arrives = await subscribed(node.redis, "smcp1:{n}");
  await arrives(other.redis, "before");
  assertEquals(await node.claim("north"), node.id);
  const [master] = group.servers;
  master.freeze();
  await group.failedOver(master);
  for (const { directory, redis } of [node, other]) {
    await until(async () =>
      await directory.beat("").then(() => redis.connected, () => false)
    );
  }
  await arrives(other.redis, "after");
  assertEquals(await other.claim("north"), node.id);
});

Deno.test("connectRedis() needs one sentinel that names the master, and a password where one is set", async (t) => {
  await using group = await startSentinels();
  const [, hosts = "", master = ""] =
    /^redis-sentinel:\/\/(.*)#(.*)$/.exec(group.url) ?? [];
  const [one] = hosts.split(",");
  const sentinel = `redis-sentinel://127.0.0.1:1,${one}`;

  await t.step("others may be down", async () => {
    await using redis = await connectRedis(`${sentinel}#${master}`);
    assert(redis.connected);
  });

  await t.step("a master that it does not know is named", async () => {
    await assertRejects(
      () => connectRedis(`${sentinel}#other`),
      Error,
      'has no master named "other": the name is after "#"',
    );
  });

  await t.step("one right is enough there", async () => {
    const url = `redis://${one}`;
    const user = ["ACL", "SETUSER", "node", "on", ">secret"];
    await oneCommand(url, user);
    const asNode =
      `${sentinel}?sentinelUser=node&sentinelPassword=secret#${master}`;
    await assertRejects(() => connectRedis(asNode), Error, "permissions");
    await oneCommand(url, [...user, "+sentinel|get-master-addr-by-name"]);
    await using redis = await connectRedis(asNode);
    assert(redis.connected);
    await assertRejects(
      () => connectRedis(asNode.replace("secret", "wrong")),
      Error,
      "refuses the user and password",
    );
  });

  await t.step("a former master that would go on is warned of", async () => {
    const warnings = async () => {
      using log = captureLog();
      await using _ = await connectRedis(group.url);
      return log.records.filter(({ level, rawMessage }) =>
        level === "warning" && String(rawMessage).includes("min-replicas")
      ).length;
    };
    assertEquals(await warnings(), 1);
    const server = await group.master();
    await server.command("CONFIG", "SET", "min-replicas-to-write", "1");
    assertEquals(await warnings(), 0);
  });
});

Deno.test("channels of a Redis Cluster are spread over its servers and counted together, a home is claimed once, and a slot that moves takes its channel along", async () => {
  await using group = await startRedisCluster();
  const [server] = group.servers;
  // One server that has the whole map is enough to find the others.
  const one = `redis-cluster://127.0.0.1:${server?.port}`;
  await using asking = await connectRedis(one);
  await using stack = new AsyncDisposableStack();
  const nodes: TestNode[] = [];
  for (let i = 0; i < 3; i++) nodes.push(stack.use(await openNode(group.url)));
  const homes = await Promise.all(
    Array.from({ length: 12 }, (_, i) => nodes[i % 3]?.claimInTime("north")),
  );
  assertEquals(new Set(homes).size, 1);

  const channels = Array.from({ length: 9 }, (_, i) => `smcp1:{node${i}}`);
  const subscribers: { redis: Redis; arrives: Arrives }[] = [];
  for (const channel of channels) {
    const redis = stack.use(await connectRedis(group.url));
    const arrives = await subscribed(redis, channel);
    await arrives(asking, channel);
    subscribers.push({ redis, arrives });
  }
  const counts = await asking.numsub([...channels, "smcp1:{nobody}"]);
  assertEquals(counts, [...channels.map(() => 1), 0]);
  const used = await Promise.all(group.servers.map(async (server) => {
    const list = await server.command("PUBSUB", "SHARDCHANNELS");
    return Array.isArray(list) ? list.length : 0;
  }));
  assert(used.every((count) => count > 0), String(used));

  const [channel = ""] = channels;
  const [moved] = subscribers;
  assert(moved);
  const slot = slotOf(channel);
  const target = group.servers[(Math.floor(slot / 5461) + 1) % 3];
  const id = String(await target?.command("CLUSTER", "MYID"));
  const states: boolean[] = [];
  moved.redis.onState((state) => states.push(state));
  for (const server of [target, ...group.servers]) {
    await server?.command("CLUSTER", "SETSLOT", String(slot), "NODE", id);
  }
  for (const redis of [moved.redis, asking]) {
    await until(async () =>
      (await redis.numsub([channel]).catch(() => [0]))[0] === 1
    );
  }
  await moved.arrives(asking, "after");
  assertEquals(states, [false, true]);
});

/** Subscribes; what it returns waits until a message that is sent now has arrived. */
async function subscribed(redis: Redis, channel: string): Promise<Arrives> {
  const received: string[] = [];
  await redis.subscribe(channel, (message) => received.push(String(message)));
  return async (from, text) => {
    assertEquals(await from.publish(channel, Buffer.from(text)), 1);
    await found(() => received, (r) => r.includes(text));
  };
}

type Arrives = (from: Redis, text: string) => Promise<void>;
