import Table from "cli-table3";
import { plainLines, textWidth, wrap } from "../../../cli/terminal_text.ts";
import { type Span, styled } from "../live/paint.ts";

/** The look of a table. */
export interface TableLook {
  /** The maximum width. */
  readonly columns: number;
  /** Whether to use colours. */
  readonly colour: boolean;
}

/** Characters around each column: a line and two spaces. */
const COLUMN_PADDING = 3;
/** Minimum width of a column on a narrow terminal. */
const MIN_COLUMN_WIDTH = 8;

/** Output with colours, which is not escaped. */
export interface Drawing {
  /** One or more lines. */
  readonly coloured: string;
}

/** Draws a table; wraps the widest columns when it is too wide. */
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
  const room = columns - 1 - COLUMN_PADDING * widths.length;
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

/** Returns the maximum width of a column so that all columns fit. */
function widestColumn(widths: readonly number[], room: number): number {
  const total = (most: number) =>
    widths.reduce((sum, width) => sum + Math.min(width, most), 0);
  let most = Math.max(0, ...widths);
  while (most > MIN_COLUMN_WIDTH && total(most) > room) most--;
  return most;
}
