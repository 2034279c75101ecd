import type { SmcpComputer } from "../../computer.ts";
import type { AskInput } from "../../config/input_store.ts";
import type { ToolCallEnded } from "../../tools/events.ts";
import { readFile } from "node:fs/promises";
import { plainLines, textWidth, wrap } from "../../../cli/terminal_text.ts";
import { type Look, type Span, styled } from "../screen.ts";
import { reasonOf } from "../../util/values.ts";

/** The context of the shell's commands. */
export interface ShellContext {
  /** The Computer. */
  readonly computer: SmcpComputer;
  /** Returns the current width and colours of tables. */
  readonly look: () => Look;
  /** The calls so far, the latest last. */
  readonly calls: readonly (ToolCallEnded & { readonly at: Date })[];
  /** Asks the user for the value of an input; absent without a terminal. */
  readonly askInput?: AskInput | undefined;
}

/** A command of the shell. */
export interface ShellCommand {
  /** The words of the command, such as `server add`. */
  readonly words: readonly string[];
  /** The arguments, such as `<name>|all`. */
  readonly args?: string;
  /** The help, in one line. */
  readonly summary: string;
  /** Returns the possible arguments, for completion. */
  readonly values?: (context: ShellContext) => readonly string[];
  /** Returns the part of the arguments that is kept in the history, as the rest may be secret; default: all. */
  readonly kept?: (rest: string) => string;
  /**
   * Runs the command; an error is shown as one line.
   *
   * @param rest the text after the words
   * @param signal aborted by Ctrl-C
   * @returns the output; control characters are removed from text, but not from drawings
   */
  readonly run: (
    rest: string,
    context: ShellContext,
    signal: AbortSignal,
  ) => Promise<Shown> | Shown;
}

/** The output of a command, one part below the other. */
export type Shown = string | Drawing | readonly (string | Drawing)[];

/** Returns the usage of a command. */
export const usageOf = ({ words, args }: ShellCommand): string =>
  [...words, ...args === undefined ? [] : [args]].join(" ");

/** Returns the single word that a command expects. */
export function oneWord(rest: string, what: string): string {
  if (/^\S+$/.test(rest)) return rest;
  throw new Error(
    rest === ""
      ? `${what} is missing`
      : `expected one word, ${what}, and nothing more`,
  );
}

/** Keeps the name of a file, but no JSON; for {@linkcode ShellCommand.kept}. */
export const keptFile = (rest: string): string =>
  rest.startsWith("@") ? rest : "";

/** Formats JSON for reading. */
export const pretty = (value: unknown): string =>
  JSON.stringify(value, null, 2);

/**
 * Parses the `<json|@file>` argument of a command.
 *
 * @throws {Error} that describes the problem without quoting the text, as it may contain secrets
 */
export async function jsonArgument(text: string): Promise<unknown> {
  if (text === "") throw new Error("expected JSON, or @FILE that holds it");
  const json = text.startsWith("@") ? await fileText(text.slice(1)) : text;
  try {
    return JSON.parse(json);
  } catch {
    throw new Error(
      text.startsWith("@")
        ? `what is in ${text.slice(1)} is not JSON`
        : 'that is not JSON; write it in one line, such as {"name": "value"}, or @FILE',
    );
  }
}

async function fileText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const missing = error instanceof Error && "code" in error &&
      error.code === "ENOENT";
    throw new Error(
      `cannot read ${file}: ${
        missing ? "there is no such file" : reasonOf(error)
      }`,
    );
  }
}

/** Characters around each column: a line and two spaces. */
const COLUMN_PADDING = 3;
/** Minimum width of a column on a narrow terminal. */
const MIN_COLUMN_WIDTH = 8;

/** Output with colours, which is not escaped. */
interface Drawing {
  /** One or more lines. */
  readonly coloured: string;
}

/** A row of a table. */
type Row = readonly (string | Span)[];

/** Lists rows in a table below a head; without rows, returns the text for none. */
export const listed = (
  none: string,
  head: readonly string[],
  rows: readonly Row[],
  { look }: ShellContext,
): string | Drawing => rows.length === 0 ? none : drawTable(head, rows, look());

/** Draws a table; wraps the widest columns when it is too wide. */
export function drawTable(
  head: readonly string[],
  rows: readonly Row[],
  { columns, colour }: Look,
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
