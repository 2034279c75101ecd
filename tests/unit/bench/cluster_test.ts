import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import type { CallsRun } from "../../../bench/calls.ts";
import { clusterGoals } from "../../../bench/cluster/goals.ts";
import { clusterNotes, clusterPage } from "../../../bench/cluster/render.ts";
import { settingOf, SETTINGS } from "../../../bench/cluster/settings.ts";
import {
  addedMs,
  compareBalanced,
  compareSizes,
  summarizeCluster,
  summarizeClusterIdle,
} from "../../../bench/cluster/summary.ts";
import { merged } from "../../../bench/cluster/turns.ts";
import { FULL, inRounds, QUICK } from "../../../bench/plan.ts";
import { clusterResult } from "./cluster_result.ts";

const process = (cpuSeconds: number, rssBytes = 2 ** 20) => ({
  cpuSeconds,
  rssBytes,
  peakRssBytes: rssBytes,
});

/** 1,000 calls in 2 s; `cpu` is that of each process in ms, and so in µs of a call. */
const run = (
  contestant: string,
  round: number,
  cpu: Readonly<Record<string, number>>,
  over: Partial<CallsRun> = {},
): CallsRun => ({
  key: "100",
  contestant,
  round,
  calls: 1000,
  seconds: 2,
  processes: Object.fromEntries(
    Object.entries(cpu).map(([name, ms]) => [name, process(ms / 1000)]),
  ),
  serverCpuSeconds: Object.values(cpu).reduce((a, b) => a + b) / 1000,
  generatorCpuSeconds: 1,
  othersCpuSeconds: 4,
  rssBytes: 1,
  peakRssBytes: 2,
  p50: 1000,
  p90: 2,
  p99: 3,
  p999: 4,
  max: 5,
  ...over,
});

Deno.test("merged() adds turns up, and takes medians of percentiles", () => {
  const turns = [100, 200, 900].map((p50, turn) =>
    run("other", turn, { a: 10, redis: 1 }, { p50, max: p50 })
  );
  const all = merged(turns);
  assertEquals(all.calls, 3000);
  assertEquals(all.seconds, 6);
  assertAlmostEquals(all.serverCpuSeconds, 0.033);
  assertAlmostEquals(all.processes["redis"]?.cpuSeconds ?? 0, 0.003);
  assertEquals(all.processes["a"]?.rssBytes, 2 ** 20);
  assertEquals([all.p50, all.max], [200, 900]);
});

Deno.test("summarizeCluster() parts the CPU of a call among Servers, Redis and balancer", () => {
  const [alone, balanced] = summarizeCluster([
    run("alone", 0, { a: 40 }),
    run("balanced", 0, { a: 30, b: 20, c: 10, redis: 5, balancer: 7 }),
  ]);
  assert(alone && balanced);
  assertAlmostEquals(alone.cpu, 40);
  assertAlmostEquals(alone.nodesCpu, 40);
  assertEquals("redisCpu" in alone, false);
  assertEquals("balancerCpu" in alone, false);
  assertAlmostEquals(balanced.cpu, 72);
  assertAlmostEquals(balanced.nodesCpu, 60);
  assertAlmostEquals(balanced.redisCpu ?? 0, 5);
  assertAlmostEquals(balanced.balancerCpu ?? 0, 7);
  assertEquals(balanced.callsPerSecond, 500);
  assertEquals(balanced.othersShare, 2);
});

Deno.test("compareSizes() compares within rounds, all processes together", () => {
  const [compared, ...more] = compareSizes([
    run("alone", 0, { a: 10 }),
    run("same", 0, { a: 10, b: 1 }),
    run("other", 0, { a: 10, b: 10, redis: 2 }),
    run("alone", 1, { a: 100 }), // the machine was slow for a while
    run("same", 1, { a: 100, b: 20 }),
    run("other", 1, { a: 100, b: 100, redis: 40 }),
  ]);
  assertEquals(more, []);
  assertAlmostEquals(compared?.within?.low ?? 0, 1.1);
  assertAlmostEquals(compared?.within?.high ?? 0, 1.2);
  assertAlmostEquals(compared?.other?.low ?? 0, 2);
  assertAlmostEquals(compared?.other?.mid ?? 0, 2);
});

Deno.test("compareSizes() has no ratio where one of both is missing", () => {
  assertEquals(compareSizes([run("other", 0, { a: 1 })]), [{ key: "100" }]);
  const rounds = [run("same", 0, { a: 1 }), run("other", 1, { a: 1 })];
  assertEquals(compareSizes(rounds), [{ key: "100" }]);
});

Deno.test("compareBalanced() compares with one process, which it leaves out", () => {
  const found = compareBalanced([
    run("alone", 0, { a: 10 }),
    run("together", 0, { a: 5, b: 5, c: 5 }, { calls: 2000 }),
  ]);
  assertEquals(found.map(({ setting }) => setting), ["together"]);
  assertEquals(found[0]?.throughput?.mid, 2);
  assertAlmostEquals(found[0]?.cpu?.mid ?? 0, 0.75);
});

