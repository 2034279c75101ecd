import { assert, assertEquals } from "@std/assert";
import { startCluster } from "../../support/cluster/rig/cluster.ts";
import {
  askForSeat,
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
  joinSoon,
} from "../../support/cluster/rig/members.ts";
import { startProxy } from "../../support/proxy.ts";
import type { Held } from "../../support/cluster/rig/partition.ts";
import { until } from "../../support/cluster/programs.ts";
import { startTraffic } from "../../support/cluster/rig/traffic.ts";

/** Each cuts another node off from Redis. */
const CUTS: readonly Held[] = ["both", "toServer", "toClient"];

Deno.test({
  name:
    "nodes that are cut off from Redis, in both directions or in one, end their service before others give their seats away",
  timeout: 240_000,
}, async () => {
  await using cluster = await startCluster({ nodes: 4, partitions: true });
  await using stack = new AsyncDisposableStack();
  const home = cluster.node(0);
  const watcher = stack.use(await joinAgent(home.url, "watcher", "o"));
  const near = stack.use(await joinComputer(home.url, "near", "o"));
  const cut = await Promise.all(CUTS.map(async (held, i) => {
    const node = cluster.node(i + 1);
    const office = `of ${node.name}`;
    const first = stack.use(await joinAgent(node.url, "first", office));
    stack.use(await joinComputer(node.url, "pc", office));
    stack.use(await joinComputer(node.url, node.name, "o"));
    return { held, node, office, first, partition: cluster.partition(i + 1) };
  }));
  for (const { node } of cut) await heard(watcher, `enter ${node.name}`);
  const others = startTraffic(watcher, "watcher", "near");
  const inside = cut.map(({ first }) => startTraffic(first, "first", "pc"));
  const calls = cut.map(({ node }) =>
    callTool(watcher, "watcher", node.name, { hold: true })
  );
  await until(() =>
    Promise.resolve(inside.every(({ told }) => told.length > 0))
  );
  const gone = cut.map(({ first }) =>
    first.disconnected().then(() => performance.now())
  );
  const began = performance.now();
  for (const { held, partition } of cut) partition.hold(held);

  // Calls of others to it end; nobody gets a seat there.
  for (const answer of await Promise.all(calls)) {
    assert([404, 500].includes(answer.code ?? 0), JSON.stringify(answer));
  }
  for (const { node } of cut) {
    const asked = await askForSeat(node.url, "agent", "new", "anywhere");
    assert("refusal" in asked, "a join without Redis");
  }
  // Somebody else may have the seat as soon as the lease has ended, and not before its service has.
  const successors = await Promise.all(cut.map(async ({ office }) => {
    const { client } = await joinSoon(home.url, "agent", "second", office);
    stack.use(client);
    return performance.now() - began;
  }));
  for (const [i, endedAt] of (await Promise.all(gone)).entries()) {
    const ms = endedAt - began;
    const successor = successors[i] ?? 0;
    const bounds = `served for ${ms} ms, given away at ${successor}`;
    assert(ms <= successor, `${CUTS[i]}: ${bounds}`);
  }
  for (const traffic of inside) {
    const told = await traffic.stop();
    const ok = told.filter(({ outcome }) => outcome === "ok");
    assert(ok.length > 5, "calls inside the node went on");
  }
  for (const { outcome } of await others.stop()) assertEquals(outcome, "ok");
  await until(() =>
    Promise.resolve(
      comings(watcher).filter((text) => text.startsWith("leave")).length === 3,
    )
  );
  assertEquals(
    comings(watcher).filter((text) => text.startsWith("leave")).sort(),
    ["leave b", "leave c", "leave d"],
  );

  for (const { partition } of cut) partition.heal();
  for (const { node } of cut) {
    const again = await joinSoon(node.url, "computer", node.name, "o");
    stack.use(again.client);
  }
  assert(near.called.length > 0);
  await cluster.proved();
});

