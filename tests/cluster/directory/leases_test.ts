import {
  assert,
  assertEquals,
  assertGreater,
  assertRejects,
} from "@std/assert";
import { PREFIX } from "../../../server/cluster/directory/prelude.ts";
import { RegistryUnavailableError } from "../../../server/cluster/directory/unavailable.ts";
import { openNode, type TestNode } from "../../support/cluster/directories.ts";
import { until } from "../../support/cluster/programs.ts";
import { startRedis, type TestRedis } from "../../support/cluster/redis.ts";
import { member } from "../../support/member.ts";
import { admitted, fresh, seen } from "../../support/server/claims.ts";

/** The lease of a node is over, as if its time had passed. */
const expire = (redis: TestRedis, { directory }: TestNode) =>
  redis.command("ZADD", `${PREFIX}nodes`, "0", directory.node);

const pc = (name: string) => member({ name, socket: name });

const join = async (node: TestNode, name: string) =>
  admitted(await node.registry.claim(pc(name), fresh, Infinity));

const names = (gone: readonly { member: { name: string } }[]) =>
  gone.map(({ member }) => member.name).sort();

const manyNames = Array.from({ length: 1200 }, (_, i) => `pc${i}`).sort();

Deno.test("a node whose lease has ended is refused each change, and hears it with its next beat", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await join(node, "pc");
  await expire(redis, node);
  const error = await assertRejects(
    () => join(node, "mac"),
    RegistryUnavailableError,
    "try again",
  );
  assertEquals(error.toPayload().code, 500);
  assertEquals(error.toPayload().reason, "registry unavailable");
  assertEquals(await node.registry.release(pc("pc")), 0);
  await assertRejects(() => node.directory.reap("x"), RegistryUnavailableError);
  for (let i = 0; i < 2; i++) {
    assertEquals(await node.directory.beat(""), { state: "reaped" });
  }
});

Deno.test("a node that was reaped while it lives is fenced for good", async () => {
  await using redis = await startRedis();
  await using frozen = await openNode(redis.url);
  await using other = await openNode(redis.url);
  const { rev } = await join(frozen, "pc");
  assertEquals(await other.directory.reap(frozen.directory.node), [{
    protocol: "0.2",
    member: { ...pc("pc"), rev, node: frozen.directory.node },
  }]);
  await join(other, "pc");
  assertEquals(await frozen.registry.release(pc("pc")), 0);
  await assertRejects(() => join(frozen, "pc"), RegistryUnavailableError);
  assertEquals(await frozen.directory.beat(""), { state: "reaped" });
  assertEquals((await other.registry.list("north")).map(seen), [
    seen(pc("pc")),
  ]);
});

Deno.test("a seat of a dead node is free at once; its leave is told by who gets it, and by nobody else", async () => {
  await using redis = await startRedis();
  await using dead = await openNode(redis.url);
  await using node = await openNode(redis.url);
  const { rev } = await join(dead, "pc");
  await join(dead, "mac");
  await expire(redis, dead);
  assertEquals(await node.registry.list("north"), []);
  const claim = admitted(
    await node.registry.claim(member({ socket: "s2" }), fresh, 1, true),
  );
  assertEquals(claim.evict, { ...pc("pc"), rev, node: dead.directory.node });
  assertEquals(claim.seats?.map(({ socket }) => socket), ["s2"]);
  assertEquals(names((await node.beat()).gone), ["mac"]);
  assertEquals(names((await node.beat()).gone), []);
  assertEquals(await node.directory.reap(dead.directory.node), []);
});

Deno.test("beats free the seats of dead nodes 500 at a time, and tell each leave to one node", async () => {
  await using redis = await startRedis();
  await using dead = await openNode(redis.url);
  await using first = await openNode(redis.url);
  await using second = await openNode(redis.url);
  await Promise.all(manyNames.map((name) => join(dead, name)));
  assertEquals((await dead.beat()).seats, manyNames.length);
  await expire(redis, dead);
  const told: string[] = [];
  const sizes: number[] = [];
  for (let i = 0; i < 2; i++) {
    for (const beat of await Promise.all([first.beat(), second.beat()])) {
      told.push(...names(beat.gone));
      sizes.push(beat.gone.length);
    }
  }
  assertEquals(sizes, [500, 500, 200, 0]);
  assertEquals(told.sort(), manyNames);
  assertEquals([...(await first.beat()).nodes.keys()], [second.directory.node]);
});

