import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import type { CallsRow } from "../../../bench/calls_summary.ts";
import { clusterGoals } from "../../../bench/cluster/goals.ts";
import { clusterNotes, clusterPage } from "../../../bench/cluster/render.ts";
import type {
  ClusterResult,
  ClusterRow,
} from "../../../bench/cluster/result.ts";
import { settingOf, SETTINGS } from "../../../bench/cluster/settings.ts";
import { renderEnds } from "../../../bench/ends/mod.ts";
import type { PathCost } from "../../../bench/ends/result.ts";
import { FULL, inRounds, QUICK } from "../../../bench/plan.ts";
import { barPlot, linePlot } from "../../../bench/plot/mod.ts";
import {
  linearScale,
  logScale,
  ratioScale,
} from "../../../bench/plot/scale.ts";
import { element, short } from "../../../bench/plot/svg.ts";
import { goalsOf } from "../../../bench/report/goals.ts";
import { number, table, textTable } from "../../../bench/report/markdown.ts";
import { renderNotes } from "../../../bench/report/notes.ts";
import { renderPage } from "../../../bench/report/page.ts";
import { plotsOf } from "../../../bench/report/plots.ts";
import type { Report } from "../../../bench/report/report.ts";
import { terminalTable } from "../../../bench/terminal_table.ts";

const even = (value: number) => ({ low: value, mid: value, high: value });

const row = (
  key: string,
  contestant: string,
  cpu: number,
  floor = 10,
): CallsRow => ({
  key,
  contestant,
  cpu,
  callsPerSecond: 1e6 / cpu,
  floorSpread: 0.1,

  cpuRatio: even(cpu / floor),
  p99Ratio: even(cpu / floor),

  p50: 1,
  p90: 2,
  p99: cpu,
  p999: 4,
  generatorShare: 0.3,
  othersShare: 0,

  rssBytes: 2 ** 20,
  peakRssBytes: 2 ** 20,
});

const taken = <F>(found: F) => ({
  takenAt: "2026-01-02T03:04:05.000Z",
  rounds: 5,
  found,
  failures: ["5000, ours: closed"],
});

const report = (parts: Report["parts"]): Report => ({
  machine: {
    processor: "Abacus",
    cores: 2,
    memoryBytes: 2 ** 30,
    system: "linux",
  },
  versions: { Deno: "2" },
  parts,
  absent: { "Rust SDK": "no cargo" },
});

const relay = taken([
  ...[row("100 8x1", "floor", 10), row("100 8x1", "ours", 19)],
  ...[row("100 50x4", "floor", 10), row("100 50x4", "stock", 30)],
  ...[row("100 50x4", "ours", 13), row("1m 50x1", "floor", 10)],
  row("1m 50x1", "ours", 7),
]);
const others = taken([
  ...[row("100 50x1", "floor", 10), row("100 50x1", "ours", 19)],
  { ...row("100 50x1", "rust", 28.5), oursRatio: even(1.5) },
  { ...row("1m 50x1", "rust", 28.5), oursRatio: even(3) },
  ...[row("100 50x1", "python-0.1", 250), row("100 50x1", "python-0.2", 180)],
  row("1m-text 50x1", "ours", 21),
]);
const open = taken([row("100", "floor", 10), row("100", "ours", 16)]);
const broadcast = taken([{
  members: 1000,
  contestant: "ours",
  cpu: even(6),
  floorSpread: 0.2,

  deliveriesPerSecond: 1,
  p50: 1,
  p99: 1,
}]);
const growth = taken([
  ...[row("50", "floor", 20), row("5000", "floor", 30)],
  ...[row("50", "ours", 40), row("5000", "ours", 73)],
]);
const idle = taken([{
  members: 5000,
  contestant: "ours",
  bytesPerMember: even(19_999),

  joinsPerSecond: 1,
  cpuPerJoin: 1,
}]);

const clusterRow = (key: string, setting: string, cpu: number): ClusterRow => ({
  key,
  setting,
  cpu,
  nodesCpu: cpu - 5,
  callsPerSecond: 1e6 / cpu,

  p50: 1000,
  p99: 2000,
  generatorShare: 0.5,
  othersShare: 2,
  ...(setting !== "alone" && { redisCpu: 5 }),
});

