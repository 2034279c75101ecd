/** A table; the first column to the left, figures to the right. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, i) => i === 0 ? "---" : "--:");
  return [head, rule, ...rows].map(line).join("\n");
}

/** A whole number with its thousands apart, or with so many digits behind the point. */
export const number = (value: number, digits = 0): string =>
  value.toLocaleString("en", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
