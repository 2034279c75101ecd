import { assertEquals, assertStringIncludes } from "@std/assert";
import type { CallsRow } from "../../../bench/calls_summary.ts";
import { goalsOf } from "../../../bench/report/goals.ts";
import { number, table, textTable } from "../../../bench/report/markdown.ts";
import { renderNotes } from "../../../bench/report/notes.ts";
import { renderPage } from "../../../bench/report/page.ts";
import { plotsOf } from "../../../bench/report/plots.ts";
import type { Report, Taken } from "../../../bench/report/report.ts";
import { clusterResult } from "./cluster_result.ts";
import { terminalTable } from "../../../bench/terminal_table.ts";

const row = (
  key: string,
  contestant: string,
  cpu: number,
  floor = 10,
): CallsRow => {
  const ratio = cpu / floor;
  const spread = { low: ratio, mid: ratio, high: ratio };
  return {
    key,
    contestant,
    cpu,
    cpuRatio: spread,
    p99Ratio: spread,
    floorSpread: 0.1,
    callsPerSecond: 1e6 / cpu,
    p50: 1,
    p90: 2,
    p99: cpu,
    p999: 4,
    rssBytes: 2 ** 20,
    peakRssBytes: 2 ** 20,
    generatorShare: 0.3,
    othersShare: 0,
  };
};

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

const relay: Taken<"relay"> = taken([
  row("100 8x1", "floor", 10),
  row("100 8x1", "ours", 19),
  row("100 50x4", "floor", 10),
  row("100 50x4", "stock", 30),
  row("100 50x4", "ours", 13),
  row("1m 50x1", "floor", 10),
  row("1m 50x1", "ours", 7),
]);
const even = (value: number) => ({ low: value, mid: value, high: value });
const others: Taken<"others"> = taken([
  row("100 50x1", "floor", 10),
  row("100 50x1", "ours", 19),
  { ...row("100 50x1", "rust", 28.5), oursRatio: even(1.5) },
  { ...row("1m 50x1", "rust", 28.5), oursRatio: even(3) },
  row("100 50x1", "python-0.1", 250),
  row("100 50x1", "python-0.2", 180),
  row("1m-text 50x1", "ours", 21),
]);
const open: Taken<"open"> = taken([
  row("100", "floor", 10),
  row("100", "ours", 16),
]);
const broadcast: Taken<"broadcast"> = taken([{
  members: 1000,
  contestant: "ours",
  cpu: even(6),
  floorSpread: 0.2,
  deliveriesPerSecond: 1,
  p50: 1,
  p99: 1,
}]);
const growth: Taken<"growth"> = taken([
  row("50", "floor", 20),
  row("5000", "floor", 30),
  row("50", "ours", 40),
  row("5000", "ours", 73),
]);
const idle: Taken<"idle"> = taken([
  {
    members: 5000,
    contestant: "ours",
    bytesPerMember: even(19_999),
    joinsPerSecond: 1,
    cpuPerJoin: 1,
  },
]);

