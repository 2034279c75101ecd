import { plain, wrap } from "../../../cli/terminal_text.ts";
import type { ConfirmRequest } from "../../tools/confirmations.ts";

/** The size of a terminal. */
export interface Size {
  /** Its width. */
  readonly columns: number;
  /** Its height. */
  readonly rows: number;
}

/** Returns the size of a terminal; 80 × 24 if unknown. */
export const sizeOf = (output: Partial<Size>): Size => ({
  columns: output.columns ?? 80,
  rows: output.rows ?? 24,
});

const FRAME_COLUMNS = 4;
/** Rows of the frame and the answers. */
const FRAME_ROWS = 9;

/**
 * Formats the question whether a tool may run: tool, server, arguments (spec §7.3). Control
 * characters are escaped.
 *
 * Arguments are truncated so that the answers below them stay visible.
 */
export function describeCall(
  { agent, operator, server, bundleId, tool, name, params }: ConfirmRequest,
  { columns, rows }: Size = { columns: 80, rows: 24 },
): string {
  const alias = name === tool ? "" : ` (its name there: ${quote(tool)})`;
  const id = bundleId === undefined ? "" : ` (${plain(bundleId)})`;
  const caller = operator === undefined
    ? `Agent ${quote(agent)}`
    : `An operator of the Server (${plain(operator)})`;
  const head = `${caller} wants to run ${quote(name)} of MCP server ${
    quote(server)
  }${id}${alias}`;
  const args = Object.entries(params).map(([key, value]) =>
    `  ${plain(key)}: ${plain(JSON.stringify(value) ?? "")}`
  );
  const width = columns - FRAME_COLUMNS;
  const room = rows - FRAME_ROWS - wrap(head, width).split("\n").length;
  return [
    head,
    ...args.length === 0
      ? ["  no arguments"]
      : cut(args.join("\n"), width, Math.max(1, room)),
  ].join("\n");
}

const quote = (text: string): string => `"${plain(text)}"`;

/** Wraps a text, and leaves out what does not fit. */
export function cut(text: string, width: number, room: number): string[] {
  const seen = text.slice(0, width * room);
  const lines = wrap(seen, width, () => false).split("\n");
  if (lines.length <= room && seen === text) return lines;
  const kept = lines.slice(0, room - 1);
  const count = kept.reduce((sum, line) => sum + line.trim().length + 1, 0);
  return [...kept, `  … and ${text.length - count} more characters`];
}
