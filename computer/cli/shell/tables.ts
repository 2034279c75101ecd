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
  const lines = [
    head.map((title) => ({ lines: [title], style: "bold" as const })),
    ...cells.map((row) =>
      row.map(([text, style]) => ({
        lines: wrap(text, widest, () => false).split("\n"),
        style,
      }))
    ),
  ];
  return { coloured: framed(lines, colour) };
}

/** A cell whose text is wrapped. */
interface Cell {
  readonly lines: readonly string[];
  readonly style: Span[1] | undefined;
}

/** Draws lines around the rows, the first of which is the head. */
function framed(rows: readonly (readonly Cell[])[], colour: boolean): string {
  const [head = [], ...body] = rows;
  const widths = head.map((_, i) =>
    Math.max(...rows.flatMap((row) => (row[i]?.lines ?? []).map(textWidth)))
  );
  const rule = (left: string, middle: string, right: string) =>
    left + widths.map((width) => "─".repeat(width + 2)).join(middle) + right;
  const drawn = (row: readonly Cell[]) => {
    const height = Math.max(...row.map(({ lines }) => lines.length));
    return Array.from({ length: height }, (_, at) => {
      const parts = widths.map((width, i) => {
        const text = row[i]?.lines[at] ?? "";
        const space = " ".repeat(width - textWidth(text) + 1);
        return ` ${styled(text, row[i]?.style, colour)}${space}`;
      });
      return `│${parts.join("│")}│`;
    });
  };
  return [
    rule("┌", "┬", "┐"),
    ...drawn(head),
    ...(body.length > 0 ? [rule("├", "┼", "┤")] : []),
    ...body.flatMap(drawn),
    rule("└", "┴", "┘"),
  ].join("\n");
}

/** Returns the maximum width of a column so that all columns fit. */
function widestColumn(widths: readonly number[], room: number): number {
  const total = (most: number) =>
    widths.reduce((sum, width) => sum + Math.min(width, most), 0);
  let most = Math.max(0, ...widths);
  while (most > MIN_COLUMN_WIDTH && total(most) > room) most--;
  return most;
}
