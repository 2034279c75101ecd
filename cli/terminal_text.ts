import type { ToolProgress } from "../protocol/mod.ts";

/** Characters that could move the cursor, colour the text or reorder it. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** The same without line breaks and tabs. */
const UNSEEN_IN_LINES = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Characters without a width of their own. */
const NARROWEST = /^[\p{Mn}\p{Me}\p{Cc}\p{Cf}]$/u;
/** Characters of two columns: East Asian ones and emoji; each of the two characters of a flag has one. */
const WIDE =
  /^(?:[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|(?!\p{RI})\p{Emoji_Presentation})$/u;

/** Replaces invisible characters by their codes, so that a text cannot control the terminal. */
export const plain = (text: string): string => text.replaceAll(UNSEEN, codeOf);

/** The same for a text of several lines. */
export const plainLines = (text: string): string =>
  text.replaceAll("\r\n", "\n").replaceAll(UNSEEN_IN_LINES, codeOf);

const codeOf = (c: string): string => `\\u{${c.codePointAt(0)?.toString(16)}}`;

/** Returns the width of a text without escape sequences in columns. */
export const textWidth = (text: string): number =>
  [...text].reduce((width, each) => width + characterWidth(each), 0);

/** Shortens a text to a number of columns, with `…` at its end. */
export function shorten(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let width = 0;
  let kept = "";
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns - 1) break;
    kept += character;
  }
  return columns > 0 ? `${kept}…` : "";
}

/**
 * Wraps the lines of a text at a number of columns; continuation lines are indented by two more.
 *
 * Breaks words that are longer than a line.
 *
 * @param stays selects words that are never broken; default: URLs, which are copied
 */
export const wrap = (
  text: string,
  columns: number,
  stays: (word: string) => boolean = isUrl,
): string =>
  text.split("\n").flatMap((line) => wrapLine(line, columns, stays)).join("\n");

const isUrl = (word: string): boolean => word.includes("://");

function wrapLine(
  line: string,
  columns: number,
  stays: (word: string) => boolean,
): string[] {
  if (textWidth(line) <= columns) return [line];
  const [indent = ""] = /^ */.exec(line) ?? [];
  const lines: string[] = [];
  let current = indent;
  let begun = false;
  const next = () => {
    lines.push(current);
    current = `${indent}  `;
    begun = false;
  };
  for (const word of line.trim().split(" ")) {
    const whole = stays(word) ||
      textWidth(`${indent}  ${word}`) <= columns;
    const spaced = begun ? `${current} ` : current;
    if (begun && whole && textWidth(spaced + word) > columns) next();
    else current = spaced;
    for (const part of stays(word) ? [word] : word) {
      if (begun && textWidth(current + part) > columns) next();
      current += part;
      begun = true;
    }
  }
  return [...lines, current];
}

/** Pads a text with spaces to a number of columns. */
export const pad = (text: string, columns: number): string =>
  text + " ".repeat(Math.max(0, columns - textWidth(text)));

/**
 * Aligns rows of cells in columns, two spaces apart.
 *
 * @returns a line for each row, without spaces at its end
 */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const seen = rows.map((row) => row.map(plain));
  const widths: number[] = [];
  for (const row of seen) {
    row.forEach((cell, i) =>
      widths[i] = Math.max(widths[i] ?? 0, textWidth(cell))
    );
  }
  return seen.map((row) =>
    row.map((cell, i) => pad(cell, widths[i] ?? 0)).join("  ").trimEnd()
  );
}

const characterWidth = (character: string): number =>
  NARROWEST.test(character) ? 0 : WIDE.test(character) ? 2 : 1;

/** Describes how far a tool call is, such as `3/5 reading files`, for a terminal. */
export function progressText(
  { progress, total, message, waiting }: ToolProgress,
): string {
  if (waiting !== undefined) return message ?? "";
  const done = total === undefined
    ? short(progress)
    : `${short(progress)}/${short(total)}`;
  return message === undefined || message === "" ? done : `${done} ${message}`;
}

/** Two decimals are enough to see a fraction move. */
const short = (value: number): string =>
  Number.isInteger(value) ? String(value) : String(Number(value.toFixed(2)));
