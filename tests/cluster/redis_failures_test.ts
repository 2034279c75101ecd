/**
 * Servers whose Redis fails, is replaced or cannot be reached: calls inside a node go on, seats are kept
 * until the lease is over, and given to others only then.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { joinCluster } from "../../server/cluster/mod.ts";
import { createMetrics, createSmcpServer } from "../../server/mod.ts";
import { memberOf } from "../../server/shared/cluster.ts";
import {
  agreed,
  type Held,
  IS_LONG,
  startCluster,
  startPartition,
} from "../support/cluster/cluster.ts";
import {
  askForSeat,
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
  joinSoon,
  leaves,
  pause,
  repeat,
  startStranger,
  startTraffic,
} from "../support/cluster/members.ts";
import { until } from "../support/cluster/programs.ts";
import { startRedis, type TestRedis } from "../support/cluster/redis.ts";
import {
  startRedisCluster,
  startSentinels,
} from "../support/cluster/redis_groups.ts";
import { startProxy } from "../support/proxy.ts";
import { joinRaw } from "../support/wire/raw_client.ts";

const TIMEOUT_MS = 300_000;
const MB = 1_000_000;

/** What happens to Redis, in which nobody may lose a seat. */
const FAILURES: Readonly<Record<string, (redis: TestRedis) => Promise<void>>> =
  {
    "killed, and started after 3 s with its data": async (redis) => {
      await redis.kill();
      await pause(3000);
      await redis.restart({ keepData: true });
    },
    "killed, and started after 3 s empty": async (redis) => {
      await redis.kill();
      await pause(3000);
      await redis.restart({ keepData: false });
    },
    "paused for 4 s": async (redis) => {
      await redis.pause(4000);
      await pause(4000);
    },
    "flushed": async (redis) => void await redis.command("FLUSHALL"),
    "stopped for 3 s": async (redis) => {
      redis.freeze();
      await pause(3000);
      redis.thaw();
    },
  };

Deno.test({
  name:
    "whatever happens to Redis: calls inside a node go on, all others are answered, joins end, and no seat is lost",
  timeout: TIMEOUT_MS,
}, async (t) => {
  await using cluster = await startCluster({
    redis: { persistent: true },
    flags: ["--cluster-lease", "15"],
  });
  const a = cluster.node(0);
  const b = cluster.node(1);
  const c = cluster.node(2);
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
      const strangers = [startStranger(b.url, "o"), startStranger(c.url, "p")];
      // Members of other offices come and go all the while, and always get an answer.
      let guests = 0;
      const joins = repeat(50, async () => {
        const office = `free ${guests++}`;
        const asked = await askForSeat(c.url, "computer", "guest", office);
        if ("client" in asked) await asked.client[Symbol.asyncDispose]();
      });
      await until(() => strangers.every((each) => each.refusals.length > 0));
      await fail(cluster.redis);
      const before = across.told.length;
      await until(() =>
        across.told.slice(before + 1).some(({ outcome }) => outcome === "ok")
      );
      await until(async () =>
        (await callTool(agent, "planner", "far")).code === undefined
      );
      for (const each of [joins, ...strangers]) await each.stop();
      for (const { outcome, ms } of await inside.stop()) {
        assertEquals(outcome, "ok");
        assert(!IS_LONG || ms < 1000, `a call inside a node took ${ms} ms`);
      }
      for (const { outcome, ms, answer } of await across.stop()) {
        assert(["ok", 500].includes(outcome), JSON.stringify(answer));
        assert(!IS_LONG || ms < 10_000, `an answer took ${ms} ms`);
      }
      await cluster.proved();
    });
  }
  assertEquals(comings(agent), ["enter near", "enter far"]);
  assertEquals(comings(watched.client), []);
  assert(far.called.length > 0 && near.called.length > 0);
});

/** Each cuts another node off from Redis. */
const CUTS: readonly Held[] = ["both", "toServer", "toClient"];

Deno.test({
  name:
    "nodes that are cut off from Redis, in both directions or in one, end their service before others give their seats away",
  timeout: TIMEOUT_MS,
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
  await until(() => inside.every(({ told }) => told.length > 0));
  const gone = cut.map(({ first }) =>
    first.disconnected().then(() => performance.now())
  );
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
    return performance.now();
  }));
  for (const [i, endedAt] of (await Promise.all(gone)).entries()) {
    assert(endedAt <= (successors[i] ?? 0), `${CUTS[i]}: it served longer`);
  }
  for (const traffic of inside) {
    const told = await traffic.stop();
    const ok = told.filter(({ outcome }) => outcome === "ok");
    assert(ok.length > 5, "calls inside the node went on");
  }
  for (const { outcome } of await others.stop()) assertEquals(outcome, "ok");
  await until(() => leaves(watcher).length >= 3);
  assertEquals(leaves(watcher).sort(), ["leave b", "leave c", "leave d"]);

  for (const { partition } of cut) partition.heal();
  for (const { node } of cut) {
    const again = await joinSoon(node.url, "computer", node.name, "o");
    stack.use(again.client);
  }
  assert(near.called.length > 0);
  await cluster.proved();
});

