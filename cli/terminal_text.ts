import type { ToolProgress } from "../protocol/mod.ts";
import { plainText } from "../shared/shown_text.ts";

/** Characters without a width of their own. */
const NARROWEST = /^[\p{Mn}\p{Me}\p{Cc}\p{Cf}]$/u;
/**
 * Characters of two columns: East Asian ones, with those that Unicode 16 made wide, and emoji, with the
 * places that it keeps for further ones; each of the two characters of a flag has one.
 */
const WIDE =
  /^(?:[\u1100-\u115f\u2329\u232a\u2630-\u2637\u268a-\u268f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f2ff}\u{1f6d0}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]|(?!\p{RI})\p{Emoji_Presentation})$/u;
/** Makes a picture of the character before it, of two columns on some terminals. */
const PICTURED = "\ufe0f";

/** Replaces what is invisible or acts by its name, so that a text cannot control the terminal. */
export const plain = (text: string): string => plainText(text);

/** What is not simply shown in a text of several lines; most have nothing of it. */
const UNPRINTED = /[^ -~\n\t]/;

/** The same for a text of several lines. */
export const plainLines = (text: string): string =>
  UNPRINTED.test(text)
    ? plainText(text.replaceAll("\r\n", "\n"), "\n\t")
    : text;

/** Returns the width of a text without escape sequences in columns. */
export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Checks whether a text has at most a number of columns; does not look at more than that. */
function fits(text: string, columns: number): boolean {
  let width = 0;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns) return false;
  }
  return true;
}

/** Shortens a text to a number of columns, with `…` at its end. */
export function shorten(text: string, columns: number): string {
  if (fits(text, columns)) return text;
  return columns > 0 ? `${startOf(text, columns - 1)}…` : "";
}

/** Returns the beginning of a text that has at most a number of columns. */
export const startOf = (text: string, columns: number): string =>
  text.slice(0, filledAt(text, 0, columns));

/** Returns the end of a text that has at most a number of columns. */
export function endOf(text: string, columns: number): string {
  let left = textWidth(text);
  let from = 0;
  let joins = false;
  for (const character of text) {
    if (left <= columns && !joins && !ATTACHED.test(character)) break;
    left -= characterWidth(character);
    from += character.length;
    joins = JOINERS.includes(character);
  }
  return text.slice(from);
}

/**
 * Returns where a text has filled a number of columns.
 *
 * What belongs to a letter or is joined to it stays with it: alone it would be shown by its name.
 *
 * @param from where it begins
 */
export function filledAt(text: string, from: number, columns: number): number {
  let width = 0;
  let letter = from;
  let joins = false;
  for (let at = from; at < text.length;) {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    if (!joins && !ATTACHED.test(character)) letter = at;
    width += characterWidth(character);
    if (width > columns) return letter;
    at += character.length;
    joins = JOINERS.includes(character);
  }
  return text.length;
}

/** Marks, tags and joiners. */
const ATTACHED = /^[\p{M}\p{Cf}]$/u;
const JOINERS = "\u200c\u200d";

/** A column has at most so many units of a text in {@linkcode plain} form: letters with marks, emoji. */
export const UNITS_PER_COLUMN = 32;

/** Shows as much of a text as has room in a number of columns, on one line; looks at little more. */
export function brief(text: string, columns: number): string {
  const most = UNITS_PER_COLUMN * (columns + 1);
  return text.length <= most
    ? shorten(plain(text), columns)
    : shorten(`${plain(text.slice(0, most))}…`, columns);
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
): string => [...wrappedLines(text, columns, stays)].join("\n");

/** Yields the lines of {@linkcode wrap} one by one, so that what is not shown is not laid out. */
export function* wrappedLines(
  text: string,
  columns: number,
  stays: (word: string) => boolean = isUrl,
): Generator<string> {
  for (const line of partsOf(text, "\n")) yield* wrapLine(line, columns, stays);
}

const isUrl = (word: string): boolean => word.includes("://");

/** Yields the parts of a text between separators. */
function* partsOf(text: string, separator: string): Generator<string> {
  let from = 0;
  for (;;) {
    const end = text.indexOf(separator, from);
    if (end < 0) break;
    yield text.slice(from, end);
    from = end + separator.length;
  }
  yield text.slice(from);
}

/** Passes a line once: the width of what is written so far is kept, not measured again. */
function* wrapLine(
  line: string,
  columns: number,
  stays: (word: string) => boolean,
): Generator<string> {
  if (fits(line, columns)) {
    yield line;
    return;
  }
  const [indent = ""] = /^ */.exec(line) ?? [];
  const further = `${indent}  `;
  let current = indent;
  let width = indent.length;
  let begun = false;
  for (const word of partsOf(line.trim(), " ")) {
    const isKept = stays(word);
    const isWhole = isKept || fits(word, columns - further.length);
    const space = begun ? " " : "";
    if (begun && isWhole && !fits(word, columns - width - 1)) {
      yield current;
      current = further;
      width = further.length;
      begun = false;
    } else {
      current += space;
      width += space.length;
    }
    for (const part of isKept ? [word] : word) {
      const more = textWidth(part);
      if (begun && width + more > columns) {
        yield current;
        current = further;
        width = further.length;
      }
      current += part;
      width += more;
      begun = true;
    }
  }
  yield current;
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

/** Returns the width of a character; where terminals differ, the larger one. */
export const characterWidth = (character: string): number => {
  if (character >= " " && character <= "~" || character === PICTURED) return 1;
  return NARROWEST.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
};

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
