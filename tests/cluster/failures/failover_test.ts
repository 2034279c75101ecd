import { assert, assertEquals } from "@std/assert";
import { agreed, startCluster } from "../../support/cluster/rig/cluster.ts";
import {
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
  joinSoon,
} from "../../support/cluster/rig/members.ts";
import { until } from "../../support/cluster/programs.ts";
import {
  startRedisCluster,
  startSentinels,
} from "../../support/cluster/redis_groups.ts";
import {
  startStranger,
  startTraffic,
} from "../../support/cluster/rig/traffic.ts";

Deno.test({
  name:
    "sentinels replace a master that is killed: no seat is lost, and joins work again",
  timeout: 180_000,
}, async () => {
  await using redis = await startSentinels();
  // Longer than a fail-over takes on a machine that is busy with other tests.
  const flags = ["--cluster-lease", "20"];
  await using cluster = await startCluster({ url: redis.url, flags });
  const [a, b] = [cluster.node(0), cluster.node(1)];
  await using agent = await joinAgent(a.url, "planner", "o");
  await using near = await joinComputer(a.url, "near", "o");
  await using far = await joinComputer(b.url, "far", "o");
  await heard(agent, "enter far");
  const lost = agent.disconnected().then((reason) =>
    Promise.reject(new Error(`The Agent was disconnected: ${reason}`))
  );
  lost.catch(() => {}); // its end is no failure
  assertEquals((await callTool(agent, "planner", "far")).code, undefined);
  const inside = startTraffic(agent, "planner", "near");
  const stranger = startStranger(() => b.url, "o");

  const master = await redis.master();
  await master.kill();
  const { client: late, refusals } = await joinSoon(
    cluster.node(2).url,
    "computer",
    "late",
    "o",
  );
  await using _late = late;
  assert(refusals.length > 0, "while there was no master");
  const next = await redis.failedOver(master);
  const isAnswered = async () =>
    (await callTool(agent, "planner", "far")).code === undefined;
  await Promise.race([until(isAnswered), lost]);
  await stranger.stop();
  for (const { outcome } of await inside.stop()) assertEquals(outcome, "ok");
  await heard(agent, "enter late");
  assertEquals(comings(agent), ["enter near", "enter far", "enter late"]);
  assert(near.called.length > 0 && far.called.length > 0);
  await cluster.proved();
  await agreed(next, cluster.nodes);
});

Deno.test({
  name: "Servers share their offices on a Redis Cluster too",
  timeout: 120_000,
}, async () => {
  await using redis = await startRedisCluster();
  await using cluster = await startCluster({ url: redis.url });
  await using agent = await joinAgent(cluster.node(0).url, "planner", "o");
  await using stack = new AsyncDisposableStack();
  for (const [i, node] of cluster.nodes.entries()) {
    stack.use(await joinComputer(node.url, `pc${i}`, "o"));
    await heard(agent, `enter pc${i}`);
    for (const size of [100, 1_000_000]) {
      const answer = await callTool(agent, "planner", `pc${i}`, { size });
      assertEquals(answer.content?.[0]?.text.length, size);
    }
  }
  const waiting = callTool(agent, "planner", "pc1", { hold: true });
  await cluster.node(1).kill();
  assertEquals((await waiting).code, 404);
  await cluster.proved();
});
