import type { ServerConfig } from "./server_config.ts";
import { reasonOf } from "../util/values.ts";
import { checkVrl } from "../util/vrl.ts";
import { placeholderIds } from "../util/inputs.ts";
import type { ConfigPath, ConfigProblem } from "./problem.ts";

/**
 * Compiles the VRL programs of MCP servers (spec §7.9).
 *
 * @param places of the servers in their file
 * @returns one problem with the compiler's message for each program that does not compile
 */
export async function vrlProblems(
  servers: readonly ServerConfig[],
  places: ReadonlyMap<string, ConfigPath>,
): Promise<ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  for (const { name, vrl } of servers) {
    // With a placeholder it is compiled when the server starts, after substitution.
    if (placeholderIds(vrl).length > 0) continue;
    try {
      await checkVrl(vrl);
    } catch (error) {
      problems.push({
        path: [...places.get(name) ?? [], "vrl"],
        text: reasonOf(error),
      });
    }
  }
  return problems;
}
