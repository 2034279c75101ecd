import type { SmcpComputer } from "../../computer.ts";
import type { AskInput } from "../../config/input_store.ts";
import type { ControlTarget } from "../../control/control.ts";
import type { ToolCallEnded } from "../../tools/events.ts";
import { readFile } from "node:fs/promises";
import { whyUnreadable } from "../../../cli/explain_failure.ts";
import { plainLines, textWidth, wrap } from "../../../cli/terminal_text.ts";
import { type Look, type Span, type Style, styled } from "../screen.ts";
import { reasonOf } from "../../util/values.ts";

/** The context of the shell's commands. */
export interface ShellContext {
  /** The Computer. */
  readonly computer: SmcpComputer;
  /** What commands do with its devices, rules and permissions. */
  readonly control: ControlTarget;
  /** Prints above the line that is being typed; `isStyled` where it has styles of ours, and nothing of others. */
  readonly note: (text: string, isStyled?: boolean) => void;
  /** Returns the current width and colours of tables. */
  readonly look: () => Look;
  /** The calls so far, the latest last. */
  readonly calls: readonly (ToolCallEnded & { readonly at: Date })[];
  /** Asks the user for the value of an input; absent without a terminal. */
  readonly askInput?: AskInput | undefined;
}

/** Commands of the shell by their usage, such as `server rm <name|id>`. */
export type ShellCommands = Readonly<Record<string, ShellCommand>>;

/** A command of the shell. */
export interface ShellCommand {
  /** The help, in one line. */
  readonly summary: string;
  /** Returns the possible arguments, for completion. */
  readonly values?: (context: ShellContext) => readonly string[];
  /**
   * Returns the part of the arguments that is kept in the history, as the rest may be secret; default:
   * all, but of JSON nothing.
   */
  readonly kept?: (rest: string) => string;
  /**
   * Runs the command; an error is shown as one line.
   *
   * @param rest the text after the words
   * @param signal aborted by Ctrl-C
   * @returns the output, in which control characters are escaped
   */
  readonly run: (
    rest: string,
    context: ShellContext,
    signal: AbortSignal,
  ) => Promise<Shown> | Shown;
}

/** The output of a command, one part below the other. */
export type Shown = string | Table | readonly (string | Table)[];

/** Rows below a head. */
export interface Table {
  /** Replaces a table without rows. */
  readonly none?: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | Span)[])[];
}

/** Returns the single word that a command expects. */
export function oneWord(rest: string, what: string): string {
  if (/^\S+$/.test(rest)) return rest;
  throw new Error(
    rest === ""
      ? `${what} is missing`
      : `expected one word, ${what}, and nothing more`,
  );
}

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
        ? `${text.slice(1)} is not JSON`
        : 'invalid JSON; write it in one line, such as {"name": "value"}, or @FILE',
    );
  }
}

const fileText = (file: string): Promise<string> =>
  readFile(file, "utf8").catch((error) => {
    const why = whyUnreadable(error) ?? reasonOf(error);
    throw new Error(`cannot read ${file}: ${why}`);
  });

/** Characters around each column: a line and two spaces. */
const COLUMN_PADDING = 3;
/** Minimum width of a column on a narrow terminal. */
const MIN_COLUMN_WIDTH = 8;

/** A cell whose text is wrapped. */
interface Cell {
  readonly lines: readonly string[];
  readonly style: Style | undefined;
}

/** Draws a table; wraps the widest columns when it is too wide. */
export function drawTable(
  { head, rows }: Table,
  { columns, colour }: Look,
): string {
  const wrappedAt = (width: number): Cell[][] => [
    head.map((title) => ({ lines: [title], style: "bold" })),
    ...rows.map((row) =>
      row.map((cell) => {
        const [text, style] = typeof cell === "string" ? [cell] : cell;
        const lines = wrap(plainLines(text), width, () => false).split("\n");
        return { lines, style };
      })
    ),
  ];
  const room = columns - 1 - COLUMN_PADDING * head.length;
  const cells = wrappedAt(
    widestColumn(columnWidths(wrappedAt(Infinity)), room),
  );
  const widths = columnWidths(cells);
  const rule = (left: string, middle: string, right: string) =>
    left + widths.map((width) => "─".repeat(width + 2)).join(middle) + right;
  const drawn = (row: readonly Cell[]) => {
    const height = Math.max(...row.map(({ lines }) => lines.length));
    return Array.from({ length: height }, (_, at) => {
      const parts = row.map(({ lines, style }, i) => {
        const text = lines[at] ?? "";
        const space = " ".repeat((widths[i] ?? 0) - textWidth(text) + 1);
        return ` ${styled(text, style, colour)}${space}`;
      });
      return `│${parts.join("│")}│`;
    });
  };
  const [titles = [], ...body] = cells.map(drawn);
  return [
    rule("┌", "┬", "┐"),
    ...titles,
    ...body.length > 0 ? [rule("├", "┼", "┤")] : [],
    ...body.flat(),
    rule("└", "┴", "┘"),
  ].join("\n");
}

const columnWidths = (rows: readonly (readonly Cell[])[]): number[] =>
  (rows[0] ?? []).map((_, i) =>
    Math.max(...rows.flatMap((row) => (row[i]?.lines ?? []).map(textWidth)))
  );

/** Returns the maximum width of a column so that all columns fit. */
function widestColumn(widths: readonly number[], room: number): number {
  const total = (most: number) =>
    widths.reduce((sum, width) => sum + Math.min(width, most), 0);
  let most = Math.max(0, ...widths);
  while (most > MIN_COLUMN_WIDTH && total(most) > room) most--;
  return most;
}
