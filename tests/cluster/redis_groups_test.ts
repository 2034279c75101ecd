import { assertEquals, assertMatch } from "@std/assert";
import {
  startRedisCluster,
  startSentinels,
} from "../support/cluster/redis_groups.ts";

Deno.test({
  name: "startSentinels() replaces a master that is killed",
  timeout: 60_000,
  fn: async () => {
    await using sentinels = await startSentinels();
    const master = await sentinels.master();
    await master.kill();
    const next = await sentinels.failedOver(master);
    assertEquals(next, sentinels.servers[1]);
  },
});

Deno.test("startRedisCluster() shares the slots among three masters", async () => {
  await using cluster = await startRedisCluster();
  const info = await cluster.servers[0]?.command("CLUSTER", "INFO");
  assertMatch(String(info), /cluster_slots_ok:16384/);
  assertMatch(String(info), /cluster_size:3/);
});
