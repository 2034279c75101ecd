import { plain, wrap } from "../../../cli/terminal_text.ts";
import type { ConfirmRequest } from "../../tools/confirm.ts";

/** The size of a terminal. */
export interface Size {
  /** Its width. */
  readonly columns: number;
  /** Its height. */
  readonly rows: number;
}

/** How large a terminal is; as most are where it does not say. */
export const sizeOf = (output: Partial<Size>): Size => ({
  columns: output.columns ?? 80,
  rows: output.rows ?? 24,
});

/** Columns that the frame of a question takes. */
const FRAME = 4;
/** Rows that it takes, with the answers to choose from. */
const AROUND = 9;

/**
 * The question whether a tool may run: tool, server, arguments (spec §7.3); nothing in it acts on
 * a terminal.
 *
 * Arguments are shown as far as the answers can still be seen below them.
 */
export function describeCall(
  { agent, server, tool, name, params }: ConfirmRequest,
  { columns, rows }: Size = { columns: 80, rows: 24 },
): string {
  const alias = name === tool ? "" : ` (its name there: ${quote(tool)})`;
  const head = `Agent ${quote(agent)} wants to run ${
    quote(name)
  } of MCP server ${quote(server)}${alias}`;
  const args = Object.entries(params).map(([key, value]) =>
    `  ${plain(key)}: ${plain(JSON.stringify(value) ?? "")}`
  );
  const width = columns - FRAME;
  const room = rows - AROUND - wrap(head, width).split("\n").length;
  return [
    head,
    ...args.length === 0
      ? ["  without arguments"]
      : cut(args.join("\n"), width, Math.max(1, room)),
  ].join("\n");
}

const quote = (text: string): string => `"${plain(text)}"`;

function cut(text: string, width: number, room: number): string[] {
  const seen = text.slice(0, width * room);
  const lines = wrap(seen, width, () => false).split("\n");
  if (lines.length <= room && seen === text) return lines;
  const kept = lines.slice(0, room - 1);
  const count = kept.reduce((sum, line) => sum + line.trim().length + 1, 0);
  return [...kept, `  … and ${text.length - count} characters more`];
}