Deno.test("reap() frees all seats of a node, in steps, and tells each leave to one caller", async () => {
  await using redis = await startRedis();
  await using dead = await openNode(redis.url);
  await using first = await openNode(redis.url);
  await using second = await openNode(redis.url);
  await Promise.all(manyNames.map((name) => join(dead, name)));
  const told = await Promise.all(
    [first, second].map((node) => node.directory.reap(dead.directory.node)),
  );
  assertEquals(names(told.flat()), manyNames);
  assertEquals(await first.registry.list("north"), []);
  for (const node of [first, second]) {
    assertEquals((await node.beat()).gone, []);
  }
});

Deno.test("a leave whose answer was lost is told with the next beat, and once", async () => {
  await using redis = await startRedis();
  await using dead = await openNode(redis.url);
  await using node = await openNode(redis.url);
  await join(dead, "pc");
  await expire(redis, dead);
  redis.freeze();
  await assertRejects(() => node.beat(), RegistryUnavailableError);
  redis.thaw();
  await until(async () =>
    await redis.command("HLEN", `${PREFIX}o:0.2:north`) === 0
  );
  assertEquals(await redis.command("HLEN", `${PREFIX}o:0.2:north`), 0);
  assertEquals(names((await node.beat()).gone), ["pc"]);
  assertEquals((await node.beat()).gone, []);
});

Deno.test("leaves that a dead node had to tell are told by who reaps it", async () => {
  await using redis = await startRedis();
  await using dead = await openNode(redis.url);
  await using teller = await openNode(redis.url);
  await using node = await openNode(redis.url);
  await join(dead, "pc");
  await join(teller, "mac");
  // It may have been killed before it told anybody.
  await teller.directory.reap(dead.directory.node);
  assertEquals(
    names(await node.directory.reap(teller.directory.node)),
    ["mac", "pc"],
  );
});

Deno.test("beats tell a node of the others, what they tell of themselves, and its own seats", async () => {
  await using redis = await startRedis();
  await using first = await openNode(redis.url);
  await using second = await openNode(redis.url);
  await first.directory.beat("ä\n1");
  const beat = await second.beat();
  assertEquals(beat.nodes, new Map([[first.directory.node, "ä\n1"]]));
  assertEquals(beat.seats, 0);
  await join(second, "pc");
  assertEquals((await second.beat()).seats, 1);
  assertEquals((await first.beat()).seats, 0);
});

Deno.test("own() lists the seats of this node in all versions, with their steps", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await using other = await openNode(redis.url);
  await Promise.all(manyNames.map((name) => join(node, name)));
  const later = node.directory.registry("0.4");
  const { rev } = admitted(await later.claim(pc("pc0"), fresh, 1));
  await join(other, "other");
  const own = await node.directory.own();
  assertEquals(names(own), [...manyNames, "pc0"].sort());
  assertEquals(own.filter(({ protocol }) => protocol === "0.4"), [{
    protocol: "0.4",
    member: { ...pc("pc0"), rev, node: node.directory.node },
  }]);
});

Deno.test("a node that leaves is forgotten; what it leaves behind is told by others", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  await using tidy = await openNode(redis.url);
  await using untidy = await openNode(redis.url);
  await join(untidy, "pc");
  await join(tidy, "mac");
  await tidy.registry.release(pc("mac"));
  await tidy.directory.leave();
  await untidy.directory.leave();
  const beat = await node.beat();
  assertEquals(beat.nodes.size, 0);
  assertEquals(names(beat.gone), ["pc"]);
});

Deno.test("no instance_id or principal can be read in Redis", async () => {
  await using redis = await startRedis();
  await using node = await openNode(redis.url);
  const secret = member({ instance: "0123-secret", principal: "p-secret" });
  admitted(await node.registry.claim(secret, fresh, 1));
  const keys = await redis.command("KEYS", "*");
  assert(Array.isArray(keys));
  assertGreater(keys.length, 4);
  for (const key of keys.map(String)) {
    assert(key.startsWith(PREFIX), key);
    assert(!String(await redis.command("DUMP", key)).includes("secret"), key);
  }
});