const cluster: ClusterResult = {
  sizes: [
    ...[clusterRow("100", "alone", 40), clusterRow("100", "same", 42)],
    ...[clusterRow("100", "other", 84), clusterRow("10k", "other", 200)],
  ],
  compared: [
    { key: "100", other: even(2.2), within: even(1.1) },
    { key: "10k", other: even(2.21) },
    { key: "1m", other: even(3) },
  ],
  paced: {
    rate: 400,
    pairs: 20,
    addedMs: even(1.01),
    cpu: even(3),
    rows: [clusterRow("400", "same", 100), clusterRow("400", "other", 300)],
  },
  balanced: {
    rows: [clusterRow("100", "alone", 40), clusterRow("100", "balanced", 90)],
    compared: [{ setting: "balanced", throughput: even(1.5) }],
  },
  idle: [{
    setting: "spread",
    members: 10_000,
    joinsPerSecond: 1000,

    cpuPerJoin: 900,
    redisCpuPerJoin: 60,
    bytesPerMember: 40_000,

    redisBytes: 2 ** 24,
    nodesShare: 0.1,
    redisShare: 0.01,
    othersShare: 2,
  }],
  programs: { Redis: "7", HAProxy: "2" },
};

/** Checks that a text has lines, or parts of lines, however its columns are aligned. */
function assertLines(text: string, ...lines: string[]) {
  const aligned = text.replaceAll(/ {2,}/g, " ");
  for (const line of lines) assertStringIncludes(aligned, line);
}

const plotsIn = (page: string) =>
  [...page.matchAll(/performance\/(\w+)\.svg/g)].map(([, name]) => name);

const RUST =
  "calls per CPU second / the Rust SDK's server, the least of 2 loads";

Deno.test("goalsOf() says which goals are met, and leaves out what was not measured", () => {
  const parts = { relay, others, open, growth, idle, broadcast };
  const goals = goalsOf(report(parts));
  assertEquals(goals.map(({ figure, met }) => [figure, met]), [
    ["server CPU per call / floor, 100 B, 50 × 4", false], // 1.3 > 1.25
    ["server CPU per call / floor, 100 B, 8 × 1", true],
    ["server CPU per call / floor, 1 MB, 50 × 1", true],
    ["p99 at half of the floor's rate / floor, 100 B", false],
    [RUST, true],
    ["throughput / the Python SDK's server, 100 B, 50 × 1", false], // the faster one's
    ["memory of an idle member, at 5,000", true],
    ["server CPU per delivery of a notification, 1,000 members", true],
    ["cost per call at 5,000 pairs / at 50 pairs", false], // 1.83 > 1.5 × 1.2
  ]);
  assertEquals(goalsOf(report({})), []);
});

Deno.test("goalsOf() says of a load that was disturbed neither met nor missed", () => {
  const found = relay.found.map((row) =>
    row.key === "100 8x1" ? { ...row, floorSpread: 0.41 } : row
  );
  const goals = goalsOf(report({ relay: { ...relay, found } }));
  const disturbed = goals.filter(({ met }) => met === undefined);
  assertEquals(disturbed, [{
    figure: "server CPU per call / floor, 100 B, 8 × 1",
    goal: "≤ 1.9",
    measured: "disturbed: the floor's CPU spread over 41 %",
  }]);
  assertEquals(goals.length, 3);
});

Deno.test("renderNotes() shows what there is, and who was not there", () => {
  const page = renderNotes(report({ relay, growth, idle }), "Notes.\n", "../");
  assertLines(
    page,
    "| **this package, Deno** | 19.0 | 1.90",
    "](../performance/growth.svg)",
    "\n\nNotes.\n\n",
    "- Rust SDK: no cargo\n- relay: 5000, ours: closed",
    "2026-01-02 03:04 UTC",
  );
  assertEquals(page.includes("latency.svg"), false);
  assertLines(
    renderNotes(report({ open }), "", ""),
    "| 100 B | 100,000 | this package, Deno | 1 | 16 | 4 | 1.60 (1.60–1.60) |",
  );
  const platforms = taken({
    calls: [row("100", "ours", 20), row("1m", "ours", 500)],
    starts: [{ contestant: "ours", ms: { low: 180, mid: 200, high: 240 } }],
    bundles: [{ title: "Agent, browser", minified: 150_400, gzip: 44_960 }],
  });
  assertLines(
    renderNotes(report({ platforms }), "", ""),
    "| platform | 100 B | 1 MB | start, ms |",
    "| this package, Deno | 50,000 (1) | 2,000 (1) | 200 (180–240) |",
    "| Agent, browser | 150 | 45.0 |",
  );
});

Deno.test("renderNotes() shows every plot that is drawn, and no other", () => {
  const parts = { relay, others, growth, idle, open, broadcast };
  const full = report({ ...parts, cluster: taken(cluster) });
  for (const shown of [full, report({ relay }), report({})]) {
    const drawn = Object.keys(plotsOf(shown)).sort();
    assertEquals(plotsIn(renderNotes(shown, "", "")).sort(), drawn);
  }
});

