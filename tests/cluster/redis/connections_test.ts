import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  connectRedis,
  type Redis,
} from "../../../server/cluster/redis/connect.ts";
import {
  newScript,
  NotConnectedError,
} from "../../../server/cluster/redis/connection.ts";
import { found, until } from "../../support/cluster/programs.ts";
import { startRedis } from "../../support/cluster/redis.ts";

const CHANNEL = "smcp1:{node}";
const ECHO = newScript("return { KEYS[1], ARGV[1], 7 }");

/** Resolves when it is connected, or is not. */
function reached(redis: Redis, isConnected: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const off = redis.onState((now) => {
    if (now === isConnected) resolve();
  });
  if (redis.connected === isConnected) resolve();
  return promise.finally(off);
}

/** Collects what arrives. */
async function subscribed(redis: Redis): Promise<Buffer[]> {
  const received: Buffer[] = [];
  await redis.subscribe(CHANNEL, (message) => received.push(message));
  return received;
}

Deno.test("connectRedis() runs scripts, and passes bytes as they are", async () => {
  await using server = await startRedis();
  await using redis = await connectRedis(server.url);
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 256));
  assertEquals(await redis.run(ECHO, ["{a}"], ["ä"]), ["{a}", "ä", 7]);
  await server.command("SCRIPT", "FLUSH");
  assertEquals(await redis.run(ECHO, ["{a}"], ["b"]), ["{a}", "b", 7]);

  assertEquals(await redis.publish(CHANNEL, bytes), 0);
  assertEquals(await redis.numsub([]), []);
  const received = await subscribed(redis);
  assertEquals(await redis.numsub(["nobody", CHANNEL]), [0, 1]);
  assertEquals(await redis.publish(CHANNEL, bytes), 1);
  assertEquals(await redis.publish(CHANNEL, Buffer.alloc(0)), 1);
  const all = await found(() => Promise.resolve(received), (r) => r.length > 1);
  assertEquals(all, [bytes, Buffer.alloc(0)]);
});

Deno.test("without Redis everything fails at once; afterwards the subscription is there again", async () => {
  await using server = await startRedis();
  await using redis = await connectRedis(server.url);
  const received = await subscribed(redis);
  const since = redis.since;
  assert(since !== undefined);
  await server.kill();
  await reached(redis, false);
  assertEquals(redis.since, undefined);
  // It has two connections, of which one is the first to notice.
  await until(async () => {
    const error = await redis.numsub([CHANNEL]).catch((error) => error);
    return error instanceof NotConnectedError;
  });
  for (
    const ask of [
      () => redis.run(ECHO, ["{a}"], ["x"]),
      () => redis.publish(CHANNEL, Buffer.from("lost")),
      () => redis.numsub([CHANNEL]),
    ]
  ) await assertRejects(ask, NotConnectedError, server.url.slice(8));

  await server.restart({ keepData: false });
  await reached(redis, true);
  assert(redis.since !== undefined && redis.since > since);
  assertEquals(await redis.publish(CHANNEL, Buffer.from("back")), 1);
  const all = await found(() => Promise.resolve(received), (r) => r.length > 0);
  assertEquals(all.map(String), ["back"]);
});

Deno.test("a Redis that does not answer fails commands after a second, and is given up after some", async () => {
  await using server = await startRedis();
  await using redis = await connectRedis(server.url);
  await subscribed(redis);
  server.freeze();
  const published = redis.publish(CHANNEL, Buffer.from("x"));
  published.catch(() => {});
  await assertRejects(
    () => redis.run(ECHO, ["{a}"], ["x"]),
    Error,
    "does not answer in time",
  );
  assert(redis.connected);
  await reached(redis, false);
  await assertRejects(() => published);
  server.thaw();
  await reached(redis, true);
  assertEquals(await redis.numsub([CHANNEL]), [1]);
});

Deno.test("a subscription that Redis cuts off counts as a new connection", async () => {
  await using server = await startRedis();
  await using redis = await connectRedis(server.url);
  await subscribed(redis);
  const states: boolean[] = [];
  redis.onState((isConnected) => states.push(isConnected));
  await server.command("CLIENT", "KILL", "TYPE", "pubsub");
  await reached(redis, false);
  await reached(redis, true);
  assertEquals(states, [false, true]);
  assertEquals(await redis.numsub([CHANNEL]), [1]);
  // Who answers is the same connection as before.
  assertEquals(await redis.run(ECHO, ["{a}"], ["x"]), ["{a}", "x", 7]);
});

Deno.test("a process subscribes once, and nothing of it is left after close()", async () => {
  await using server = await startRedis();
  const redis = await connectRedis(server.url);
  await subscribed(redis);
  await assertRejects(() => redis.subscribe("other", () => {}), Error, "one");
  await redis.close();
  await redis.close();
  assertEquals(redis.connected, false);
  await assertRejects(() => redis.run(ECHO, ["a"], []), NotConnectedError);
  await found(
    async () => String(await server.command("CLIENT", "LIST")),
    (list) => list.trim().split("\n").length === 1,
  );
});
