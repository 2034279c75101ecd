import type { MCPServerConfig } from "../../protocol/mod.ts";
import { reasonOf } from "../util/values.ts";
import { checkVrl } from "../vrl/vrl_compiler.ts";
import type { ConfigPath, ConfigProblem } from "./problem.ts";

/**
 * Compiles the VRL programs of MCP servers (spec §7.9).
 *
 * @param places where each server stands in its file
 * @returns one problem for each that does not compile, with the compiler's own message
 */
export async function vrlProblems(
  servers: readonly MCPServerConfig[],
  places: ReadonlyMap<string, ConfigPath>,
): Promise<ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  for (const { name, vrl } of servers) {
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
