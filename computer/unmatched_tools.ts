import type { MCPServerConfig } from "../protocol/mod.ts";
import { nearestWord } from "./config/nearest_word.ts";
import type { McpTool } from "./mcp/tool.ts";
import { aliasOf } from "./tool_naming.ts";

/**
 * Finds names in the configuration of an MCP server that none of its tools has: what is meant to
 * forbid a tool, or to have it confirmed, would do neither.
 *
 * @param tools what it lists
 * @returns one sentence for each name
 */
export function unmatchedTools(
  config: MCPServerConfig,
  tools: readonly Pick<McpTool, "name">[],
): string[] {
  const names = tools.map(({ name }) => name);
  const aliases = names.flatMap((name) => aliasOf({ config }, name) ?? []);
  return [
    ...unmatched("forbidden_tools", config.forbidden_tools, [
      ...names,
      ...aliases,
    ]),
    ...unmatched("tool_meta", Object.keys(config.tool_meta), names),
  ];
}

const unmatched = (
  field: string,
  entries: readonly string[],
  known: readonly string[],
): string[] =>
  [...new Set(entries)].filter((entry) => !known.includes(entry))
    .map((entry) => {
      const meant = nearestWord(entry, known);
      return `${field} names "${entry}", which is none of its tools; ${
        meant === undefined
          ? "correct or remove it"
          : `did you mean "${meant}"?`
      }`;
    });
