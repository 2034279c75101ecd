/** Formats a table as aligned text, the first column to the left, figures to the right. */
export function textTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const all = [head, ...rows];
  const widths = head.map((_, i) =>
    Math.max(...all.map((cells) => cells[i]?.length ?? 0))
  );
  return all.map((cells) =>
    cells.map((cell, i) =>
      i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)
    ).join("  ").trimEnd()
  ).join("\n");
}

/** Puts a text table on a page. */
export const block = (table: string): string => `\`\`\`text\n${table}\n\`\`\``;

/** Formats a number with separated thousands, and a number of decimals. */
export const number = (value: number, digits = 0): string =>
  value.toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