Deno.test({
  name:
    "a node that was cut off for so long that it looked dead, and not for its lease, is one of the cluster again",
  timeout: TIMEOUT_MS,
}, async () => {
  const lease = ["--cluster-lease", "15"];
  await using cluster = await startCluster({ nodes: 1, flags: lease });
  await using proxy = await startProxy(cluster.redis.url);
  const node = await cluster.add({ redis: proxy.url.replace("http", "redis") });
  const home = cluster.node(0);
  await using first = await joinAgent(node.url, "first", "o");
  await using pc = await joinComputer(home.url, "pc", "o");
  await using _near = await joinComputer(node.url, "near", "o");
  await using agent = await joinAgent(home.url, "agent", "p");
  await using far = await joinComputer(node.url, "far", "p");
  await heard(first, "enter near");
  await heard(agent, "enter far");
  await cluster.grown();
  const inside = startTraffic(first, "first", "near");
  const lost = pc.client.disconnected();
  proxy.turnTo("http://127.0.0.1:1"); // where nobody listens
  proxy.sever();
  await lost; // its office is not reached from here
  await heard(agent, "leave far"); // it looks dead
  const refused = await askForSeat(node.url, "computer", "new", "elsewhere");
  assert("refusal" in refused, "a join without Redis");
  const closed = far.client.disconnected();
  proxy.turnTo(cluster.redis.url);
  await closed; // its client comes back
  await using _ = (await joinSoon(node.url, "computer", "far", "p")).client;
  await using again = await joinComputer(home.url, "pc", "o");
  await heard(first, "enter pc", 2);
  assertEquals((await callTool(first, "first", "pc")).code, undefined);
  assertEquals(again.called.length, 1);
  await heard(agent, "enter far", 2);
  assertEquals(comings(agent), ["enter far", "leave far", "enter far"]);
  const told = await inside.stop();
  assert(told.length > 5, "calls inside the node went on");
  for (const { outcome } of told) assertEquals(outcome, "ok");
  await cluster.proved();
});

Deno.test({
  name:
    "sentinels replace a master that is killed: no seat is lost, and joins work again",
  timeout: TIMEOUT_MS,
}, async () => {
  await using redis = await startSentinels();
  // Longer than a fail-over takes on a machine that is busy with other tests.
  const flags = ["--cluster-lease", "20"];
  await using cluster = await startCluster({ url: redis.url, flags });
  const a = cluster.node(0);
  const b = cluster.node(1);
  await using agent = await joinAgent(a.url, "planner", "o");
  await using near = await joinComputer(a.url, "near", "o");
  await using far = await joinComputer(b.url, "far", "o");
  await heard(agent, "enter far");
  const inside = startTraffic(agent, "planner", "near");
  const stranger = startStranger(b.url, "o");

  const master = await redis.master();
  await master.kill();
  const { client: late, refusals } = await joinSoon(
    ...[cluster.node(2).url, "computer", "late", "o"] as const,
  );
  await using _late = late;
  assert(refusals.length > 0, "while there was no master");
  const next = await redis.failedOver(master);
  await until(async () => {
    assert(agent.socket.connected);
    return (await callTool(agent, "planner", "far")).code === undefined;
  });
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
  timeout: TIMEOUT_MS,
}, async () => {
  await using redis = await startRedisCluster();
  await using cluster = await startCluster({ url: redis.url });
  await using agent = await joinAgent(cluster.node(0).url, "planner", "o");
  await using stack = new AsyncDisposableStack();
  for (const [i, node] of cluster.nodes.entries()) {
    stack.use(await joinComputer(node.url, `pc${i}`, "o"));
    await heard(agent, `enter pc${i}`);
    const answer = await callTool(agent, "planner", `pc${i}`, { size: MB });
    assertEquals(answer.content?.[0]?.text.length, MB);
  }
  const waiting = callTool(agent, "planner", "pc1", { hold: true });
  await cluster.node(1).kill();
  assertEquals((await waiting).code, 404);
  await cluster.proved();
});

const ANSWERS = 200;