Deno.test("addedMs() is the difference of medians of one round", () => {
  const added = addedMs([
    run("same", 0, { a: 1 }, { p50: 1000 }),
    run("other", 0, { a: 1 }, { p50: 1500 }),
    run("same", 1, { a: 1 }, { p50: 9000 }),
    run("other", 1, { a: 1 }, { p50: 9200 }),
    run("other", 2, { a: 1 }, { p50: 90_000 }),
  ]);
  assertAlmostEquals(added?.low ?? 0, 0.2);
  assertAlmostEquals(added?.high ?? 0, 0.5);
  assertEquals(addedMs([run("same", 0, { a: 1 })]), undefined);
});

Deno.test("summarizeClusterIdle() tells joins and idleness apart", () => {
  const { processes: _, ...used } = run("", 0, { a: 1 });
  const step = {
    ...used,
    serverCpuSeconds: 0.05,
    processes: { a: process(0.03), redis: process(0.02) },
    members: 12,
    joined: 10,
    bytesBefore: 5000,
    bytes: 25_000,
  };
  const watched = {
    ...used,
    serverCpuSeconds: 0.05,
    processes: { a: process(0.04), redis: process(0.01, 7000) },
    members: 12,
  };
  const [row, ...more] = summarizeClusterIdle([
    { setting: "spread", steps: [step], watched },
    { setting: "alone", steps: [step] }, // nobody watched it
  ]);
  assertEquals(more, []);
  assertEquals(row?.members, 12);
  assertEquals(row?.joinsPerSecond, 5);
  assertAlmostEquals(row?.cpuPerJoin ?? 0, 5000);
  assertAlmostEquals(row?.redisCpuPerJoin ?? 0, 2000);
  assertEquals(row?.bytesPerMember, 2000);
  assertEquals(row?.redisBytes, 7000);
  assertAlmostEquals(row?.nodesShare ?? 0, 0.02);
  assertAlmostEquals(row?.redisShare ?? 0, 0.005);
});

Deno.test("clusterGoals() says which are met, and reports the rest", () => {
  const goals = clusterGoals(clusterResult);
  assertEquals(goals.map(({ met, goal }) => [goal, met]), [
    ["≤ 1.7", false],
    ["≤ 1.8", false],
    ["≤ 2.5", false],
    ["≤ 1.1", true],
    ["≤ 1", false],
    ["report only", undefined],
    ["report only", undefined],
  ]);
  const empty = { ...clusterResult, compared: [{ key: "100" }] };
  const paced = { rate: 400, pairs: 20, rows: [] };
  const balanced = { rows: [], compared: [] };
  assertEquals(clusterGoals({ ...empty, paced, balanced }), []);
});

Deno.test("clusterPage() shows a table, a plot and what else ran", () => {
  const page = clusterPage(clusterResult).join("\n\n");
  assertStringIncludes(page, "| 100 B | 40.0 | 42.0 | 84.0 | 5.0 |");
  assertStringIncludes(page, "(performance/cluster.svg)");
  assertStringIncludes(page, "which used 2.0 cores");
  const calm = clusterPage({ ...clusterResult, ...quietly }).join("\n\n");
  assertEquals(calm.includes("other work"), false);
});

const quiet = <R>(row: R) => ({ ...row, othersShare: 0.1 });
const quietly = {
  sizes: clusterResult.sizes.map(quiet),
  paced: { ...clusterResult.paced, rows: clusterResult.paced.rows.map(quiet) },
  balanced: {
    ...clusterResult.balanced,
    rows: clusterResult.balanced.rows.map(quiet),
  },
  idle: clusterResult.idle.map(quiet),
};

Deno.test("clusterNotes() shows all tables, and what spread the clients", () => {
  const notes = clusterNotes(clusterResult).join("\n\n");
  assertEquals(notes.match(/^\| --- /gm)?.length, 4);
  assertStringIncludes(notes, "Redis 7, HAProxy 2");
  assertStringIncludes(notes, "three behind the balancer");
  const without = { ...clusterResult, programs: { Redis: "7" } };
  assertStringIncludes(
    clusterNotes(without).join("\n"),
    "There was no HAProxy",
  );
});

Deno.test("settingOf() knows every arrangement of the plans", () => {
  for (const { cluster } of [FULL, QUICK, inRounds(FULL, 2)]) {
    const groups = [...cluster.sizes, cluster.paced, cluster.balanced];
    const names = groups.flatMap(({ contestants }) => contestants);
    for (const name of [...names, ...cluster.idle.settings]) {
      assertEquals(settingOf(name), SETTINGS[name]);
    }
  }
  assertEquals(inRounds(FULL, 2).cluster.idle.rounds, 2);
  assertThrows(() => settingOf("toString"), RangeError, "toString");
});
