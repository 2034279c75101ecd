import { type CallsRow, FLOOR } from "../calls_summary.ts";
import type { Spread } from "../statistics.ts";
import { spreadText } from "../terminal_table.ts";
import { type Goal, titleOf } from "./goals.ts";
import { number, table } from "./markdown.ts";
import { titleOfContestant } from "./plots.ts";

/** A figure of one contestant. */
export interface Cell {
  /** The growing number. */
  readonly at: number;
  readonly contestant: string;
  readonly cell: string;
}

/** Writes a table with growing numbers as rows and servers as columns. */
export function crossTable(name: string, cells: readonly Cell[]): string {
  const contestants = [...new Set(cells.map(({ contestant }) => contestant))];
  const steps = [...new Set(cells.map(({ at }) => at))].sort((a, b) => a - b);
  return table(
    [name, ...contestants.map(titleOfContestant)],
    steps.map((step) => [
      number(step),
      ...contestants.map((contestant) =>
        cells.find((c) => c.at === step && c.contestant === contestant)?.cell ??
          ""
      ),
    ]),
  );
}

/** Writes which goals are met. */
export function goalsTable(goals: readonly Goal[]): string {
  return table(
    ["figure", "goal", "measured", "met"],
    goals.map(({ figure, goal, measured, met }) => [
      figure,
      goal,
      measured,
      met === undefined ? "" : met ? "yes" : "**no**",
    ]),
  );
}

/** Writes calls at half of the floor's rate. */
export function openTable(rows: readonly CallsRow[]): string {
  return table(
    ["answer", "calls/s", "server", "p50 µs", "p99", "p99.9", "p99 × floor"],
    rows.map((row) => {
      const floor = rows.find(({ key, contestant }) =>
        key === row.key && contestant === FLOOR
      );
      return [
        titleOf(row.key),
        // Below its limit the floor answers as many as are sent.
        number((floor ?? row).callsPerSecond),
        titleOfContestant(row.contestant),
        ...[row.p50, row.p99, row.p999].map((time) => number(time)),
        ratioText(row.p99Ratio),
      ];
    }),
  );
}

/** Formats a ratio if there is one. */
export const ratioText = (ratio: Spread | undefined): string =>
  ratio ? spreadText(ratio) : "";