Deno.test({
  name:
    "200 answers of 1 MB at once to an Agent on another node that reads slowly: each is answered, Redis of default configuration cuts nobody off, what waits is bounded",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster({ nodes: 2 });
  const a = cluster.node(0);
  const b = cluster.node(1);
  await using far = await joinComputer(b.url, "far", "o");
  await using other = await joinAgent(a.url, "other", "p");
  await using near = await joinComputer(b.url, "near", "p");
  await using line = await startPartition(Number(new URL(a.url).port));
  const through = `http://127.0.0.1:${line.port}`;
  await using slow = await joinAgent(through, "planner", "o");
  await heard(other, "enter near");
  const answers = Array.from(
    { length: ANSWERS },
    () => callTool(slow, "planner", "far", { size: MB, hold: true }),
  );
  await far.arrived(ANSWERS);
  line.hold("toClient");
  far.release();
  // Small calls of others pass all the while.
  let peak = 0;
  const held = { isOver: false };
  void pause(5000).then(() => held.isOver = true);
  while (!held.isOver) {
    assertEquals((await callTool(other, "other", "near")).code, undefined);
    peak = Math.max(peak, await largestOutput(cluster.redis));
  }
  line.heal();
  // Calls above the bound of the queue between the nodes are answered with an error, none is lost.
  let results = 0;
  for (const { content, code, reason } of await Promise.all(answers)) {
    if (content) assertEquals(content[0]?.text.length, MB, `${results++}`);
    else assertEquals([code, reason], [429, "node busy"]);
  }
  assert(results >= 50, `${results} results`);
  assert(near.called.length > 0);
  const stats = String(await cluster.redis.command("INFO", "stats"));
  const [, cut = "0"] =
    /client_output_buffer_limit_disconnections:(\d+)/.exec(stats) ?? [];
  const lines = cluster.redis.log.filter((line) =>
    /overcoming of output buffer/.test(line)
  );
  assertEquals([cut, lines], ["0", []], "subscribers were cut off");
  assert(peak < 32 * 2 ** 20, `${peak} bytes waited in Redis`);
  assertEquals((await callTool(other, "other", "near")).code, undefined);
  await cluster.proved();
});

/** The largest output that waits in Redis for one of its clients. */
async function largestOutput(redis: TestRedis): Promise<number> {
  const clients = String(await redis.command("CLIENT", "LIST"));
  const sizes = [...clients.matchAll(/ omem=(\d+)/g)].map(([, n]) => Number(n));
  return Math.max(0, ...sizes);
}

// What a Redis leaves behind that drops keys, or does late what it was asked; beats are each second here.

const HOMES = "{smcp2}:h:";

async function startServer(redis: TestRedis) {
  const cluster = await joinCluster(redis.url, { leaseMs: 4000 });
  const metrics = createMetrics();
  const smcp = createSmcpServer({ cluster, metrics });
  const { url } = await smcp.listen({ port: 0 });
  return {
    url,
    key: HOMES + cluster.status.node,
    /** The number of offices that live there. */
    homes: () => memberOf(cluster).figures().homes,
    /** Resolves when a count has reached a value. */
    counted: (line: string) =>
      until(async () => (await metrics.text()).split("\n").includes(line)),
    [Symbol.asyncDispose]: () => smcp.close({ graceMs: 0 }),
  };
}

Deno.test("a home that Redis has lost is taken again, and one without members is released when another node needs it", async () => {
  await using redis = await startRedis();
  await using node = await startServer(redis);
  await using other = await startServer(redis);
  await using pc = await joinRaw(node.url, "computer", "pc", "office");
  await redis.command("DEL", node.key);
  await node.counted("smcp_cluster_data_lost_total 1");
  await using _boss = await joinRaw(other.url, "agent", "boss", "office");
  assertEquals([other.homes(), pc.socket.connected], [0, true]);
  await redis.command("HSET", node.key, "empty", "0");
  await using _pc2 = await joinRaw(other.url, "computer", "pc", "empty");
  assertEquals(other.homes(), 1);
  assertEquals(await redis.command("HKEYS", node.key), ["office"]);
});

Deno.test("members of a home that another node has after lost data are disconnected", async () => {
  await using redis = await startRedis();
  await using node = await startServer(redis);
  await using other = await startServer(redis);
  await using pc = await joinRaw(node.url, "computer", "pc", "office");
  // In one step, so that no beat comes between.
  const script =
    "redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[2], 'office', 1)";
  await redis.command("EVAL", script, "2", node.key, other.key);
  await pc.disconnected();
  await node.counted("smcp_cluster_homes_lost_total 1");
  assertEquals(node.homes(), 0);
});
