import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { ASKED, startLinkProcess } from "../support/cluster/link_process.ts";
import { realNode } from "../support/cluster/real_node.ts";
import { startRedis } from "../support/cluster/redis.ts";
import { killed } from "../support/cluster/programs.ts";

const isMessage = (heard: string) => heard.includes(": ");

/** Deterministic, so that a failure can be played again. */
function* random(seed: number): Generator<number> {
  for (;;) {
    seed = (seed * 48_271) % 2_147_483_647;
    yield seed / 2_147_483_647;
  }
}

Deno.test("links keep the order of 20 streams and each byte of 10,000 messages, both ways, with pieces between", async () => {
  await using redis = await startRedis();
  await using north = await realNode(redis.url, "north");
  await using south = await realNode(redis.url, "south");
  await north.links.meet(["south"]);
  const next = {
    north: new Map<number, number>(),
    south: new Map<number, number>(),
  };
  const got = { north: 0, south: 0 };
  const wrong: string[] = [];
  for (const node of [north, south]) {
    const streams = next[node.id as "north" | "south"];
    node.onMessage = (_, message) => {
      const [stream, index, length] = [0, 4, 8].map((at) =>
        message.readUInt32BE(at)
      );
      const expected = streams.get(stream ?? -1) ?? 0;
      const isWhole = length === message.length &&
        message.subarray(12).every((byte) => byte === (index ?? 0) % 251);
      if (index !== expected || !isWhole) {
        wrong.push(`${node.id} ${stream}/${index}`);
      }
      streams.set(stream ?? -1, expected + 1);
      got[node.id as "north" | "south"]++;
      node.wake();
    };
  }
  const numbers = random(7);
  const sent = new Map<number, number>();
  for (let i = 0; i < 10_000; i++) {
    const stream = Math.floor(numbers.next().value * 20);
    // Most are small, some of several pieces.
    const length = 12 + Math.floor(4_000 ** numbers.next().value) +
      (i % 100 === 0 ? 1_000_000 : 0);
    const index = sent.get(stream) ?? 0;
    sent.set(stream, index + 1);
    const message = Buffer.alloc(length, index % 251);
    [stream, index, length].forEach((n, at) =>
      message.writeUInt32BE(n, 4 * at)
    );
    const parts = [
      message.subarray(0, length / 3),
      message.subarray(length / 3),
    ];
    for (const [from, to] of [[north, south], [south, north]] as const) {
      while (from.links.send(to.id, `${stream}`, parts) === "full") {
        const before = got[to.id as "north" | "south"];
        await to.until(() => got[to.id as "north" | "south"] > before);
      }
    }
    if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await south.until(() => got.south >= 10_000);
  await north.until(() => got.north >= 10_000);
  assertEquals(wrong, []);
  assertEquals(next.south, sent);
  assertEquals(next.north, sent);
  assertEquals([...north.heard, ...south.heard], []);
});

Deno.test("links tell within 1.5 s that a process was killed, and nothing else of it", async () => {
  await using redis = await startRedis();
  await using north = await realNode(redis.url, "north");
  await using south = await realNode(redis.url, "south");
  await using west = await startLinkProcess(redis.url, "west");
  await north.links.meet(["south", "west"]);
  await south.links.meet(["west"]);
  await north.settled();
  const killedAt = performance.now();
  await killed(west);
  await Promise.all([north.hears("gone west"), south.hears("gone west")]);
  const ms = performance.now() - killedAt;
  assert(ms < 1_500, `gone after ${ms} ms`);
  assertEquals(north.heard, ["gone west"]);
  assertEquals(south.heard, ["gone west"]);
});

Deno.test("links take a stopped process for silent, not for gone, and hear it again", async () => {
  await using redis = await startRedis();
  await using north = await realNode(redis.url, "north", { silentMs: 2_500 });
  await using west = await startLinkProcess(redis.url, "west");
  await north.links.meet(["west"]);
  await north.settled();
  west.signal("SIGSTOP");
  await north.hears("silent west");
  north.send("west", ASKED);
  west.signal("SIGCONT");
  await north.hears(`west: ${ASKED}`);
  west.signal("SIGSTOP");
  await north.hears("silent west", 2);
  west.signal("SIGCONT");
  assertEquals(north.heard, ["silent west", `west: ${ASKED}`, "silent west"]);
  assertEquals(west.lines.filter((line) => /^(lost|gone)/.test(line)), []);
});

Deno.test("links lose nothing, and report no end, when Redis cuts all subscribers off", async () => {
  await using redis = await startRedis();
  await using north = await realNode(redis.url, "north");
  await using south = await realNode(redis.url, "south");
  await north.links.meet(["south"]);
  await north.settled();
  const texts: string[] = [];
  for (let i = 1; i <= 3; i++) {
    for (let j = 0; j < 100; j++) {
      const text = `${i} ${j}`;
      texts.push(text);
      north.send("south", text);
      south.send("north", text);
      if (j === 50) await redis.command("CLIENT", "KILL", "TYPE", "pubsub");
    }
    await Promise.all([
      north.hears(`south: ${i} 99`),
      south.hears(`north: ${i} 99`),
    ]);
  }
  assertEquals(north.heard.filter(isMessage), texts.map((t) => `south: ${t}`));
  assertEquals(south.heard.filter(isMessage), texts.map((t) => `north: ${t}`));
  const noise = [...north.heard, ...south.heard].filter((each) =>
    /gone|silent|lost/.test(each)
  );
  assertEquals(noise, []);
});

Deno.test("links wait for a Redis that hangs, and lose nothing", async () => {
  await using redis = await startRedis();
  await using north = await realNode(redis.url, "north");
  await using south = await realNode(redis.url, "south");
  await north.links.meet(["south"]);
  await north.settled();
  await redis.pause(3_000);
  for (let i = 0; i < 100; i++) north.send("south", `${i}`);
  await south.hears("north: 99");
  assertEquals(south.heard.length, 100);
  assertEquals(north.heard, []);
});

Deno.test("links report that Redis is away and back, and lose nothing when it restarts", async () => {
  await using redis = await startRedis();
  await using north = await realNode(redis.url, "north");
  await using south = await realNode(redis.url, "south");
  await using west = await realNode(redis.url, "west");
  await north.links.meet(["south", "west"]);
  await south.links.meet(["west"]);
  await redis.kill();
  await Promise.all(
    [north, south, west].map((node) => node.hears("connected false")),
  );
  assertEquals(north.send("south", "x"), "sent");
  await redis.restart({ keepData: false });
  await south.hears("north: x");
  assertEquals(north.heard.slice(0, 2), ["connected false", "connected true"]);
  await north.reaches(south);
  // Long enough for looks that would take somebody for gone.
  await north.settled();
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  for (const node of [north, south, west]) {
    assertEquals(
      node.heard.filter((each) => /gone|silent|lost/.test(each)),
      [],
    );
  }
});

Deno.test("links of a process that ends in order are dropped without noise", async () => {
  await using redis = await startRedis();
  await using north = await realNode(redis.url, "north");
  await using west = await startLinkProcess(redis.url, "west");
  await north.links.meet(["west"]);
  await north.settled();
  west.signal("SIGTERM");
  await west.line(/^ended$/);
  assertEquals((await west.status).code, 0);
  await north.looked();
  assertEquals([...north.links.peers], []);
  assertEquals(north.heard, []);
});
