/**
 * What sign-in keeps in the Redis of a cluster, on two nodes.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { joinCluster } from "../../server/cluster/mod.ts";
import { connectRedis } from "../../server/cluster/redis/connect.ts";
import * as store from "../../server/cluster/sign_in_store.ts";
import { memberOf } from "../../server/shared/cluster.ts";
import { startRedis, type TestRedis } from "../support/cluster/redis.ts";
import { startRedisCluster } from "../support/cluster/redis_groups.ts";
import { until } from "../support/cluster/programs.ts";
import {
  newCode,
  newGrant,
  newHash,
  type Stores,
  testStores,
} from "../support/sign_in/sign_in_stores.ts";

/** A store on a connection of its own, as of a node. */
const openStore = (url: string) =>
  new store.RedisSignInStore(() => connectRedis(url));

/** Stores of two nodes, and their Redis. */
interface RedisStores extends Stores {
  readonly nodes: readonly [
    store.RedisSignInStore,
    store.RedisSignInStore,
  ];
  readonly redis: TestRedis;
}

async function onRedis(persistent = false): Promise<RedisStores> {
  const stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis({ persistent }));
  const open = () => stack.use(openStore(redis.url));
  return {
    redis,
    nodes: [open(), open()],
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
    async restart() {
      await redis.kill();
      await redis.restart({ keepData: true });
      return [open(), open()];
    },
  };
}

testStores("Redis", () => onRedis(true));

const { RedisSignInStore: _, ...SCRIPTS } = store;

Deno.test("the scripts of sign-in need no command that the access list of the docs lacks", async () => {
  const text = await Deno.readTextFile(
    new URL("../../docs/scaling.md", import.meta.url),
  );
  const [, rights = ""] = /^user smcp on (.*)$/m.exec(text) ?? [];
  const allowed = new Set(rights.match(/(?<=\+)[\w|]+/g));
  for (const { source } of Object.values(SCRIPTS)) {
    for (const [, command = ""] of source.matchAll(/call\('(\w+)'/g)) {
      assert(allowed.has(command.toLowerCase()), command);
    }
  }
});

Deno.test("with the rights of a node of the docs sign-in can do all", async () => {
  const docs = await Deno.readTextFile(
    new URL("../../docs/scaling.md", import.meta.url),
  );
  const [acl = ""] = /^user smcp on .*$/m.exec(docs) ?? [];
  await using redis = await startRedis({ acl: [acl] });
  await usesAll(redis.urlOf("smcp", "PASSWORD"));
});

Deno.test("in a Redis Cluster all keys of sign-in are in one slot, and ends reach other nodes", async () => {
  await using group = await startRedisCluster();
  await usesAll(group.url);
});

/** Does all that a store does, and waits until another node is notified of an end. */
async function usesAll(url: string): Promise<void> {
  await using a = openStore(url);
  await using b = openStore(url);
  const grant = newGrant();
  const hash = newHash();
  assertEquals(await a.secret(), await b.secret());
  await a.putCode(hash, newCode(grant));
  assertEquals((await b.takeCode(hash))?.grant, grant);
  await b.putGrant(grant, hash);
  assertEquals(await a.grantOfCode(hash), grant.id);
  assertEquals(await a.rotate({ ...grant, number: 2 }, 1), true);
  await a.touch(grant.id, Date.now());
  assertEquals((await b.grants()).length, 1);
  const ended = Promise.withResolvers<void>();
  b.onEnded(ended.resolve);
  assert(await a.endGrant(grant.id));
  await ended.promise;
}

Deno.test("nothing that sign-in keeps outlasts its time in Redis but the secret, and each key is documented", async () => {
  await using stores = await onRedis();
  const { redis, nodes: [a] } = stores;
  const grant = newGrant();
  const hash = newHash();
  const code = newHash();
  await a.secret();
  await a.putCode(code, newCode());
  await a.putGrant(grant, hash);
  await a.touch(grant.id, Date.now());
  const keys = async () => {
    const all = await redis.command("KEYS", "{smcp2}:sign-in:*");
    assert(Array.isArray(all));
    return all.map((key) => String(key).slice("{smcp2}:sign-in:".length))
      .sort();
  };
  const kept = [`code:${code}`, `grant:${grant.id}`, "grants"]
    .concat(`redeemed:${hash}`, "secret", "used");
  assertEquals(await keys(), kept);
  for (const key of [`code:${code}`, `grant:${grant.id}`, `redeemed:${hash}`]) {
    const left = Number(await redis.command("PTTL", `{smcp2}:sign-in:${key}`));
    assert(left > 0 && left <= 3_600_000, `${key}: ${left}`);
  }
  // As if its time had passed: it leaves the sets with the next grant.
  await redis.command("DEL", `{smcp2}:sign-in:grant:${grant.id}`);
  await redis.command("ZADD", "{smcp2}:sign-in:grants", "1", grant.id);
  const other = newGrant();
  await a.putGrant(other, newHash());
  assertEquals(
    await redis.command("ZRANGE", "{smcp2}:sign-in:grants", "0", "-1"),
    [other.id],
  );
  assertEquals(await redis.command("EXISTS", "{smcp2}:sign-in:used"), 0);
});

Deno.test("while Redis does not answer each call fails, and none of them is an answer; afterwards all is as before", async () => {
  await using stores = await onRedis(true);
  const { redis, nodes: [a, b] } = stores;
  const grant = newGrant();
  const hash = newHash();
  await a.putGrant(grant, newHash());
  await a.putCode(hash, newCode());
  await b.grants();
  const asked = () => [
    () => a.grant(grant.id),
    () => a.takeCode(hash),
    () => a.rotate({ ...grant, number: 2 }, 1),
    () => a.endGrant(grant.id),
    () => a.secret(),
    () => openStore(redis.url).grant(grant.id),
  ];
  let looks = 0;
  b.onEnded(() => looks++);
  await redis.kill();
  for (const ask of asked()) await assertRejects(ask, Error, "Redis");
  await redis.restart({ keepData: true });
  // What may have ended meanwhile is looked for on all nodes.
  await until(() => looks > 0);
  await until(() => a.grant(grant.id).then(() => true, () => false));
  assertEquals(await a.grant(grant.id), grant);
  assert(await a.takeCode(hash));
});

Deno.test("a server of a cluster makes a store on its own Redis", async () => {
  await using redis = await startRedis();
  await using cluster = await joinCluster(redis.url);
  const { signInStore } = memberOf(cluster);
  assert(signInStore);
  await using a = await signInStore();
  await using b = openStore(redis.url);
  assertEquals(await a.secret(), await b.secret());
});
