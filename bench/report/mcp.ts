/**
 * The table and the goals of an office as one MCP server.
 *
 * @module
 */
import { BASE, OURS, TWO } from "../../tests/support/mcp/bridges.ts";
import { LOADS, type McpResult, type McpRow } from "../mcp.ts";
import { spreadOf, spreadText } from "../statistics.ts";
import type { Goal } from "./goals.ts";
import { number, textTable } from "./text.ts";

const SMALL = "100 B, 8 clients";

/** Most of a figure over that of the first bridge under the same load; of calls per second the least. */
const GOALS: readonly (readonly [
  figure: keyof typeof FIGURES,
  way: string,
  load: string,
  bound: number,
])[] = [
  ["CPU", OURS, SMALL, 0.33],
  ["CPU", OURS, "10 KB, 8 clients", 0.5],
  ["CPU", OURS, "100 KB, 8 clients", 0.4],
  ["CPU", OURS, "1 MB, 8 clients", 0.3],
  ["CPU", `${OURS}, clients that can be asked`, SMALL, 0.4],
  ["CPU", `${OURS}, MCP 2026-07-28`, SMALL, 0.4],
  ["CPU", TWO, SMALL, 0.5],
  ["p50", OURS, "100 B, one client", 0.75],
  ["calls/s", OURS, SMALL, 3],
  ["memory after the load", OURS, SMALL, 1.1],
  ["memory of a session", OURS, SMALL, 0.3],
];

/** Returns a figure of a row, over that of the first bridge. */
const FIGURES = {
  "CPU": ({ cpuRatio }: McpRow) => cpuRatio,
  "p50": ({ msRatio }: McpRow) => msRatio,
  "calls/s": ({ rateRatio }: McpRow) => rateRatio,
  "memory after the load": ({ mib }: McpRow, base: McpRow) =>
    spreadOf([mib / base.mib]),
  "memory of a session": (
    { sessionKib = NaN }: McpRow,
    { sessionKib: most = NaN }: McpRow,
  ) => spreadOf([sessionKib / most]),
};

/** Returns which goals an office meets as one MCP server. */
export const mcpGoals = ({ rows }: McpResult): Goal[] =>
  GOALS.flatMap(([figure, way, load, bound]) => {
    const [row, base] = [way, BASE].map((name) =>
      rows.find((row) => row.way === name && row.load === load)
    );
    const ratio = row && base && FIGURES[figure](row, base);
    if (!ratio || Number.isNaN(ratio.mid)) return [];
    const isLeast = figure === "calls/s";
    return {
      figure: `MCP, ${figure}, ${way}${
        figure === "memory of a session" ? "" : `, ${load}`
      }`,
      goal: `${isLeast ? "≥" : "≤"} ${bound}`,
      measured: ratio.low === ratio.high
        ? ratio.mid.toFixed(2)
        : spreadText(ratio),
      met: isLeast ? ratio.mid >= bound : ratio.mid <= bound,
    };
  });

/** Writes a line for each way and load, and who was left out. */
export const mcpTable = ({ rows, leftOut }: McpResult): string =>
  textTable(
    [
      "",
      "CPU, µs",
      "ratio",
      "p50, ms",
      "ratio",
      "calls/s",
      "MiB",
      "session, KiB",
    ],
    Object.keys(LOADS).flatMap((load) => [
      [load],
      ...rows.filter((row) => row.load === load).map((row) => [
        `  ${row.way}`,
        number(row.cpu.mid),
        spreadText(row.cpuRatio),
        number(row.ms.mid, 2),
        spreadText(row.msRatio),
        number(row.callsPerSecond.mid),
        number(row.mib),
        row.sessionKib === undefined ? "" : number(row.sessionKib),
      ]),
    ]),
  ) + Object.entries(leftOut).map(([name, reason]) =>
    `\n${name} is left out: ${reason}`
  ).join("");
