import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import type { CallsRow } from "../../../bench/calls.ts";
import { ROOT } from "../../../bench/contestants/start.ts";
import type { EndsResult } from "../../../bench/ends.ts";
import type { McpResult } from "../../../bench/mcp.ts";
import { BASE, OURS, TWO } from "../../support/mcp/bridges.ts";
import { readReport, writeReport } from "../../../bench/report/files.ts";
import { goalsOf } from "../../../bench/report/goals.ts";
import { callsTable, renderPage, TABLES } from "../../../bench/report/page.ts";
import { cpuPlot } from "../../../bench/report/plot.ts";
import type { Report } from "../../../bench/report/report.ts";
import { block, number, textTable } from "../../../bench/report/text.ts";

const even = (value: number) => ({ low: value, mid: value, high: value });

const row = (
  key: string,
  contestant: string,
  cpu: number,
  base = 10,
): CallsRow => ({
  key,
  contestant,
  cpu,
  callsPerSecond: 1e6 / cpu,
  floorSpread: 0.1,
  cpuRatio: even(cpu / base),
  p50: 1,
  p99: cpu,
});

const taken = <F>(found: F) => ({
  takenAt: "2026-01-02T03:04:05.000Z",
  rounds: 5,
  found,
});

const report = (parts: Report["parts"]): Report => ({
  machine: { processor: "Abacus", cores: 2 },
  deno: "2",
  parts,
});

const relay = taken([
  row("100 8x1", "floor", 10),
  row("100 8x1", "ours", 19),
  row("100 50x4", "floor", 10),
  row("100 50x4", "stock", 30),
  row("100 50x4", "ours", 13),
  row("1m 50x1", "floor", 10),
  row("1m 50x1", "ours", 7),
]);
const growth = taken([
  row("100 50:50", "floor", 20),
  row("100 5000:50", "floor", 30),
  row("100 50:50", "ours", 40),
  row("100 5000:50", "ours", 73),
]);
const cluster = taken([
  row("100 50x1", "ours", 40),
  { ...row("100 50x1", "same", 42, 40), redisCpu: 0.5 },
  { ...row("100 50x1", "other", 84, 42), redisCpu: 5 },
  row("1m 50x1", "other", 5, 2),
  { ...row("100 20x1@400", "same", 40), p50: 1000 },
  { ...row("100 20x1@400", "other", 40), p50: 2010 },
]);
const ends = taken<EndsResult>([
  { bytes: 100, way: "a direct MCP call", ms: even(0.4), ratio: even(1) },
  {
    bytes: 100,
    way: "a call through Agent, Server and Computer",
    ms: even(1),
    ratio: { low: 2.4, mid: 2.5, high: 3 },
  },
  {
    bytes: 10_000,
    way: "a call through a Computer in process",
    ms: even(0.5),
    ratio: even(1),
  },
  {
    bytes: 100,
    way: "a call through a Computer in process",
    ms: even(0.44),
    ratio: even(1.1),
  },
]);
/** One way under one load of an office as an MCP server. */
const mcpRow = (way: string, load: string, ratio: number) => ({
  way,
  load,
  cpu: even(180),
  cpuRatio: even(ratio),
  ms: even(0.46),
  msRatio: even(ratio),
  callsPerSecond: even(6400),
  rateRatio: even(1 / ratio),
  mib: 296,
});
const mcp = taken<McpResult>({
  leftOut: {},
  rows: [
    { ...mcpRow(BASE, "100 B, 8 clients", 1), sessionKib: 70 },
    mcpRow(BASE, "100 B, one client", 1),
    { ...mcpRow(OURS, "100 B, 8 clients", 0.31), mib: 400, sessionKib: 9 },
    mcpRow(OURS, "100 B, one client", 0.8),
    mcpRow(TWO, "100 B, 8 clients", 0.51),
  ],
});

/** Checks that a text has lines, or parts of lines, however its columns are aligned. */
function assertLines(text: string, ...lines: string[]) {
  const aligned = text.replaceAll(/ {2,}/g, " ");
  for (const line of lines) assertStringIncludes(aligned, line);
}

Deno.test("goalsOf() says which goals are met, and leaves out what was not measured", () => {
  const goals = goalsOf({ relay, growth, cluster, ends, mcp });
  assertEquals(goals.map(({ figure, met }) => [figure, met]), [
    ["CPU, 100 B, 50 × 4", false], // 1.3 > 1.25
    ["CPU, 100 B, 8 × 1", true],
    ["CPU, 1 MB, 50 × 1", true],
    [
      "a call through Agent, Server and Computer / the same MCP call made directly, p50, 100 B",
      false,
    ],
    [
      "a call through a Computer in process / the same MCP call made directly, p50, 100 B",
      true,
    ],
    ["cost per call at 5,000 pairs / at 50 pairs", false], // 1.83 > 1.5 × 1.2
    [`MCP, CPU, ${OURS}, 100 B, 8 clients`, true],
    [`MCP, CPU, ${TWO}, 100 B, 8 clients`, false], // 0.51 > 0.5
    [`MCP, p50, ${OURS}, 100 B, one client`, false], // 0.8 > 0.75
    [`MCP, calls/s, ${OURS}, 100 B, 8 clients`, true], // 1 / 0.31
    [`MCP, memory after the load, ${OURS}, 100 B, 8 clients`, false],
    [`MCP, memory of a session, ${OURS}`, true], // 9 / 70
    ["a call between two Servers / inside one, CPU, 100 B", false], // 2 > 1.7
    ["a call inside one of two Servers / of one, CPU, 100 B", true],
    ["a call between two Servers / inside one, CPU, 1 MB", true],
    ["another Server adds to a call, p50, 400 calls/s, 20 pairs", false],
  ]);
  assertEquals(goalsOf({}), []);
});

