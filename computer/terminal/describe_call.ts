import { plain } from "../../protocol/cli/terminal_text.ts";
import type { ConfirmRequest } from "../confirm.ts";

/** Characters of arguments that a question shows. */
const SHOWN = 2_000;

/** The question whether a tool may run: tool, server, arguments (spec §7.3); nothing in it acts on a terminal. */
export function describeCall(
  { agent, server, tool, name, params }: ConfirmRequest,
): string {
  const alias = name === tool ? "" : ` (its name there: ${quote(tool)})`;
  const args = Object.entries(params).map(([key, value]) =>
    `  ${plain(key)}: ${plain(JSON.stringify(value) ?? "")}`
  );
  return [
    `Agent ${quote(agent)} wants to run ${quote(name)} of MCP server ${
      quote(server)
    }${alias}`,
    ...shorten(args.length === 0 ? ["  without arguments"] : args),
  ].join("\n");
}

const quote = (text: string): string => `"${plain(text)}"`;

function shorten(lines: readonly string[]): string[] {
  const text = lines.join("\n");
  return text.length <= SHOWN ? [...lines] : [
    text.slice(0, SHOWN),
    `  … and ${text.length - SHOWN} characters more`,
  ];
}
