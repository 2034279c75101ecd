/** Formats a table with the first column left-aligned, and figures right-aligned. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, i) => i === 0 ? "---" : "--:");
  return [head, rule, ...rows].map(line).join("\n");
}

/** Formats a number with separated thousands, and a number of decimals. */
export const number = (value: number, digits = 0): string =>
  value.toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
