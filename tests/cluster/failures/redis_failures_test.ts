import { assert, assertEquals } from "@std/assert";
import { startCluster } from "../../support/cluster/rig/cluster.ts";
import { IS_LONG } from "../../support/cluster/rig/long.ts";
import {
  askForSeat,
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
} from "../../support/cluster/rig/members.ts";
import { until } from "../../support/cluster/programs.ts";
import type { TestRedis } from "../../support/cluster/redis.ts";
import {
  startStranger,
  startTraffic,
} from "../../support/cluster/rig/traffic.ts";

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What happens to Redis, in which nobody may lose a seat. */
const FAILURES: Readonly<Record<string, (redis: TestRedis) => Promise<void>>> =
  {
    "killed, and started after 3 s with its data": async (redis) => {
      await redis.kill();
      await wait(3000);
      await redis.restart({ keepData: true });
    },
    "killed, and started after 3 s empty": async (redis) => {
      await redis.kill();
      await wait(3000);
      await redis.restart({ keepData: false });
    },
    "paused for 4 s": async (redis) => {
      await redis.pause(4000);
      await wait(4000);
    },
    "flushed": async (redis) => void await redis.command("FLUSHALL"),
    "stopped for 3 s": async (redis) => {
      redis.freeze();
      await wait(3000);
      redis.thaw();
    },
  };

Deno.test({
  name:
    "whatever happens to Redis: calls inside a node go on, all others are answered, joins end, and no seat is lost",
  timeout: 300_000,
}, async (t) => {
  const flags = ["--cluster-lease", "15"];
  await using cluster = await startCluster({
    ...{ redis: { persistent: true }, flags },
  });
  const [a, b] = [cluster.node(0), cluster.node(1)];
  await using agent = await joinAgent(a.url, "planner", "o");
  await using near = await joinComputer(a.url, "near", "o");
  await using far = await joinComputer(b.url, "far", "o");
  await using elsewhere = await joinAgent(b.url, "other", "p");
  await using watched = await joinComputer(a.url, "pc", "p");
  await heard(agent, "enter far");
  await heard(elsewhere, "enter pc");
  for (const [name, fail] of Object.entries(FAILURES)) {
    await t.step(name, async () => {
      const inside = startTraffic(agent, "planner", "near");
      const across = startTraffic(elsewhere, "other", "pc");
      const strangers = [
        startStranger(() => b.url, "o"),
        startStranger(() => cluster.node(2).url, "p"),
      ];
      const free = joinersOf(cluster.node(2).url);
      await Promise.all(strangers.map(async (stranger) => {
        await until(() => Promise.resolve(stranger.refusals.length > 0));
      }));
      await fail(cluster.redis);
      await across.next(({ outcome }) => outcome === "ok");
      await until(async () =>
        (await callTool(agent, "planner", "far")).code === undefined
      );
      await free.stop();
      for (const stranger of strangers) await stranger.stop();
      for (const { outcome, ms } of await inside.stop()) {
        assertEquals(outcome, "ok");
        assert(!IS_LONG || ms < 1000, `a call inside a node took ${ms} ms`);
      }
      for (const { outcome, ms, answer } of await across.stop()) {
        const isTold = outcome === "ok" || outcome === 500;
        assert(isTold, JSON.stringify(answer));
        assert(!IS_LONG || ms < 10_000, `an answer took ${ms} ms`);
      }
      await cluster.proved();
    });
  }
  assertEquals(comings(agent), ["enter near", "enter far"]);
  assertEquals(comings(watched.client), []);
  assert(far.called.length > 0 && near.called.length > 0);
});

/** Members of other offices who come and go all the while, and are always told what became of it. */
function joinersOf(url: string): { stop(): Promise<void> } {
  let isOver = false;
  const run = async () => {
    for (let i = 0; !isOver; i++) {
      const asked = await askForSeat(url, "computer", "guest", `free ${i}`);
      if ("client" in asked) await asked.client[Symbol.asyncDispose]();
      await wait(50);
    }
  };
  const running = run();
  return {
    stop: async () => {
      isOver = true;
      await running;
    },
  };
}
