import { loadPackages } from "../../../shared/packages.ts";
import type { Look } from "../screen.ts";

/** The light modules around it; readers ask for four, and do with two. */
const BORDER = 2;
const BLACK_ON_WHITE = "\x1b[30m\x1b[47m";
const RESET = "\x1b[0m";

/**
 * Draws a text as a QR code, two rows of modules a line.
 *
 * With colours it is black on white, whatever the terminal's are; without, its light modules are drawn, as
 * most terminals are dark.
 *
 * @returns undefined where the terminal is too small
 */
export async function qrCode(
  text: string,
  { columns, rows, colour }: Look & { readonly rows: number },
): Promise<string | undefined> {
  const { encode } = await loadPackages(
    "draw the QR code",
    ["uqr"],
    () => import("uqr"),
  );
  const { data, size } = encode(text, { ecc: "L", border: BORDER });
  if (size > columns || Math.ceil(size / 2) > rows) return undefined;
  const isDrawn = (row: number, column: number): boolean =>
    (data[row]?.[column] ?? false) === colour;
  const lines: string[] = [];
  for (let row = 0; row < size; row += 2) {
    let line = "";
    for (let column = 0; column < size; column++) {
      const upper = isDrawn(row, column);
      const lower = row + 1 < size ? isDrawn(row + 1, column) : upper;
      line += upper ? lower ? "█" : "▀" : lower ? "▄" : " ";
    }
    lines.push(colour ? `${BLACK_ON_WHITE}${line}${RESET}` : line);
  }
  return lines.join("\n");
}