Deno.test("goalsOf() says which goals are met, and leaves out what was not measured", () => {
  const parts = { relay, others, open, growth, idle, broadcast };
  const goals = goalsOf(report(parts));
  assertEquals(goals.map(({ figure, met }) => [figure, met]), [
    ["server CPU per call / floor, 100 B, 50 × 4", false], // 1.3 > 1.25
    ["server CPU per call / floor, 100 B, 8 × 1", true],
    ["server CPU per call / floor, 1 MB, 50 × 1", true],
    ["p99 at half of the floor's rate / floor, 100 B", false],
    [
      "calls per CPU second / the Rust SDK's server, the least of 2 loads",
      true,
    ],
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
  const parts = { relay, growth, idle };
  const page = renderNotes(report(parts), "Notes.\n", "../");
  assertStringIncludes(page, "| **this package, Deno** | 19.0 | 1.90");
  assertStringIncludes(page, "](../performance/growth.svg)");
  assertStringIncludes(page, "\n\nNotes.\n\n");
  assertStringIncludes(
    page,
    "- Rust SDK: no cargo\n- relay: 5000, ours: closed",
  );
  assertStringIncludes(page, "2026-01-02 03:04 UTC");
  assertEquals(page.includes("latency.svg"), false);
  assertStringIncludes(
    renderNotes(report({ open }), "", ""),
    "| 100 B | 100,000 | this package, Deno | 1 | 16 | 4 | 1.60 (1.60–1.60) |",
  );
});

Deno.test("renderNotes() shows every plot that is drawn, and no other", () => {
  const full = report({
    ...{ relay, others, growth, idle, open, broadcast },
    cluster: taken(clusterResult),
  });
  for (const shown of [full, report({ relay }), report({})]) {
    const images = renderNotes(shown, "", "").matchAll(
      /performance\/(\w+)\.svg/g,
    );
    assertEquals(
      [...images].map(([, name]) => name).sort(),
      Object.keys(plotsOf(shown)).sort(),
    );
  }
});

Deno.test("renderPage() is the goals, the tables, a plot, and how to repeat them", () => {
  const early = { cpu: 40, cpuRatio: even(4), p50: 1, p99: 2 };
  const found = relay.found.map((row) => ({ ...row, first: early }));
  const main = { ...relay, found };
  const page = renderPage(report({ relay: main, others, growth, idle }));
  assertEquals(page.match(/^```text$/gm)?.length, 3);
  assertEquals(
    [...page.matchAll(/performance\/(\w+)\.svg/g)].map(([, name]) => name),
    ["cpu"],
  );
  for (
    const line of [
      "100 B 50 × 4 13.0 1.30 (1.30–1.30) 4.00 (4.00–4.00) 3.00 (3.00–3.00) 76,923",
      "1 MB 50 × 1 7.0 0.70 (0.70–0.70) 4.00 (4.00–4.00) 142,857",
      "100 B 50 × 1 10.0 19.0 28.5 250.0 180.0",
      "1 MB 50 × 1 28.5",
      "1 MB non-ASCII 50 × 1 21.0",
    ]
  ) {
    assertStringIncludes(page.replaceAll(/ {2,}/g, " "), `\n${line}\n`);
  }
  assertStringIncludes(page, "`deno task bench`");
});

Deno.test("renderPage() says which figures another machine has", () => {
  const machine = {
    processor: "Slide rule",
    cores: 1,
    memoryBytes: 1,
    system: "",
  };
  const others = { ...taken(clusterResult), machine };
  assertStringIncludes(
    renderPage(report({ relay, cluster: others })),
    "Those of several Servers are of another machine: Slide rule, 1 cores.",
  );
  const own = { ...others, machine: report({}).machine };
  const page = renderPage(report({ relay, cluster: own }));
  assertEquals(page.includes("another machine"), false);
  assertStringIncludes(page, "(performance/cluster.svg)");
});

Deno.test("terminalTable() aligns its columns", () => {
  const [head = "", first = ""] = terminalTable(relay.found).split("\n");
  assertEquals(head.indexOf("CPU"), first.indexOf("10.0"));
});

Deno.test("textTable() aligns the first column to the left, and figures to the right", () => {
  assertEquals(
    textTable(["a", "b"], [["long", "1"], ["", "200"]]),
    "```text\na       b\nlong    1\n      200\n```",
  );
});

Deno.test("table() and number() write Markdown", () => {
  assertEquals(
    table(["a", "b"], [["1", "2"]]),
    "| a | b |\n| --- | --: |\n| 1 | 2 |",
  );
  assertEquals(number(12_345.678), "12,346");
  assertEquals(number(1, 2), "1.00");
});

Deno.test("renderNotes() compares platforms, with the start of each and the sizes of bundles", () => {
  const platforms = taken({
    calls: [row("100", "ours", 20), row("1m", "ours", 500)],
    starts: [{ contestant: "ours", ms: { low: 180, mid: 200, high: 240 } }],
    bundles: [{ title: "Agent, browser", minified: 150_400, gzip: 44_960 }],
  });
  const page = renderNotes(report({ platforms }), "", "");
  for (
    const line of [
      "| platform | 100 B | 1 MB | start, ms |",
      "| this package, Deno | 50,000 (1) | 2,000 (1) | 200 (180–240) |",
      "| Agent, browser | 150 | 45.0 |",
    ]
  ) {
    assertStringIncludes(page, line);
  }
});
