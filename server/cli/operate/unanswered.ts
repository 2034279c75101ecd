import { plain } from "../../../cli/terminal_text.ts";

/** Names nodes of a cluster without an answer, and what that means; nothing where all have answered. */
export function warnUnanswered(
  nodes: readonly string[] | undefined,
  meaning: string,
): void {
  if (nodes === undefined) return;
  console.error(`warning: ${unanswered(nodes)}: ${meaning}`);
}

/** Names nodes of a cluster without an answer. */
export const unanswered = (nodes: readonly string[]): string =>
  `no answer came from the node${nodes.length > 1 ? "s" : ""} ${
    plain(nodes.join(", "))
  }`;
