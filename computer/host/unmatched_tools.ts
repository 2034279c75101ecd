import type { ServerConfig } from "../config/server_config.ts";
import { nearestWord } from "../config/nearest_word.ts";
import { longNames } from "./long_names.ts";
import type { McpTool } from "./mcp/tool.ts";
import { prefixOf, toolName } from "./tool_naming.ts";

/** Finds mismatches between the configuration of an MCP server and its tools. */
export const toolMismatches = (
  config: ServerConfig,
  tools: readonly McpTool[],
): string[] => [
  ...unmatchedTools(config, tools),
  ...longNames(config, tools).problems,
];

/**
 * Finds names in the configuration of an MCP server that match none of its tools: such an entry
 * neither forbids a tool nor changes its confirmation.
 *
 * @param tools the tools it lists
 * @returns one sentence for each name
 */
export function unmatchedTools(
  config: ServerConfig,
  tools: readonly Pick<McpTool, "name">[],
): string[] {
  const names = tools.map(({ name }) => name);
  const prefix = prefixOf({ config });
  const offered = names.flatMap((name) => [
    toolName({ config }, name),
    prefix + name,
  ]);
  return [
    ...unmatched("forbidden_tools", config.forbidden_tools, [
      ...names,
      ...offered,
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
