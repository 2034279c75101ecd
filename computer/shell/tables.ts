import Table from "cli-table3";
import { plain, shorten, textWidth } from "../../protocol/cli/terminal_text.ts";

/**
 * Draws a table; the last column is shortened where it is too wide.
 *
 * @param columns how wide it may be
 */
export function drawTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns: number,
): string {
  const cells = rows.map((row) => row.map(plain));
  const last = head.length - 1;
  const taken = head.slice(0, last).reduce(
    (sum, title, i) =>
      sum +
      Math.max(
        textWidth(title),
        ...cells.map((row) => textWidth(row[i] ?? "")),
      ) + 3,
    4,
  );
  const room = Math.max(8, columns - taken);
  const table = new Table({
    head: [...head],
    style: { head: [], border: [], compact: true }, // no colours
  });
  for (const row of cells) {
    table.push(row.map((cell, i) => i === last ? shorten(cell, room) : cell));
  }
  return table.toString();
}
