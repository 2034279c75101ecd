import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { toSettings } from "../../server/cluster/redis_links.ts";
import { connectRedis } from "../../server/cluster/redis/connect.ts";
import { LinkNode } from "../support/cluster/link_node.ts";
import { startRedis } from "../support/cluster/redis.ts";
import { seeded } from "../support/wire/hostile_payloads.ts";

const MB = 1_000_000;

Deno.test("links keep the order of 20 streams and each byte of 10,000 messages, both ways, with pieces between", async () => {
  await using redis = await startRedis();
  await using pair = await openNodes(redis.url, "north", "south");
  const [north, south] = pair.nodes;
  const ways = [[north, south], [south, north]].map(([from, to]) => {
    assert(from && to);
    const way = { from, to, next: new Map<number, number>(), got: 0 };
    to.onMessage = (_, message) => {
      const [stream = -1, index = 0, length] = [0, 4, 8].map((at) =>
        message.readUInt32BE(at)
      );
      assertEquals([index, length], [
        way.next.get(stream) ?? 0,
        message.length,
      ]);
      assert(message.subarray(12).every((byte) => byte === index % 251));
      way.next.set(stream, index + 1);
      way.got++;
      to.wake();
    };
    return way;
  });
  const random = seeded(7);
  const sent = new Map<number, number>();
  for (let i = 0; i < 10_000; i++) {
    const stream = Math.floor(random() * 20);
    // Most are small, some of several pieces.
    const length = 12 + Math.floor(4_000 ** random()) + (i % 100 ? 0 : MB);
    const index = sent.get(stream) ?? 0;
    sent.set(stream, index + 1);
    const message = Buffer.alloc(length, index % 251);
    [stream, index, length].forEach((n, at) =>
      message.writeUInt32BE(n, 4 * at)
    );
    const cut = length / 3;
    const parts = [message.subarray(0, cut), message.subarray(cut)];
    for (const way of ways) {
      const { from, to, got } = way;
      while (from.links.send(to.id, `${stream}`, parts) === "full") {
        await to.until(() => way.got > got);
      }
    }
    if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  for (const way of ways) {
    await way.to.until(() => way.got >= 10_000);
    assertEquals(way.next, sent);
    assertEquals(way.to.heard, []);
  }
});

Deno.test("links lose nothing, and report no end, when Redis cuts all subscribers off, hangs, or starts again without its data", async () => {
  await using redis = await startRedis();
  await using pair = await openNodes(redis.url, "north", "south");
  const [north, south] = pair.nodes;
  assert(north && south);
  await pair.looked();
  const failures = [
    () => redis.command("CLIENT", "KILL", "TYPE", "pubsub"),
    () => redis.command("CLIENT", "KILL", "TYPE", "pubsub"),
    () => redis.pause(3_000),
    async () => {
      await redis.kill();
      await north.hears("connected false", 3);
    },
  ];
  const texts: string[] = [];
  for (const [i, fail] of failures.entries()) {
    for (let j = 0; j < 100; j++) {
      const text = `${i} ${j}`;
      texts.push(text);
      north.send("south", text);
      south.send("north", text);
      if (j === 50) await fail();
    }
    if (i === 3) await redis.restart({ keepData: false });
    await north.hears(`south: ${i} 99`);
    await south.hears(`north: ${i} 99`);
  }
  await pair.looked(); // long enough to take somebody for gone
  for (const [node, from] of [[north, "south"], [south, "north"]] as const) {
    const messages = node.heard.filter((each) => each.includes(": "));
    assertEquals(messages, texts.map((text) => `${from}: ${text}`));
    const reports = node.heard.filter((each) => !each.includes(": "));
    assertEquals(
      reports,
      Array(3).fill(["connected false", "connected true"]).flat(),
    );
  }
});

/** Opens the links of nodes on a real Redis, which have met; they are closed with their connections. */
async function openNodes(url: string, ...ids: readonly string[]) {
  await using stack = new AsyncDisposableStack();
  const nodes: LinkNode[] = [];
  for (const id of ids) {
    const redis = await connectRedis(url);
    stack.defer(() => redis.close());
    nodes.push(stack.use(await LinkNode.open(redis, id)));
  }
  for (const { links } of nodes) await links.meet(ids);
  const { settleMs, lookMs } = toSettings({ maxMessageBytes: MB });
  const owned = stack.move();
  return {
    nodes,
    /** Resolves after looks that the nodes trust, however new their connections are. */
    looked: () =>
      new Promise<void>((resolve) =>
        setTimeout(resolve, settleMs + 3 * lookMs)
      ),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