Deno.test({
  name: "a partition that heals within the lease costs calls, and no seat",
  timeout: 120_000,
}, async () => {
  const flags = ["--cluster-lease", "15"];
  await using cluster = await startCluster({
    ...{ nodes: 2, partitions: true, flags },
  });
  await using agent = await joinAgent(cluster.node(0).url, "planner", "o");
  await using far = await joinComputer(cluster.node(1).url, "far", "o");
  await heard(agent, "enter far");
  const traffic = startTraffic(agent, "planner", "far");
  for (const held of CUTS) {
    cluster.partition(1).hold(held);
    await new Promise((resolve) => setTimeout(resolve, 4000));
    cluster.partition(1).heal();
    await traffic.next(({ outcome }) => outcome === "ok");
  }
  for (const { outcome, answer } of await traffic.stop()) {
    assert(
      ["ok", 404, 500].includes(outcome),
      `each is answered: ${JSON.stringify(answer)}`,
    );
  }
  assertEquals(comings(agent), ["enter far"]);
  assert(far.client.socket.connected);
  await cluster.proved();
});

Deno.test({
  name:
    "a node whose connections to Redis are closed for good looks dead: its offices stay there until it has ended its service",
  timeout: 120_000,
}, async () => {
  const lease = ["--cluster-lease", "8"];
  await using cluster = await startCluster({ nodes: 1, flags: lease });
  await using proxy = await startProxy(cluster.redis.url);
  const node = await cluster.add({ redis: proxy.url.replace("http", "redis") });
  const home = cluster.node(0);
  await using first = await joinAgent(node.url, "first", "o");
  await using pc = await joinComputer(home.url, "pc", "o");
  await using near = await joinComputer(node.url, "near", "o");
  await using agent = await joinAgent(home.url, "agent", "p");
  await using _far = await joinComputer(node.url, "far", "p");
  await heard(first, "enter near");
  await heard(agent, "enter far");
  await cluster.grown();
  const inside = startTraffic(first, "first", "near");
  const gone = first.disconnected().then(() => performance.now());
  const lost = pc.client.disconnected();
  proxy.turnTo("http://127.0.0.1:1"); // where nobody listens
  proxy.sever();
  await lost; // its office is not reached from here
  await heard(agent, "leave far");
  // Both joins wait for the lease; the one at the node itself is refused.
  const refused = await askForSeat(node.url, "computer", "new", "elsewhere");
  assert("refusal" in refused, "a join without Redis");
  await using second = await joinAgent(home.url, "second", "o");
  const joinedAt = performance.now();
  assert(await gone <= joinedAt && second.socket.connected);
  const told = await inside.stop();
  assert(told.length > 5, "calls inside the node went on");
  assert(near.called.length > 0);
  await node.kill();
  await cluster.proved();
});

Deno.test({
  name:
    "a node that was cut off for so long that it looked dead, and not for its lease, is one of the cluster again",
  timeout: 120_000,
}, async () => {
  const lease = ["--cluster-lease", "15"];
  await using cluster = await startCluster({ nodes: 1, flags: lease });
  await using proxy = await startProxy(cluster.redis.url);
  const node = await cluster.add({ redis: proxy.url.replace("http", "redis") });
  const home = cluster.node(0);
  await using agent = await joinAgent(home.url, "agent", "o");
  await using far = await joinComputer(node.url, "far", "o");
  await using kept = await joinAgent(node.url, "kept", "p");
  await heard(agent, "enter far");
  await cluster.grown();
  proxy.turnTo("http://127.0.0.1:1"); // where nobody listens
  proxy.sever();
  await heard(agent, "leave far"); // it looks dead
  const closed = far.client.disconnected();
  proxy.turnTo(cluster.redis.url);
  await closed; // its client comes back
  await using back = (await joinSoon(node.url, "computer", "far", "o")).client;
  await using near = await joinComputer(home.url, "near", "p");
  await heard(kept, "enter near");
  assertEquals((await callTool(kept, "kept", "near")).code, undefined);
  assert(back.socket.connected && near.called.length === 1);
  assertEquals(comings(agent), ["enter far", "leave far", "enter far"]);
  await cluster.proved();
});
