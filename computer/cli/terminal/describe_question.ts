import { plain, plainLines } from "../../../cli/terminal_text.ts";
import type { ElicitRequest } from "../../tools/elicitations.ts";
import type { Field } from "../../tools/form.ts";
import type { Choice } from "./answer_of.ts";
import { cut, type Size } from "./describe_call.ts";

/** Whether a person wants to answer. */
export type Willing = "answer" | "decline";

/** The answers to that, from top to bottom. */
export const WILLING_CHOICES: readonly Choice<Willing>[] = [
  { answer: "answer", key: "y", label: "Answer" },
  { answer: "decline", key: "n", label: "Decline" },
];

/** Lines of the frame, the first line and the answers. */
const FRAME_ROWS = 9;
const FRAME_COLUMNS = 4;

/** Formats what an MCP server wants to know: who asks, its text, and the fields; cut to the size. */
export function describeQuestion(
  { server, bundleId, agent, operator, tool, message }: ElicitRequest,
  fields: readonly Field[],
  { columns, rows }: Size,
): string[] {
  const call = agent === undefined || tool === undefined
    ? ""
    : ` while ${
      operator === undefined
        ? `agent "${plain(agent)}"`
        : `an operator of the Server (${plain(operator)})`
    } runs "${plain(tool)}"`;
  const labels = fields.map(({ label }) => plain(label)).join(", ");
  const text = plainLines(message).split("\n").map((line) => `  ${line}`);
  return [
    `MCP server "${plain(server)}"${
      bundleId === undefined ? "" : ` (${plain(bundleId)})`
    } asks${call}:`,
    ...cut(
      text.join("\n"),
      columns - FRAME_COLUMNS,
      Math.max(1, rows - FRAME_ROWS),
    ),
    ...(labels === "" ? [] : cut(`  It wants: ${labels}`, columns, 1)),
  ];
}
