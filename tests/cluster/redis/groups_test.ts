import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { slotOf } from "../../../server/cluster/redis/servers.ts";
import {
  connectRedis,
  type Redis,
} from "../../../server/cluster/redis/connect.ts";
import { openNode, type TestNode } from "../../support/cluster/directories.ts";
import { found, until } from "../../support/cluster/programs.ts";
import { oneCommand, type TestRedis } from "../../support/cluster/redis.ts";
import {
  startRedisCluster,
  startSentinels,
} from "../../support/cluster/redis_groups.ts";
import { captureLog } from "../../support/log_capture.ts";

/** Subscribes; what it returns waits until a message that is sent now has arrived. */
async function subscribed(redis: Redis, channel: string) {
  const received: string[] = [];
  await redis.subscribe(channel, (message) => received.push(String(message)));
  return async (from: Redis, text: string) => {
    assertEquals(await from.publish(channel, Buffer.from(text)), 1);
    await found(() => Promise.resolve(received), (r) => r.includes(text));
  };
}

const isConnected = (...nodes: TestNode[]) =>
  until(() => Promise.resolve(nodes.every(({ redis }) => redis.connected)));

const FAILURES: Readonly<Record<string, (redis: TestRedis) => unknown>> = {
  "is killed": (redis) => redis.kill(),
  "does not answer any more": (redis) => redis.freeze(),
};

for (const [what, fail] of Object.entries(FAILURES)) {
  Deno.test(`a master that ${what} is replaced by sentinels; nodes find the new one and keep their homes`, async () => {
    await using group = await startSentinels();
    await using node = await openNode(group.url);
    await using other = await openNode(group.url);
    const arrives = await subscribed(node.redis, "smcp1:{n}");
    await arrives(other.redis, "before");
    assertEquals(await node.claim("north"), node.id);
    const [master] = group.servers;

    await fail(master);
    await group.failedOver(master);
    for (const { directory } of [node, other]) {
      await until(async () =>
        await directory.beat("").then(() => true, () => false)
      );
    }
    await isConnected(node, other);
    await arrives(other.redis, "after");
    assertEquals(await other.claim("north"), node.id);
  });
}

Deno.test("connectRedis() needs one sentinel, which knows the master, and a password where it wants one", async (t) => {
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
      'knows no master named "other": the name is after "#"',
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

Deno.test("channels of a Redis Cluster are spread over its servers, and counted together", async () => {
  await using group = await startRedisCluster();
  await using asking = await connectRedis(group.url);
  const channels = Array.from({ length: 9 }, (_, i) => `smcp1:{node${i}}`);
  await using stack = new AsyncDisposableStack();
  for (const channel of channels) {
    const redis = stack.use(await connectRedis(group.url));
    const arrives = await subscribed(redis, channel);
    await arrives(asking, channel);
  }
  const counts = await asking.numsub([...channels, "smcp1:{nobody}"]);
  assertEquals(counts, [...channels.map(() => 1), 0]);
  const used = await Promise.all(group.servers.map(async (server) => {
    const list = await server.command("PUBSUB", "SHARDCHANNELS");
    return Array.isArray(list) ? list.length : 0;
  }));
  assert(used.every((count) => count > 0), String(used));
});

Deno.test("a slot of a Redis Cluster that moves takes the channel and its messages along", async () => {
  await using group = await startRedisCluster();
  await using node = await openNode(group.url);
  await using other = await openNode(group.url);
  const channel = "smcp1:{moved}";
  const arrives = await subscribed(node.redis, channel);
  await arrives(other.redis, "before");
  const slot = slotOf(channel);
  const owner = Math.floor(slot / 5461);
  const target = group.servers[(owner + 1) % 3];
  const id = String(await target?.command("CLUSTER", "MYID"));
  const states: boolean[] = [];
  node.redis.onState((state) => states.push(state));
  for (const server of [target, ...group.servers]) {
    await server?.command("CLUSTER", "SETSLOT", String(slot), "NODE", id);
  }
  await until(async () =>
    (await node.redis.numsub([channel]).catch(() => [0]))[0] === 1
  );
  await until(async () =>
    (await other.redis.numsub([channel]).catch(() => [0]))[0] === 1
  );
  await arrives(other.redis, "after");
  assertEquals(states, [false, true]);
});

Deno.test("a home of a Redis Cluster is claimed once, over three nodes", async () => {
  await using group = await startRedisCluster();
  await using stack = new AsyncDisposableStack();
  const nodes: TestNode[] = [];
  for (let i = 0; i < 3; i++) nodes.push(stack.use(await openNode(group.url)));
  const homes = await Promise.all(
    Array.from({ length: 12 }, (_, i) => nodes[i % 3]?.claimInTime("north")),
  );
  assertEquals(new Set(homes).size, 1);
  // A server that knows it all is enough to find the others.
  const [server] = group.servers;
  await using _ = await connectRedis(
    `redis-cluster://127.0.0.1:${server?.port}`,
  );
});
