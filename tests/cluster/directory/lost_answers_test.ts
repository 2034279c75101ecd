import { assertEquals, assertRejects } from "@std/assert";
import { ROUTING_KEY } from "../../../server/cluster/directory/prelude.ts";
import { CLAIM } from "../../../server/cluster/directory/scripts.ts";
import {
  claimKey,
  memberCode,
} from "../../../server/cluster/directory/seat_code.ts";
import { RegistryUnavailableError } from "../../../server/cluster/directory/unavailable.ts";
import { openNode } from "../../support/cluster/directories.ts";
import { until } from "../../support/cluster/programs.ts";
import { startRedis, type TestRedis } from "../../support/cluster/redis.ts";
import { member } from "../../support/member.ts";
import { admitted, fresh, seen } from "../../support/server/claims.ts";

/** Lets Redis do what it is asked only after its clients have given up waiting. */
const unanswered = async (redis: TestRedis, ask: () => unknown) => {
  redis.freeze();
  try {
    await assertRejects(
      async () => await ask(),
      RegistryUnavailableError,
      "try again",
    );
  } finally {
    redis.thaw();
  }
};

const sockets = async (redis: TestRedis): Promise<string[]> => {
  const seats = await redis.command("HVALS", "{smcp1}:o:0.2:north");
  return Array.isArray(seats)
    ? seats.map((seat) => String(seat).split("\n")[2] ?? "")
    : [];
};

Deno.test("a claim that was not answered is taken back, although Redis seated it", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await unanswered(redis, () => node.registry.claim(member(), fresh, 10));
  await until(async () => (await sockets(redis)).length === 0);
  const steps = Number(await redis.command("GET", "{smcp1}:rev"));
  await node.beat();
  const claim = await node.registry.claim(member({ socket: "s2" }), fresh, 10);
  // The one before was seated: it has made a step.
  assertEquals(admitted(claim).rev, steps + 1);
});

Deno.test("who was evicted by a claim that was not answered has its seat again, as before", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await using other = await openNode(redis.url);
  const before = member({ instance: "i" });
  admitted(await other.registry.claim(before, fresh, 10));
  const seats = await other.registry.list("north");
  await unanswered(
    redis,
    () => node.registry.claim({ ...before, socket: "s2" }, fresh, 10),
  );
  await until(async () => (await sockets(redis))[0] === "s1");
  assertEquals(await other.registry.list("north"), seats);
  assertEquals((await other.beat()).seats, 1);
  assertEquals((await node.beat()).seats, 0);
});

Deno.test("a dead holder that was evicted by a claim that was not answered is told with the next beat", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await using dead = await openNode(redis.url);
  admitted(await dead.registry.claim(member(), fresh, 10));
  await redis.command("ZADD", "{smcp1}:nodes", "0", dead.directory.node);
  await unanswered(
    redis,
    () => node.registry.claim(member({ socket: "s2" }), fresh, 10),
  );
  await until(async () => (await sockets(redis)).length === 0);
  const { gone } = await node.beat();
  assertEquals(gone.map(({ member }) => seen(member)), [seen(member())]);
});

Deno.test("the same socket may claim again after an answer that was lost, and keeps its seat", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await using other = await openNode(redis.url);
  const before = member({ instance: "i" });
  admitted(await other.registry.claim(before, fresh, 10));
  const back = { ...before, socket: "s2" };
  await unanswered(redis, () => node.registry.claim(back, fresh, 10));
  const claim = admitted(
    await again(() => node.registry.claim(back, fresh, 10)),
  );
  // Whom it has evicted is told now, since nobody was told before.
  assertEquals(claim.evict && seen(claim.evict), seen(before));
  await node.beat(); // behind whatever takes the first one back
  assertEquals(await sockets(redis), ["s2"]);
});

Deno.test("the holder of a claim that was not answered gets its seat back also when that node is reaped", async () => {
  await using redis = await startRedis();
  await using other = await openNode(redis.url);
  const before = member({ instance: "i" });
  const { rev } = admitted(await other.registry.claim(before, fresh, 10));
  await using node = await openNode(redis.url);
  // What a claim asks whose node is killed before it hears the answer.
  const epoch = String(await redis.command("GET", "{smcp1}:epoch"));
  const place = ["0.2:north", "Cpc", "s2", claimKey(before), "1", "10"];
  const ids = [node.directory.node, epoch, "0"];
  await node.redis.run(
    CLAIM,
    [ROUTING_KEY],
    [...ids, ...place, memberCode(before), ""],
  );
  assertEquals(await sockets(redis), ["s2"]);
  await other.directory.reap(node.directory.node);
  const [seat] = await other.registry.list("north");
  assertEquals(seat?.socket, "s1");
  assertEquals(seat?.rev, rev);
});

Deno.test("without Redis a claim fails at once, with nothing to take back", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await redis.kill();
  await until(() => Promise.resolve(!node.redis.connected));
  const error = await assertRejects(
    async () => await node.registry.claim(member(), fresh, 10),
    RegistryUnavailableError,
  );
  assertEquals(error.mayBeDone, false);
  await assertRejects(
    async () => await node.registry.list("north"),
    RegistryUnavailableError,
  );
});

/** Asks until Redis goes on. */
async function again<T>(ask: () => T | Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof RegistryUnavailableError)) throw error;
    }
  }
}
