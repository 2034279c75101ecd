import { assertEquals, assertRejects } from "@std/assert";
import {
  LEASE_MS,
  RegistryUnavailableError,
} from "../../../server/cluster/directory.ts";
import {
  PREFIX,
  RedisDirectory,
} from "../../../server/cluster/redis_directory.ts";
import { connectRedis } from "../../../server/cluster/redis/connect.ts";
import { openNode, type TestNode } from "../../support/cluster/directories.ts";
import { until } from "../../support/cluster/programs.ts";
import { startRedis, type TestRedis } from "../../support/cluster/redis.ts";
import { SlowRedis } from "../../support/cluster/slow_redis.ts";

/** Lets Redis do what it is asked only after its clients have given up waiting. */
async function unanswered(
  redis: TestRedis,
  ask: () => Promise<unknown>,
): Promise<void> {
  redis.freeze();
  try {
    await ask();
  } finally {
    redis.thaw();
  }
}

const homes = (redis: TestRedis, { id }: TestNode) =>
  redis.command("HKEYS", `${PREFIX}h:${id}`);

const isUnavailable = (work: Promise<unknown>) =>
  assertRejects(() => work, RegistryUnavailableError, "try again");

Deno.test("a claim that was not answered is released with the next beat, although Redis has done it", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await using other = await openNode(redis.url);
  await node.claim("south"); // Redis has the script
  await unanswered(redis, () => isUnavailable(node.claim("north")));
  await until(async () => String(await homes(redis, node)) === "south,north");
  await node.beat();
  await until(async () => await other.claim("north") === other.id);
});

Deno.test("a claim that was not answered may be released at once", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await node.claim("south"); // Redis has the script
  await unanswered(redis, () => isUnavailable(node.claim("north")));
  await until(async () => String(await homes(redis, node)) === "south,north");
  await node.directory.release("north");
  assertEquals(await homes(redis, node), ["south"]);
});

Deno.test("a claim that was not answered may be repeated: the home stays", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await unanswered(redis, () => isUnavailable(node.claim("north")));
  await until(async () =>
    await node.claim("north").catch(() => undefined) === node.id
  );
  await node.beat();
  await node.beat();
  assertEquals(await homes(redis, node), ["north"]);
});

Deno.test("a claim that was not answered does not end the home that this node has already", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await node.claim("north");
  await unanswered(redis, () => isUnavailable(node.claim("north")));
  await node.beat();
  await node.beat();
  assertEquals(await homes(redis, node), ["north"]);
  await node.directory.release("north");
  assertEquals(await homes(redis, node), []);
});

Deno.test("a release that was not sent is repeated with the next beat", async () => {
  await using redis = await startRedis({ persistent: true });
  await using node = await openNode(redis.url);
  await using other = await openNode(redis.url);
  await node.claim("north");
  await redis.kill();
  await until(() => Promise.resolve(!node.redis.connected));
  await node.directory.release("north");
  await redis.restart({ keepData: true });
  await until(() =>
    Promise.resolve(node.redis.connected && other.redis.connected)
  );
  await node.beat();
  await other.beat();
  await redis.command("DEL", `${PREFIX}settle`);
  await until(async () => await other.claim("north") === other.id);
});

Deno.test("a release that arrives late does not end the home that was claimed since", async () => {
  await using redis = await startRedis({ used: false });
  await using client = await connectRedis(redis.url);
  const slow = new SlowRedis(client);
  await slow.turn(0);
  const directory = new RedisDirectory(slow.connect());
  await directory.beat("");
  for (let i = 0; i < 2; i++) {
    await slow.turn(LEASE_MS / 2);
    await directory.beat("");
  }
  await directory.claim("north");
  slow.fates = ["late"];
  await directory.release("north");
  await directory.claim("north");
  for (let i = 0; i < 3; i++) await slow.deliver();
  assertEquals(await slow.homesOf(directory.node), ["north"]);
  await directory[Symbol.asyncDispose]();
});

Deno.test("without Redis a claim and a beat fail at once, and a release does not", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await redis.kill();
  await until(() => Promise.resolve(!node.redis.connected));
  await isUnavailable(node.claim("north"));
  await isUnavailable(node.beat());
  await node.directory.release("north");
});
