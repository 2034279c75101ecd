import { bundleIdOf, type ServerConfig } from "../config/config.ts";
import type { McpTool } from "./mcp/connection.ts";
import { malformedTags } from "./tool_meta.ts";
import {
  isForbidden,
  MAX_NAME_LENGTH,
  namesOfTool,
  toolName,
} from "./tool_naming.ts";
import { nearestWord } from "../../shared/checks.ts";

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

/** Maximum characters of a tool's name that every model provider accepts. */
const RECOMMENDED_LENGTH = 64;

/** Findings about the lengths of names. */
interface LongNames {
  /** One sentence for each tool that is left out. */
  readonly problems: readonly string[];
  /** A sentence about tools that not every model can call. */
  readonly warning?: string;
}

/**
 * Finds the tools of an MCP server whose offered names are too long.
 *
 * @param bundleIds whether names begin with the `bundle_id` of their server
 */
export function longNames(
  config: ServerConfig,
  tools: readonly Pick<McpTool, "name">[],
  bundleIds = false,
): LongNames {
  const server = { config, bundleId: bundleIdOf(config) };
  const prefix = bundleIds ? "bundle_id" : "tool_prefix";
  const names = tools.filter(({ name }) => !isForbidden(server, name))
    .map(({ name }) => ({ name, offered: toolName(server, name, bundleIds) }));
  const long = names.filter(({ offered }) =>
    offered.length > RECOMMENDED_LENGTH && offered.length <= MAX_NAME_LENGTH
  );
  return {
    problems: names
      .filter(({ offered }) => offered.length > MAX_NAME_LENGTH)
      .map(({ name }) =>
        `tool "${
          name.slice(0, 40)
        }…" is left out: behind its ${prefix} its name is longer than ${MAX_NAME_LENGTH} characters; give it an alias`
      ),
    ...(long.length > 0 && {
      warning:
        `${long.length} of its tools have names of more than ${RECOMMENDED_LENGTH} characters, which not every model can call, such as "${
          long[0]?.offered
        }"; give them an alias, or the server a shorter ${prefix}`,
    }),
  };
}
