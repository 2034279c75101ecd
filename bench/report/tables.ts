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
