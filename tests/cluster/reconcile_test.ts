import { assert, assertEquals } from "@std/assert";
import { joinCluster } from "../../server/cluster/mod.ts";
import { memberOf } from "../../server/shared/cluster.ts";
import { createMetrics, createSmcpServer } from "../../server/mod.ts";
import { startRedis, type TestRedis } from "../support/cluster/redis.ts";
import { joinRaw } from "../support/wire/raw_client.ts";

// What a Redis leaves behind that drops keys, or does late what it was asked; beats are each second here.

const HOMES = "{smcp2}:h:";

async function startNode(redis: TestRedis) {
  const cluster = await joinCluster(redis.url, { leaseMs: 4000 });
  const metrics = createMetrics();
  const smcp = createSmcpServer({ cluster, metrics });
  const { url } = await smcp.listen({ port: 0 });
  return {
    url,
    cluster,
    smcp,
    /** The number of offices that live there. */
    homes: () => memberOf(cluster).figures().homes,
    /** Resolves when a count has reached a value. */
    async counted(line: string) {
      while (!(await metrics.text()).split("\n").includes(line)) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    [Symbol.asyncDispose]: () => smcp.close({ graceMs: 0 }),
  };
}

Deno.test("a home that Redis has lost is taken again, and its members notice nothing", async () => {
  await using redis = await startRedis();
  await using node = await startNode(redis);
  await using other = await startNode(redis);
  await using pc = await joinRaw(node.url, "computer", "pc", "office");
  await redis.command("DEL", HOMES + node.cluster.status.node);
  await node.counted("smcp_cluster_data_lost_total 1");
  await using _ = await joinRaw(other.url, "agent", "boss", "office");
  assertEquals(other.homes(), 0);
  assert(pc.socket.connected);
});

Deno.test("a home that no member is in is released when another node needs it", async () => {
  await using redis = await startRedis();
  await using node = await startNode(redis);
  await using other = await startNode(redis);
  const homes = HOMES + node.cluster.status.node;
  await redis.command("HSET", homes, "office", "0");
  await using _ = await joinRaw(other.url, "computer", "pc", "office");
  assertEquals(other.homes(), 1);
  assertEquals(await redis.command("HGETALL", homes), []);
});

Deno.test("members of a home that another node has after lost data are disconnected", async () => {
  await using redis = await startRedis();
  await using node = await startNode(redis);
  await using other = await startNode(redis);
  await using pc = await joinRaw(node.url, "computer", "pc", "office");
  const [own, theirs] = [node, other].map(({ cluster }) =>
    HOMES + cluster.status.node
  );
  // In one step, so that no beat comes between.
  const script =
    "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[2], 'office', 1)";
  await redis.command("EVAL", script, "2", String(own), String(theirs));
  await pc.disconnected();
  await node.counted("smcp_cluster_homes_lost_total 1");
  assertEquals(node.homes(), 0);
});
