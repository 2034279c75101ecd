import Table from "cli-table3";
import { plainLines, textWidth, wrap } from "../../../cli/terminal_text.ts";
import { type Span, styled } from "../live/paint.ts";

/** How a table may look. */
export interface TableLook {
  /** Its greatest width. */
  readonly columns: number;
  /** Whether it has colours. */
  readonly colour: boolean;
}

/** Columns that a table takes for each of its own: a line and two spaces. */
const FRAME = 3;
/** What a column keeps however narrow the terminal is. */
const LEAST = 8;

/** What is shown as it is, with its colours. */
export interface Drawing {
  /** One or more lines. */
  readonly coloured: string;
}

/** Draws a table; where it is too wide, its widest columns have several lines in a cell. */
export function drawTable(
  head: readonly string[],
  rows: readonly (readonly (string | Span)[])[],
  { columns, colour }: TableLook,
): Drawing {
  const cells = rows.map((row) =>
    row.map((cell) => {
      const [text, style] = typeof cell === "string" ? [cell] : cell;
      return [plainLines(text), style] as const;
    })
  );
  const widths = head.map((title, i) =>
    Math.max(
      textWidth(title),
      ...cells.flatMap((row) => (row[i]?.[0] ?? "").split("\n").map(textWidth)),
    )
  );
  const room = columns - 1 - FRAME * widths.length;
  const widest = widestColumn(widths, room);
  const table = new Table({
    head: head.map((title) => styled(title, "bold", colour)),
    style: { head: [], border: [], compact: true }, // no colours of its own
  });
  for (const row of cells) {
    table.push(
      row.map(([text, style]) =>
        wrap(text, widest, () => false).split("\n")
          .map((line) => styled(line, style, colour)).join("\n")
      ),
    );
  }
  return { coloured: table.toString() };
}

/** The greatest width that a column may have so that all of them fit. */
function widestColumn(widths: readonly number[], room: number): number {
  const total = (most: number) =>
    widths.reduce((sum, width) => sum + Math.min(width, most), 0);
  let most = Math.max(0, ...widths);
  while (most > LEAST && total(most) > room) most--;
  return most;
}