Deno.test("goalsOf() leaves out a load that was disturbed", () => {
  const found = relay.found.map((row) =>
    row.key === "100 8x1" ? { ...row, floorSpread: 0.41 } : row
  );
  assertEquals(goalsOf({ relay: { ...relay, found } }).length, 2);
});

Deno.test("callsTable() names answers, shapes and servers, and Redis where there is one", () => {
  assertLines(
    callsTable(cluster.found),
    "answer pairs × calls server CPU µs × base of it Redis calls/s",
    "100 B 50 × 1 this package, Deno 40.0 4.00 (4.00–4.00) 25,000 1 40",
    "100 B 50 × 1 two Servers, the ends at different ones 84.0 2.00 (2.00–2.00) 5.0",
    "100 B 20 × 1, 400/s two Servers, both ends at one",
  );
  assertEquals(callsTable(relay.found).includes("Redis"), false);
});

Deno.test("the tables of ends and of bridges have a line for each", () => {
  assertLines(
    TABLES.ends(ends.found),
    "a call through Agent, Server and Computer 100 B 1.00 2.50 (2.40–3.00)",
  );
  assertLines(
    TABLES.mcp(mcp.found),
    `${OURS} 180 0.31 (0.31–0.31) 0.46 0.31 (0.31–0.31) 6,400 400 9`,
    `${OURS} 180 0.80 (0.80–0.80) 0.46 0.80 (0.80–0.80) 6,400 296`,
  );
});

Deno.test("renderPage() is the goals, the tables, a plot, and how to repeat them", () => {
  const first = { cpu: 40, cpuRatio: even(4) };
  const found = relay.found.map((row) => ({ ...row, first }));
  const main = { ...relay, found };
  const page = renderPage(report({ relay: main, growth, cluster, ends }));
  assertEquals(page.match(/^```text$/gm)?.length, 4);
  assertLines(
    page,
    "\n100 B 50 × 4 13.0 1.30 (1.30–1.30) 4.00 (4.00–4.00) 3.00 (3.00–3.00) 76,923\n",
    "\n1 MB 50 × 1 7.0 0.70 (0.70–0.70) 4.00 (4.00–4.00) 142,857\n",
    "(performance.svg)",
    "`deno task bench`",
  );
  assertEquals(page.includes("another machine"), false);
});

Deno.test("renderPage() says which figures another machine has", () => {
  const machine = { processor: "Slide rule", cores: 1 };
  assertLines(
    renderPage(report({ relay, mcp: { ...mcp, machine } })),
    "Those of MCP are of another machine: Slide rule, 1 cores.",
  );
});

Deno.test("docs/performance.md and its plot are those of docs/performance.json", async () => {
  const docs = join(ROOT, "docs");
  const report = await readReport(docs);
  assert(report);
  const folder = await Deno.makeTempDir();
  try {
    await writeReport(folder, report);
    for (const file of ["performance.md", "performance.svg"]) {
      const [own, written] = await Promise.all([
        Deno.readTextFile(join(docs, file)),
        Deno.readTextFile(join(folder, file)),
      ]);
      assertEquals(
        own,
        written,
        `${file}: run deno run -A bench/main.ts render`,
      );
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("textTable(), block() and number() align columns, figures to the right", () => {
  const table = textTable(["a", "b"], [["long", "1"], ["", "200"]]);
  assertEquals(table, "a       b\nlong    1\n      200");
  assertEquals(block("x"), "```text\nx\n```");
  assertEquals([number(12_345.678), number(1, 2)], ["12,346", "1.00"]);
});

Deno.test("cpuPlot() draws a bar for each load of this package, with a legend", () => {
  const svg = cpuPlot([...relay.found, row("1m 8x1", "ours", 1)]);
  const bars = [...svg.matchAll(/<rect [^>]*height="(?!12")/g)];
  assertEquals(bars.length, 4);
  assertEquals(svg.match(/class="goal"/g)?.length, 1);
  for (const text of ["8 × 1", "50 × 4", "100 B", "1 MB", "1.3"]) {
    assertStringIncludes(svg, `>${text}</text>`);
  }
  assertStringIncludes(svg, "prefers-color-scheme:dark");
});
