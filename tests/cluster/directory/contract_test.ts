import { assert, assertEquals } from "@std/assert";
import { openNode } from "../../support/cluster/directories.ts";
import { startRedis } from "../../support/cluster/redis.ts";

Deno.test("claim() makes the first node the home of an office, and returns it to all", async () => {
  await using redis = await startRedis();
  await using a = await openNode(redis.url);
  await using b = await openNode(redis.url);
  const homes = [await a.claim("north"), await b.claim("north")];
  assertEquals(homes, [a.id, a.id]);
  assertEquals(await b.claim("south"), b.id);
  assertEquals([...a.directory.homes.keys()], ["north"]);
  const { leaseLeftMs } = await b.directory.claim("north");
  assert(leaseLeftMs > 0 && leaseLeftMs <= 6000, String(leaseLeftMs));
});
