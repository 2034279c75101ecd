import type { CallsRow } from "./calls_summary.ts";
import type { Spread } from "./statistics.ts";

/** Formats rows as a table for a terminal. */
export function terminalTable(rows: readonly CallsRow[]): string {
  const cells = rows.map((row) => [
    row.key,
    row.contestant,
    row.cpu.toFixed(1),
    row.cpuRatio ? spreadText(row.cpuRatio) : "",
    row.first?.cpu.toFixed(1) ?? "",
    row.callsPerSecond.toFixed(0),
    ...[row.p50, row.p90, row.p99, row.p999].map((time) => time.toFixed(0)),
    (row.peakRssBytes / 2 ** 20).toFixed(0),
    `${(100 * row.generatorShare).toFixed(0)} %`,
    `${(100 * row.othersShare).toFixed(0)} %`,
  ]);
  const all = [HEAD, ...cells];
  const widths = HEAD.map((_, i) =>
    Math.max(...all.map((line) => line[i]?.length ?? 0))
  );
  return all.map((line) =>
    line.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ").trimEnd()
  ).join("\n");
}

const HEAD = [
  "size",
  "contestant",
  "CPU µs/call",
  "× floor (low–high)",
  "first µs/call",
  "calls/s",
  "p50 µs",
  "p90",
  "p99",
  "p99.9",
  "peak MiB",
  "generator",
  "others",
];

/** Formats a median with the range of the rounds. */
export const spreadText = ({ low, mid, high }: Spread): string =>
  `${mid.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})`;
