import { plain } from "../../../cli/terminal_text.ts";

/** The nodes of a cluster that an answer of the operator API lacks. */
export interface MissingNodes {
  readonly unanswered?: readonly string[];
  readonly not_operated?: readonly string[];
}

/** Names nodes that an answer lacks, and what that means; nothing where all have answered. */
export function warnMissing(missing: MissingNodes, meaning: string): void {
  for (const said of missingNodes(missing)) {
    console.error(`warning: ${said}: ${meaning}`);
  }
}

/** Names nodes that an answer lacks: those without an answer, and those that operators cannot ask. */
export const missingNodes = (
  { unanswered = [], not_operated = [] }: MissingNodes,
): string[] => [
  ...named("no answer came from the node", unanswered),
  ...named(
    "operators cannot ask, because of --no-operator, the node",
    not_operated,
  ),
];

const named = (said: string, nodes: readonly string[]): string[] =>
  nodes.length === 0
    ? []
    : [`${said}${nodes.length > 1 ? "s" : ""} ${plain(nodes.join(", "))}`];
