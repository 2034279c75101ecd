import type { ServerConfig } from "../../config/server_config.ts";
import { bundleIdOf } from "../../config/bundle_id.ts";
import { nearestWord } from "../../../shared/checks.ts";
import { malformedTags } from "../declared_tags.ts";
import { longNames } from "./long_names.ts";
import type { McpTool } from "../mcp/tool.ts";
import { namesOfTool } from "./tool_naming.ts";

/** Finds mismatches between the configuration of an MCP server and its tools. */
export const toolMismatches = (
  config: ServerConfig,
  tools: readonly McpTool[],
  bundleIds = false,
): string[] => [
  ...unmatchedTools(config, tools),
  ...longNames(config, tools, bundleIds).problems,
];

/** Describes what is odd in a fresh list of tools, and does no harm. */
export const listWarnings = (
  config: ServerConfig,
  tools: readonly McpTool[],
  bundleIds: boolean,
): string[] =>
  [longNames(config, tools, bundleIds).warning, malformedTags(tools)]
    .filter((warning) => warning !== undefined);

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
  const server = { config, bundleId: bundleIdOf(config) };
  return [
    ...unmatched(
      "forbidden_tools",
      config.forbidden_tools,
      names.flatMap((name) => namesOfTool(server, name)),
    ),
    ...unmatched(
      "tool_meta",
      Object.keys(config.tool_meta),
      names,
      (entry) =>
        names.find((name) => namesOfTool(server, name).includes(entry)),
    ),
  ];
}

const unmatched = (
  field: string,
  entries: readonly string[],
  known: readonly string[],
  find: (entry: string) => string | undefined = () => undefined,
): string[] =>
  [...new Set(entries)].filter((entry) => !known.includes(entry))
    .map((entry) => {
      const meant = find(entry) ?? nearestWord(entry, known);
      return `${field} names "${entry}", which is none of its tools; ${
        meant === undefined
          ? "correct or remove it"
          : `did you mean "${meant}"?`
      }`;
    });