Deno.test("renderPage() is the goals, the tables, a plot, and how to repeat them", () => {
  const early = { cpu: 40, cpuRatio: even(4), p50: 1, p99: 2 };
  const found = relay.found.map((row) => ({ ...row, first: early }));
  const main = { ...relay, found };
  const page = renderPage(report({ relay: main, others, growth, idle }));
  assertEquals(page.match(/^```text$/gm)?.length, 3);
  assertEquals(plotsIn(page), ["cpu"]);
  assertLines(
    page,
    "\n100 B 50 × 4 13.0 1.30 (1.30–1.30) 4.00 (4.00–4.00) 3.00 (3.00–3.00) 76,923\n",
    "\n1 MB 50 × 1 7.0 0.70 (0.70–0.70) 4.00 (4.00–4.00) 142,857\n",
    "\n100 B 50 × 1 10.0 19.0 28.5 250.0 180.0\n",
    "\n1 MB 50 × 1 28.5\n",
    "\n1 MB non-ASCII 50 × 1 21.0\n",
    "`deno task bench`",
  );
});

Deno.test("renderPage() says which figures another machine has", () => {
  const machine = {
    processor: "Slide rule",
    cores: 1,
    memoryBytes: 1,
    system: "",
  };
  const elsewhere = { ...taken(cluster), machine };
  assertLines(
    renderPage(report({ relay, cluster: elsewhere })),
    "Those of several Servers are of another machine: Slide rule, 1 cores.",
  );
  const own = { ...elsewhere, machine: report({}).machine };
  const page = renderPage(report({ relay, cluster: own }));
  assertEquals(page.includes("another machine"), false);
  assertLines(page, "(performance/cluster.svg)");
});

Deno.test("terminalTable(), textTable(), table() and number() align columns, figures to the right", () => {
  const [head = "", first = ""] = terminalTable(relay.found).split("\n");
  assertEquals(head.indexOf("CPU"), first.indexOf("10.0"));
  assertEquals(
    textTable(["a", "b"], [["long", "1"], ["", "200"]]),
    "```text\na       b\nlong    1\n      200\n```",
  );
  assertEquals(
    table(["a", "b"], [["1", "2"]]),
    "| a | b |\n| --- | --: |\n| 1 | 2 |",
  );
  assertEquals([number(12_345.678), number(1, 2)], ["12,346", "1.00"]);
});

// ---------------------------------------------------------------- clusters

Deno.test("clusterGoals() says which are met, and reports the rest", () => {
  const goals = clusterGoals(cluster);
  assertEquals(goals.map(({ met, goal }) => [goal, met]), [
    ...[["≤ 1.7", false], ["≤ 1.8", false], ["≤ 2.5", false]],
    ...[["≤ 1.1", true], ["≤ 1", false]],
    ...[["report only", undefined], ["report only", undefined]],
  ]);
  const empty = { ...cluster, compared: [{ key: "100" }] };
  const paced = { rate: 400, pairs: 20, rows: [] };
  const balanced = { rows: [], compared: [] };
  assertEquals(clusterGoals({ ...empty, paced, balanced }), []);
});

Deno.test("clusterPage() shows a table, a plot and what else ran", () => {
  assertLines(
    clusterPage(cluster).join("\n\n"),
    "| 100 B | 40.0 | 42.0 | 84.0 | 5.0 |",
    "(performance/cluster.svg)",
    "which used 2.0 cores",
  );
  const calm: ClusterResult = JSON.parse(
    JSON.stringify(
      cluster,
      (key, value) => key === "othersShare" ? 0.1 : value,
    ),
  );
  assertEquals(clusterPage(calm).join("\n").includes("other work"), false);
});

Deno.test("clusterNotes() shows all tables, and what spread the clients", () => {
  const notes = clusterNotes(cluster).join("\n\n");
  assertEquals(notes.match(/^\| --- /gm)?.length, 4);
  assertLines(notes, "Redis 7, HAProxy 2", "three behind the balancer");
  const without = { ...cluster, programs: { Redis: "7" } };
  assertLines(clusterNotes(without).join("\n"), "There was no HAProxy");
});

Deno.test("settingOf() has every arrangement of the plans", () => {
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

// ---------------------------------------------------------------- the other ends

Deno.test("renderEnds() writes a section with a table of each kind", () => {
  const cost = (p50: number, stages: PathCost["stages"]): PathCost => ({
    p50,
    stages,
    cpu: { Client: 7 },
  });
  const text = renderEnds({
    overhead: {
      rounds: 5,
      calls: 10,
      payloads: [{
        bytes: 10_000,
        paths: {
          direct: cost(400, { mcpServer: 300 }),
          here: { ...cost(600, {}), ratio: { low: 1.4, mid: 1.5, high: 2 } },
          agent: cost(1_000, { agentOut: 50, mcpServer: 310 }),
          vrl: cost(1_200, {}),
        },
      }],
    },
    commands: [
      { command: "server", runtime: "Deno 2", ready: 150.4, memory: 70 },
      { command: "server", runtime: "Node 22", ready: 300 },
    ],
    bundle: {
      minified: 2_000,
      gzip: 900,
      brotli: 800,
      parts: [["zod", 1_500]],
    },
  });
  for (
    const line of [
      "## The other ends",
      "|  | 10 KB |",
      "| … / direct | 2.5× |",
      "| … in one process | 600 µs |",
      "| … in one process / direct | 1.5× (1.4–2.0) |",
      "| Agent: sign, encode | 50 µs |",
      "| MCP server, and the pipes to it and back | 300 µs → 310 µs |",
      "| smcp-server | 150 ms | 70 MiB | 300 ms |  |",
      "| zod | 1.5 kB | 75 % |",
    ]
  ) assert(text.split("\n").includes(line), `${line}\n${text}`);
});

// ---------------------------------------------------------------- plots

Deno.test("linearScale() starts at 0, in round steps past the largest value", () => {
  assertEquals(linearScale(4.3, 0, 100).ticks, [0, 1, 2, 3, 4, 5]);
  assertEquals(linearScale(0.5, 0, 100).ticks, [0, 0.1, 0.2, 0.3, 0.4, 0.5]);
  const { at } = linearScale(10, 200, 100);
  assertEquals([0, 5, 10].map(at), [200, 150, 100]);
});

Deno.test("ratioScale() puts a value alone in the middle", () => {
  assertEquals([1, 10, 100].map(ratioScale(1, 100, 0, 200)), [0, 100, 200]);
  assertEquals(ratioScale(5, 5, 0, 200)(5), 100);
});

Deno.test("logScale() gives equal ratios equal distances", () => {
  const { at, ticks } = logScale(1, 5000, 0, 400);
  assertEquals([1, 10, 100, 10_000].map(at), [0, 100, 200, 400]);
  assertEquals(ticks, [1, 10, 100, 1000, 10_000]);
  assertEquals(logScale(20, 90, 0, 1).ticks, [10, 20, 50, 100]);
  assertEquals(logScale(10, 10, 0, 1).ticks, [10, 20, 50, 100]);
});

Deno.test("short() writes numbers for axes", () => {
  const axis = [0, 0.25, 12, 5000, 12_345, 2e6].map(short).join(" ");
  assertEquals(axis, "0 0.25 12 5k 12.3k 2M");
});

Deno.test("element() escapes what it is given", () => {
  const text = element("a", { title: '<"&' }, []);
  assertEquals(text, '<a title="&lt;&quot;&amp;"/>');
});

const points = (svg: string) =>
  [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)]
    .map(([, x, y]) => [Number(x), Number(y)]);

Deno.test("linePlot() draws every value inside its frame, with units and a legend", () => {
  const svg = linePlot({
    title: "Cost <of> growth",
    xLabel: "pairs",
    yLabel: "CPU, µs",
    series: [
      { name: "floor", colour: "#888", points: [[5000, 30], [1, 10]] },
      { name: "ours", colour: "#0a0", points: [[1, 20], [5000, 60]] },
    ],
    goal: { value: 50, words: "goal" },
  });
  assertMatch(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assertLines(svg, "Cost &lt;of&gt; growth", "CPU, µs", "pairs", "ours");
  assertLines(svg, "prefers-color-scheme:dark");
  const drawn = points(svg);
  assertEquals(drawn.length, 4);
  assert(drawn.every(([x = 0, y = 0]) => x > 60 && x < 960 && y > 30));
  // From left to right, and more is higher.
  assert((drawn[0]?.[0] ?? 0) < (drawn[1]?.[0] ?? 0));
  assert((drawn[0]?.[1] ?? 0) > (drawn[1]?.[1] ?? 0));
});

Deno.test("barPlot() leaves a gap where there is no value", () => {
  const svg = barPlot({
    title: "Throughput",
    yLabel: "calls/s",
    logarithmic: true,
    groups: ["100 B", "10 KB"],
    series: [
      { name: "floor", colour: "#888", values: [30_000, 20_000] },
      { name: "python", colour: "#a0a", values: [600, undefined] },
    ],
    goals: { values: [1000, undefined], words: "goal" },
  });
  const bars = [...svg.matchAll(/<rect [^>]*height="(?!12")/g)];
  assertEquals(bars.length, 3);
  assertEquals(svg.match(/class="goal"/g)?.length, 1);
  assertLines(svg, "30k", "600", "10 KB", "python");
});
