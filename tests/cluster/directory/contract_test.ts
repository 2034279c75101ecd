import { assert, assertEquals } from "@std/assert";
import {
  BEAT,
  CLAIM,
  LEAVE,
  PREFIX,
  RELEASE,
  RESTORE,
} from "../../../server/cluster/redis_directory.ts";
import { openNode } from "../../support/cluster/directories.ts";
import { startRedis } from "../../support/cluster/redis.ts";

const offices = (count: number) =>
  Array.from({ length: count }, (_, index) => `office ${index}`);

Deno.test("claim() makes the first node the home of an office, and returns it to all", async () => {
  await using redis = await startRedis();
  await using a = await openNode(redis.url);
  await using b = await openNode(redis.url);
  const homes = [await a.claim("north"), await b.claim("north")];
  assertEquals(homes, [a.id, a.id]);
  assertEquals(await b.claim("south"), b.id);
  assertEquals([...a.directory.homes.keys()], ["north"]);
  assertEquals(await a.claim("north"), a.id);
  const { leaseLeftMs } = await b.directory.claim("north");
  assert(leaseLeftMs > 0 && leaseLeftMs <= 6000, String(leaseLeftMs));
});

Deno.test("claim() has one winner, whoever claims at the same time", async () => {
  await using redis = await startRedis();
  await using a = await openNode(redis.url);
  await using b = await openNode(redis.url);
  await using c = await openNode(redis.url);
  const nodes = [a, b, c];
  const won = new Set<string>();
  for (const office of offices(100)) {
    const homes = await Promise.all(nodes.map(({ claim }) => claim(office)));
    const [first = "", ...others] = new Set(homes);
    assertEquals(others, [], office);
    won.add(first);
    for (const { id, directory } of nodes) {
      assertEquals(directory.homes.has(office), id === first, office);
    }
  }
  assert([...won].every((id) => nodes.some((node) => node.id === id)));
});

Deno.test("names of offices are taken as they are", async () => {
  await using redis = await startRedis();
  await using a = await openNode(redis.url);
  await using b = await openNode(redis.url);
  for (
    const office of ["", "a\nb", "ä{x}", "__proto__", "0", "x".repeat(999)]
  ) {
    assertEquals([await a.claim(office), await b.claim(office)], [a.id, a.id]);
    await a.directory.release(office);
    assertEquals(await b.claim(office), b.id);
  }
});

Deno.test("release() ends a home of this node, and no other", async () => {
  await using redis = await startRedis();
  await using a = await openNode(redis.url);
  await using b = await openNode(redis.url);
  await a.claim("north");
  await b.directory.release("north");
  assertEquals(await b.claim("north"), a.id);
  await a.directory.release("north");
  await a.directory.release("north");
  assertEquals(a.directory.homes.size, 0);
  assertEquals(await b.claim("north"), b.id);
});

Deno.test("release() does not end a home that is being claimed again meanwhile", async () => {
  await using redis = await startRedis();
  await using a = await openNode(redis.url);
  await using b = await openNode(redis.url);
  await a.claim("north");
  const again = a.claim("north");
  await a.directory.release("north");
  assertEquals(await again, a.id);
  assert(a.directory.homes.has("north"));
  assertEquals(await b.claim("north"), a.id);
});

Deno.test("a node that leaves frees thousands of offices in one step", async () => {
  await using redis = await startRedis();
  await using a = await openNode(redis.url);
  await using b = await openNode(redis.url);
  const all = offices(5000);
  await Promise.all(all.map(a.claim));
  assertEquals([...(await b.beat()).nodes.keys()], [a.id]);
  await a.directory.leave();
  assertEquals((await b.beat()).nodes.size, 0);
  const homes = await Promise.all(all.map(b.claim));
  assert(homes.every((home) => home === b.id));
});

Deno.test("beat() returns the other nodes with what they publish about themselves", async () => {
  await using redis = await startRedis();
  await using a = await openNode(redis.url);
  await using b = await openNode(redis.url);
  await a.directory.beat("ä\n1");
  assertEquals((await b.beat()).nodes, new Map([[a.id, "ä\n1"]]));
  assertEquals((await a.beat()).nodes, new Map([[b.id, "about"]]));
});

Deno.test("all keys are in one slot, and each is documented", async () => {
  await using redis = await startRedis();
  await using a = await openNode(redis.url);
  await a.claim("north");
  await redis.command("DEL", `${PREFIX}epoch`);
  await a.beat();
  const keys = await redis.command("KEYS", "*");
  assert(Array.isArray(keys));
  assertEquals(
    keys.map(String).sort(),
    ["about", "epoch", `h:${a.id}`, "nodes", "settle"].map((key) =>
      `${PREFIX}${key}`
    ),
  );
});

Deno.test("the scripts need no command that the access list of the docs lacks", async () => {
  const text = await Deno.readTextFile(
    new URL("../../../docs/scaling.md", import.meta.url),
  );
  const [, rights = ""] = /^user smcp on (.*)$/m.exec(text) ?? [];
  const allowed = new Set(rights.match(/(?<=\+)[\w|]+/g));
  for (const { source } of [BEAT, CLAIM, LEAVE, RELEASE, RESTORE]) {
    for (const [, command = ""] of source.matchAll(/call\('(\w+)'/g)) {
      assert(allowed.has(command.toLowerCase()), command);
    }
  }
});
