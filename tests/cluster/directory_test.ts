import { assert, assertEquals, assertRejects } from "@std/assert";
import { RegistryUnavailableError } from "../../server/cluster/directory.ts";
import {
  BEAT,
  CLAIM,
  LEAVE,
  PREFIX,
  RELEASE,
  RESTORE,
} from "../../server/cluster/redis_directory.ts";
import { openNode, type TestNode } from "../support/cluster/directories.ts";
import { until } from "../support/cluster/programs.ts";
import { startRedis, type TestRedis } from "../support/cluster/redis.ts";
import { captureLog } from "../support/log_capture.ts";

const SHORT_LEASE_MS = 1500;

Deno.test("claim() makes the first node the home of an office of any name, until that node releases it", async () => {
  await using place = await twoNodes();
  const { a, b } = place;
  for (
    const office of ["north", "", "a\nb", "ä{x}", "__proto__", "x".repeat(999)]
  ) {
    assertEquals([await a.claim(office), await b.claim(office)], [a.id, a.id]);
    const { leaseLeftMs } = await b.directory.claim(office);
    assert(leaseLeftMs > 0 && leaseLeftMs <= 6000, String(leaseLeftMs));
    await b.directory.release(office);
    assertEquals(await b.claim(office), a.id);
    assertEquals([...a.directory.homes.keys()], [office]);
    for (let i = 0; i < 2; i++) await a.directory.release(office);
    assertEquals(a.directory.homes.size, 0);
    assertEquals(await b.claim(office), b.id);
  }
});

Deno.test("release() does not end a home that is being claimed meanwhile, for the first time or again", async () => {
  await using place = await twoNodes();
  const { a, b } = place;
  for (const _ of ["first", "again"]) {
    const claim = a.claim("north");
    await a.directory.release("north");
    assertEquals([await claim, await b.claim("north")], [a.id, a.id]);
    assert(a.directory.homes.has("north"));
  }
});

Deno.test("a node takes thousands of homes again in steps, and frees them in one when it leaves", async () => {
  await using place = await twoNodes();
  const { redis, a, b } = place;
  const offices = Array.from({ length: 2100 }, (_, index) => `o${index}`);
  await Promise.all(offices.map(a.claim));
  await redis.command("FLUSHALL");
  assertEquals((await a.beat()).lost, []);
  assertEquals(await redis.command("HLEN", `${PREFIX}h:${a.id}`), 2100);
  await redis.command("DEL", `${PREFIX}settle`);
  assertEquals([...(await b.beat()).nodes.keys()], [a.id]);
  await a.directory.leave();
  assertEquals((await b.beat()).nodes.size, 0);
  const homes = new Set(await Promise.all(offices.map(b.claim)));
  assertEquals([...homes], [b.id]);
});

Deno.test("beat() returns the other nodes with what they publish, and renews all homes of a node", async () => {
  await using place = await twoNodes();
  const { redis, a, b } = place;
  await a.directory.beat("ä\n1");
  assertEquals((await b.beat()).nodes, new Map([[a.id, "ä\n1"]]));
  await a.claim("north");
  const end = async () =>
    Number(await redis.command("ZSCORE", `${PREFIX}nodes`, a.id));
  await redis.command("ZINCRBY", `${PREFIX}nodes`, "-3000", a.id);
  const before = await end();
  await a.beat();
  assert(await end() >= before + 3000);
  const { leaseLeftMs } = await b.directory.claim("north");
  assert(leaseLeftMs > 3000, String(leaseLeftMs));
});

Deno.test("all keys are in one slot, and each is documented", async () => {
  await using place = await twoNodes();
  const { redis, a, b } = place;
  await a.claim("north");
  await b.directory.leave();
  await redis.command("DEL", `${PREFIX}epoch`);
  await a.beat();
  const keys = await redis.command("KEYS", "*");
  assert(Array.isArray(keys));
  assertEquals(
    keys.map(String).sort(),
    ["about", "epoch", `h:${a.id}`, "nodes", "settle"]
      .map((key) => PREFIX + key),
  );
});

