import { assertEquals } from "@std/assert";
import { LEAVE_OFFICE_EVENT } from "../../protocol/mod.ts";
import { joinCluster } from "../../server/cluster/mod.ts";
import { createMetrics, createSmcpServer } from "../../server/mod.ts";
import { startRedis, type TestRedis } from "../support/cluster/redis.ts";
import { joinRaw } from "../support/wire/raw_client.ts";

// What a fail-over that loses the last writes leaves behind; beats are each 0.8 s here.

const OFFICE = "{smcp1}:o:0.2:office";

async function startNode(redis: TestRedis) {
  const cluster = await joinCluster(redis.url, { leaseMs: 4000 });
  const metrics = createMetrics();
  const smcp = createSmcpServer({ cluster, metrics });
  const { url } = await smcp.listen({ port: 0 });
  return {
    url,
    cluster,
    smcp,
    /** Resolves when a count has reached a value. */
    async counted(line: string) {
      while (!(await metrics.text()).split("\n").includes(line)) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    [Symbol.asyncDispose]: () => smcp.close({ graceMs: 0 }),
  };
}

const COUNT = "smcp_cluster_seats_reconciled_total";

Deno.test("a seat that Redis has lost is taken again, and its member hears nothing of it", async () => {
  await using redis = await startRedis();
  await using node = await startNode(redis);
  await using pc = await joinRaw(node.url, "computer", "pc", "office");
  const [slot, seat] = await redis.command("HGETALL", OFFICE) as string[];
  await redis.command("HDEL", OFFICE, String(slot));
  await redis.command(
    "SREM",
    `{smcp1}:n:${node.cluster.status.node}`,
    `0.2:office\n${slot}`,
  );
  await node.counted(`${COUNT}{action="restored"} 1`);
  const restored = await redis.command("HGET", OFFICE, String(slot));
  const revOf = (code: unknown) => String(code).split("\n")[1];
  assertEquals(revOf(restored), revOf(seat));
  assertEquals([pc.socket.connected, pc.heard], [true, []]);
});

Deno.test("a seat that nobody holds is released, when it is seen twice", async () => {
  await using redis = await startRedis();
  await using node = await startNode(redis);
  await using pc = await joinRaw(node.url, "computer", "pc", "office");
  const [slot, seat] = await redis.command("HGETALL", OFFICE) as string[];
  await pc.request(LEAVE_OFFICE_EVENT, { office_id: "office" });
  await redis.command("HSET", OFFICE, String(slot), String(seat));
  await redis.command(
    "SADD",
    `{smcp1}:n:${node.cluster.status.node}`,
    `0.2:office\n${slot}`,
  );
  await node.counted(`${COUNT}{action="released"} 1`);
  assertEquals(await redis.command("HGETALL", OFFICE), []);
});

Deno.test("a member whose seat another has after lost data is disconnected", async () => {
  await using redis = await startRedis();
  await using node = await startNode(redis);
  await using other = await startNode(redis);
  await using pc = await joinRaw(node.url, "computer", "pc", "office");
  const [slot, seat] = await redis.command("HGETALL", OFFICE) as string[];
  const own = node.cluster.status.node;
  // In one step, so that no beat comes between.
  const taken = String(seat).replace(own, other.cluster.status.node);
  await redis.command("HSET", OFFICE, String(slot), taken);
  await redis.command("SREM", `{smcp1}:n:${own}`, `0.2:office\n${slot}`);
  await pc.disconnected();
  await node.counted(`${COUNT}{action="lost"} 1`);
  assertEquals(await redis.command("HGET", OFFICE, String(slot)), taken);
});
