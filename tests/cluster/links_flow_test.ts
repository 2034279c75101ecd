import { assert, assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import process from "node:process";
import { channelOf } from "../../server/cluster/link.ts";
import { startLinkProcess } from "../support/cluster/link_process.ts";
import { until } from "../support/cluster/programs.ts";
import { type RealNode, realNode } from "../support/cluster/real_node.ts";
import { startRedis, type TestRedis } from "../support/cluster/redis.ts";

const MB = 1_000_000;

/** Returns a number of `INFO`. */
async function info(redis: TestRedis, name: string): Promise<number> {
  const text = String(await redis.command("INFO"));
  return Number(new RegExp(`^${name}:([\\d.]+)`, "m").exec(text)?.[1]);
}

/** Returns the most that a process had of memory, in bytes. */
async function peakMemory(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024;
}

const wasCut = (redis: TestRedis) =>
  redis.log.some((line) => /output buffer limits/.test(line));

Deno.test("links send 200 messages of 1 MB at once from three nodes to a slow one: Redis of default configuration cuts nobody, memory is bounded", async () => {
  await using redis = await startRedis();
  await using a = await realNode(redis.url, "a");
  await using b = await realNode(redis.url, "b");
  await using c = await realNode(redis.url, "c");
  const senders = [a, b, c];
  await using slow = await startLinkProcess(redis.url, "slow", { slowMs: 20 });
  for (const node of senders) await node.links.meet(["slow"]);
  const before = {
    redis: await info(redis, "used_memory"),
    slow: await peakMemory(slow.pid),
  };

  slow.signal("SIGSTOP");
  const message = [new Uint8Array(MB)];
  for (let i = 0; i < 200; i++) {
    const sender = senders[i % 3];
    assertEquals(sender?.links.send("slow", `s${i}`, message), "sent");
  }
  for (const node of senders) node.send("slow", "small");
  // It stands still until all that may be on its way is: Redis holds that back.
  let held = -1;
  await until(async () => {
    const former = held;
    held = await info(redis, "used_memory") - before.redis;
    return held === former;
  });
  slow.signal("SIGCONT");
  const got = () => slow.lines.filter((line) => line.startsWith("got ")).length;
  await until(() => Promise.resolve(got() === 203));

  const peak = {
    redis: await info(redis, "used_memory_peak") - before.redis,
    slow: await peakMemory(slow.pid) - before.slow,
  };
  console.log(
    `more memory than before: Redis ${peak.redis / MB} MB, receiver ${
      peak.slow / MB
    } MB`,
  );
  assert(!wasCut(redis), "Redis cut the receiver off");
  assert(peak.redis < 12 * MB, `Redis had ${peak.redis} bytes more`);
  assert(peak.slow < 180 * MB, `the receiver had ${peak.slow} bytes more`);
  assertEquals(
    [...senders.flatMap((node) => node.heard), ...slow.lines].filter((line) =>
      /^(lost|gone|silent)/.test(line)
    ),
    [],
  );
  const small = slow.lines.indexOf("got 5 bytes");
  assert(small < 30, `a small message came after ${small} large ones`);

  // The same receiver is cut off by who does not keep to a window: that the test can fail.
  slow.signal("SIGSTOP");
  for (let i = 0; i < 60; i++) {
    a.redis.publish(channelOf("slow"), Buffer.alloc(MB)).catch(() => {});
  }
  await until(() => Promise.resolve(wasCut(redis)));
  slow.signal("SIGCONT");
});

Deno.test("links: what a message costs in CPU", async () => {
  await using redis = await startRedis();
  await using north = await realNode(redis.url, "north");
  await using south = await realNode(redis.url, "south");
  await north.links.meet(["south"]);
  let got = 0;
  south.onMessage = () => {
    got++;
    south.wake();
  };
  for (
    const [size, count, atOnce] of [
      [100, 1_000, 1], // warm up
      [100, 5_000, 1],
      [100, 40_000, 50],
      [10_000, 3_000, 1],
      [10_000, 20_000, 50],
      [100_000, 4_000, 8],
      [MB, 600, 4],
    ] as const
  ) {
    got = 0;
    const redisBefore = await redisCpu(redis);
    const before = process.cpuUsage();
    const start = performance.now();
    await stream(north, south, { size, count, atOnce, got: () => got });
    const { user, system } = process.cpuUsage(before);
    const ms = performance.now() - start;
    const ofRedis = (await redisCpu(redis) - redisBefore) * 1e6 / count;
    console.log(
      `${size} B, ${atOnce} at once: ${
        ((user + system) / count).toFixed(1)
      } µs of both nodes and ${ofRedis.toFixed(1)} µs of Redis a message, ${
        (1_000 * ms / count).toFixed(0)
      } µs each`,
    );
    assertEquals(got, count);
  }
});

async function redisCpu(redis: TestRedis): Promise<number> {
  return await info(redis, "used_cpu_user") + await info(redis, "used_cpu_sys");
}

/** Sends messages, so many at once; resolves when all have arrived. */
async function stream(
  from: RealNode,
  to: RealNode,
  { size, count, atOnce, got }: {
    size: number;
    count: number;
    atOnce: number;
    got: () => number;
  },
): Promise<void> {
  const message = [new Uint8Array(20), new Uint8Array(size - 20)];
  for (let sent = 0; sent < count;) {
    for (let i = 0; i < atOnce && sent < count; i++) {
      from.links.send(to.id, `s${sent++ % 10}`, message);
    }
    await to.until(() => got() >= sent);
  }
}
