import type { AskedInput } from "../config/input_store.ts";
import { plain, plainLines, wrap } from "../../cli/terminal_text.ts";
import type { ConfirmAnswer, ConfirmRequest } from "../tools/confirmations.ts";
import type { ElicitRequest } from "../tools/elicitations.ts";
import type { Field } from "../tools/form.ts";
import type { Size } from "./screen.ts";

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
  const caller = operator === undefined
    ? `Agent ${quote(agent)}`
    : `An operator of the Server (${plain(operator)})`;
  const where = named(server, bundleId);
  const head = `${caller} wants to run ${
    quote(name)
  } of MCP server ${where}${alias}`;
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

const named = (server: string, bundleId: string | undefined): string =>
  bundleId === undefined
    ? quote(server)
    : `${quote(server)} (${plain(bundleId)})`;

/** Wraps a text, and leaves out what does not fit. */
function cut(text: string, width: number, room: number): string[] {
  const seen = text.slice(0, width * room);
  const lines = wrap(seen, width, () => false).split("\n");
  if (lines.length <= room && seen === text) return lines;
  const kept = lines.slice(0, room - 1);
  const count = kept.reduce((sum, line) => sum + line.trim().length + 1, 0);
  return [...kept, `  … and ${text.length - count} more characters`];
}

/** Whether a person wants to answer, from top to bottom. */
export const WILLING_CHOICES: readonly Choice<"accept" | "decline">[] = [
  { answer: "accept", key: "y", label: "Answer" },
  { answer: "decline", key: "n", label: "Decline" },
];

/** Formats what an MCP server wants to know: who asks, its text, and the fields; cut to the size. */
export function describeQuestion(
  { server, bundleId, agent, operator, tool, message }: ElicitRequest,
  fields: readonly Field[],
  { columns, rows }: Size,
): string[] {
  const caller = operator === undefined
    ? `agent ${quote(agent ?? "")}`
    : `an operator of the Server (${plain(operator)})`;
  const call = agent === undefined || tool === undefined
    ? ""
    : ` while ${caller} runs ${quote(tool)}`;
  const labels = fields.map(({ label }) => plain(label)).join(", ");
  const text = plainLines(message).split("\n").map((line) => `  ${line}`);
  return [
    `MCP server ${named(server, bundleId)} asks${call}:`,
    ...cut(
      text.join("\n"),
      columns - FRAME_COLUMNS,
      Math.max(1, rows - FRAME_ROWS),
    ),
    ...(labels === "" ? [] : cut(`  It wants: ${labels}`, columns, 1)),
  ];
}

/** An answer to choose. */
export interface Choice<A extends string = ConfirmAnswer> {
  /** The answer. */
  readonly answer: A;
  /** The key that chooses it. */
  readonly key: string;
  /** The text shown for it. */
  readonly label: string;
}

/** The answers to the question whether a tool may run, from top to bottom. */
export const CHOICES: readonly Choice[] = [
  { answer: "once", key: "y", label: "Yes, this once" },
  { answer: "always", key: "a", label: "Always for this tool" },
  { answer: "no", key: "n", label: "No" },
];

/** Describes the input that is asked for. */
export const messageOf = ({ id, description }: AskedInput): string =>
  `${plain(description || "Value")} (input "${plain(id)}")`;
