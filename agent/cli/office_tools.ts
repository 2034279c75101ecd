import { abortable } from "../../shared/async.ts";
import { explainFailure } from "../../cli/explain_failure.ts";
import { plain } from "../../cli/terminal_text.ts";
import type { SMCPTool } from "../../protocol/mod.ts";
import type { SmcpAgent } from "../agent.ts";

/**
 * Returns the tools of every Computer in the office; prints one line to stderr for each failure.
 *
 * Call it right after the join, so that no failure is missed.
 *
 * @throws {Error} the last of those lines, when there is no Computer whose tools are known
 */
export async function officeTools(
  agent: SmcpAgent,
  signal: AbortSignal,
): Promise<Map<string, readonly SMCPTool[]>> {
  const failed = new Map<string, unknown>();
  agent.on("tools", ({ computer }) => failed.delete(computer));
  agent.on("toolsFailed", ({ computer, error }) => {
    failed.set(computer, error);
  });
  await abortable(agent.toolsSettled(), signal);
  const problems = [...failed].map(([computer, error]) =>
    plain(`Cannot get the tools of "${computer}": ${explainFailure(error)}`)
  );
  const fatal = agent.tools.size === 0 ? problems.pop() : undefined;
  problems.forEach((line) => console.error(line));
  if (fatal !== undefined) throw new Error(fatal);
  return new Map(agent.tools); // a copy: the catalogue is cleared when the agent leaves
}