Deno.test("the scripts need no command that the access list of the docs lacks", async () => {
  const text = await Deno.readTextFile(
    new URL("../../docs/scaling.md", import.meta.url),
  );
  const [, rights = ""] = /^user smcp on (.*)$/m.exec(text) ?? [];
  const allowed = new Set(rights.match(/(?<=\+)[\w|]+/g));
  for (const { source } of [BEAT, CLAIM, LEAVE, RELEASE, RESTORE]) {
    for (const [, command = ""] of source.matchAll(/call\('(\w+)'/g)) {
      assert(allowed.has(command.toLowerCase()), command);
    }
  }
});

Deno.test("a node whose lease has ended has no home, gets none, ends none of another, and leaves nothing in Redis", async () => {
  await using place = await twoNodes();
  const { redis, a: dead, b: other } = place;
  await dead.claim("north");
  assertEquals(await other.claim("north"), dead.id);
  // As if its time had passed.
  await redis.command("ZADD", `${PREFIX}nodes`, "0", dead.id);
  const error = await isUnavailable(dead.claim("south"));
  const { code, reason } = error.toPayload();
  assertEquals([code, reason], [500, "registry unavailable"]);
  assertEquals(await other.claim("north"), other.id);
  await dead.directory.release("north");
  for (let beats = 0; beats < 2; beats++) {
    assertEquals(await dead.directory.beat(""), { state: "reaped" });
    assertEquals((await other.beat()).nodes.size, 0);
  }
  assertEquals(await redis.command("KEYS", `*${dead.id}*`), []);
  assertEquals(await redis.command("HKEYS", `${PREFIX}about`), [other.id]);
  await dead.directory.leave();
  await using third = await openNode(redis.url);
  assertEquals(await third.claim("north"), other.id);
});

Deno.test("a lease ends by itself, after the time that the claim of another node returns", async () => {
  await using redis = await startRedis();
  await using dead = await openNode(redis.url, 600);
  await using node = await openNode(redis.url);
  await dead.claim("north");
  for (;;) {
    const { node: home, leaseLeftMs } = await node.directory.claim("north");
    if (home === node.id) break;
    assert(leaseLeftMs > 0 && leaseLeftMs <= 600, String(leaseLeftMs));
    // The clock of Redis is the one that counts.
    await redis.command("BLPOP", "nothing", String(leaseLeftMs / 1000));
  }
});

Deno.test("without Redis a claim and a beat fail at once, and a release does not", async () => {
  await using place = await twoNodes();
  const { redis, a } = place;
  await redis.kill();
  await until(() => !a.redis.connected);
  await isUnavailable(a.claim("north"));
  await isUnavailable(a.beat());
  await a.directory.release("north");
});

Deno.test("that Redis refuses what a node asks is logged once, and that it does so no more", async () => {
  await using place = await twoNodes();
  const { redis, a } = place;
  using log = captureLog();
  await redis.command("CONFIG", "SET", "maxmemory", "1");
  for (let i = 0; i < 2; i++) await isUnavailable(a.beat());
  await redis.command("CONFIG", "SET", "maxmemory", "0");
  for (let i = 0; i < 2; i++) await a.beat();
  const lines = log.records.filter(({ category }) => category[0] !== "logtape")
    .map(({ level, rawMessage }) =>
      `${level}: ${/refuses|accepts commands again/.exec(String(rawMessage))}`
    );
  assertEquals(lines, ["warning: refuses", "info: accepts commands again"]);
});

type Loss = (redis: TestRedis, nodes: readonly TestNode[]) => Promise<unknown>;
const restart = (keepData: boolean): Loss => async (redis, nodes) => {
  await redis.restart({ keepData });
  await until(() => nodes.every(({ redis }) => redis.connected));
};
const LOSSES: readonly (readonly [string, Loss, isEmpty: boolean])[] = [
  ["FLUSHALL", (redis) => redis.command("FLUSHALL"), true],
  ["a Redis that starts again empty", restart(false), true],
  ["a Redis that starts again with its data", restart(true), false],
];

for (const [name, happen, isEmpty] of LOSSES) {
  Deno.test(`${name}: a node has its homes again before any other may`, async () => {
    await using place = await twoNodes(SHORT_LEASE_MS);
    const { redis, a, b } = place;
    await a.claim("north");
    await happen(redis, [a, b]);

    // Claimed before any node has noticed, and before the home is known again.
    const early = b.claim("north");
    const beat = await b.beat();
    assertEquals([beat.isNew, beat.isEmpty, beat.lost], [true, isEmpty, []]);
    assertEquals(beat.nodes.size, 0);
    assert(beat.settleMs > 0 && beat.settleMs <= SHORT_LEASE_MS);
    const restored = await a.beat();
    assertEquals([restored.isNew, restored.lost], [true, []]);
    assertEquals([...restored.nodes.keys()], [b.id]);
    assertEquals(await early, a.id);
    assertEquals((await a.beat()).isNew, false);
  });
}

for (const isLost of [true, false]) {
  const what = isLost ? "after lost data" : "in an empty Redis";
  Deno.test(`${what} an office gets a home when all former leases are over`, async () => {
    await using redis = await startRedis({ used: isLost });
    await using node = await openNode(redis.url, SHORT_LEASE_MS);
    if (isLost) await redis.command("FLUSHALL");
    assert((await node.beat()).settleMs > 0);
    const settled = Number(await redis.command("GET", `${PREFIX}settle`));
    assertEquals(await node.claimInTime("north"), node.id);
    const [seconds = 0, micros = 0] = [await redis.command("TIME")].flat()
      .map(Number);
    assert(seconds * 1000 + micros / 1000 >= settled);
    assertEquals((await node.beat()).settleMs, 0);
  });
}

Deno.test("a beat after a loss takes no office again that was released meanwhile, and returns those that are elsewhere", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  for (const office of ["north", "south", "west"]) await node.claim(office);
  await redis.command("FLUSHALL");
  // With a shorter lease it may take homes before they are known again.
  await using other = await openNode(redis.url, 100);
  await until(async () => (await other.beat()).settleMs === 0);
  assertEquals(await other.claim("north"), other.id);
  await other.beat();
  const beat = node.beat();
  await node.directory.release("west");
  assertEquals((await beat).lost, ["north"]);
  assertEquals([...node.directory.homes.keys()], ["south"]);
  const homes = await redis.command("HKEYS", `${PREFIX}h:${node.id}`);
  assertEquals(homes, ["south"]);
});

Deno.test("a claim gives up when homes do not become known", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url, 300);
  await redis.command("SET", `${PREFIX}epoch`, "another");
  await isUnavailable(node.claim("north"));
});

const isUnavailable = (work: Promise<unknown>) =>
  assertRejects(() => work, RegistryUnavailableError, "try again");

/** Two nodes on a Redis of their own. */
async function twoNodes(leaseMs?: number) {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const a = stack.use(await openNode(redis.url, leaseMs));
  const b = stack.use(await openNode(redis.url, leaseMs));
  const owned = stack.move();
  return {
    redis,
    a,
    b,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
