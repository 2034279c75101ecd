/**
 * The one place where commands print, which `deno lint` watches (`tools/lint/print_rules.ts`): a text of
 * others, such as a name, a problem, or the message of a Server or a proxy, cannot control the terminal.
 *
 * Escaping keeps line breaks. Where a line of others would pass as one of ours, the caller makes it one
 * line by `plain()`.
 *
 * @module
 */
import process from "node:process";
import { plain, plainLines, shorten } from "./terminal_text.ts";

/** Prints lines for people. */
export const print = (text: string): void => console.log(plainLines(text));

/** Prints lines for people to stderr. */
export const printError = (text: string): void =>
  console.error(plainLines(text));

/** A style that a view gives to a part of a line, and its end. */
// deno-lint-ignore no-control-regex -- the escape sequences are what this matches
const STYLE = /(\x1b\[\d{1,2}m)/;

/** Escapes lines that have styles of ours in them: all but those. */
export const plainStyled = (text: string): string =>
  text.split(STYLE).map((part, i) => i % 2 === 1 ? part : plainLines(part))
    .join("");

/** Prints lines with styles, such as tables of the shell. */
export const printStyled = (text: string): void =>
  console.log(plainStyled(text));

/** What `JSON.stringify()` leaves as it is though terminals obey it. */
const UNESCAPED = /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Escapes in JSON every character that could control a terminal; the value stays the same. */
export const plainJson = (json: string): string =>
  json.replaceAll(
    UNESCAPED,
    (character) => character.split("").map(escaped).join(""),
  );

const escaped = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Prints a value as JSON: the same value, on a terminal as well as for programs. */
export const printJson = (value: unknown, indent = 2): void =>
  console.log(plainJson(JSON.stringify(value, null, indent)));

/** Returns a text unchanged for programs, without control characters for a terminal. */
export const shown = (text: string): string =>
  process.stdout.isTTY ? plainLines(text) : text;

/** Prints what was asked for, with a line break: unchanged for programs. */
export const printContent = (text: string): void => console.log(shown(text));

/** Prints what was asked for: unchanged for programs, byte for byte. */
export function writeContent(text: string): void {
  if (process.stdout.isTTY) print(text);
  else process.stdout.write(text);
}

/** Erases a line of the terminal. */
const ERASE_LINE = "\r\x1b[2K";

/** Shows a text in the current line of stderr, which is a terminal, shortened to its width. */
export const drawStatus = (text: string, reservedColumns: number): void => {
  const columns = (process.stderr.columns ?? 80) - reservedColumns;
  process.stderr.write(`${ERASE_LINE}${shorten(plain(text), columns)}`);
};

/** Erases what {@linkcode drawStatus} has shown. */
export const clearStatus = (): void => void process.stderr.write(ERASE_LINE);

/** Resolves when all that was printed is with its reader, or that is gone. */
export async function printed(): Promise<void> {
  for (const output of [process.stdout, process.stderr]) {
    if (output.writableLength === 0) continue;
    await new Promise<void>((resolve) => output.write("", () => resolve()));
  }
}
